//! The conversation as OpenAI writes it.

use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls,
    ChatCompletionRequestAssistantMessage, ChatCompletionRequestAssistantMessageContent,
    ChatCompletionRequestMessage, ChatCompletionRequestMessageContentPartAudio,
    ChatCompletionRequestMessageContentPartImage, ChatCompletionRequestMessageContentPartText,
    ChatCompletionRequestSystemMessage, ChatCompletionRequestSystemMessageContent,
    ChatCompletionRequestToolMessage, ChatCompletionRequestToolMessageContent,
    ChatCompletionRequestUserMessage, ChatCompletionRequestUserMessageContent,
    ChatCompletionRequestUserMessageContentPart as Part, FunctionCall, ImageUrl, InputAudio,
    InputAudioFormat,
};
use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    backend::{
        Prompt,
        prose::{self, Unsupported},
    },
    domain::message::{Block, Media, Message, Role, ToolResult, ToolUse},
};

/// All messages, the system prompt first.
pub(super) fn translate(prompt: &Prompt) -> Result<Vec<ChatCompletionRequestMessage>, Unsupported> {
    let mut messages: Vec<_> = prompt.system.iter().map(|it| system(it)).collect();
    for message in &prompt.messages {
        match message.role {
            Role::User => user(message, &mut messages)?,
            Role::Assistant => messages.push(assistant(message)?),
        }
    }
    Ok(messages)
}

fn system(text: &str) -> ChatCompletionRequestMessage {
    ChatCompletionRequestMessage::System(ChatCompletionRequestSystemMessage {
        content: ChatCompletionRequestSystemMessageContent::Text(text.to_owned()),
        name: None,
    })
}

/// Tool results first, each a message of its own, for they must follow their calls.
/// They hold text alone, so their pictures and sounds come right after them.
fn user(
    message: &Message,
    messages: &mut Vec<ChatCompletionRequestMessage>,
) -> Result<(), Unsupported> {
    let mut parts = Vec::new();
    for block in &message.content {
        if let Block::ToolResult(it) = block {
            messages.push(tool_result(it)?);
            let media = it.content.iter().filter(|it| is_media(it));
            parts.extend(media.map(part).collect::<Result<Vec<_>, _>>()?);
        } else {
            parts.push(part(block)?);
        }
    }
    // One text goes as text: not every server takes parts.
    let content = match parts.as_slice() {
        [] => return Ok(()),
        [Part::Text(it)] => ChatCompletionRequestUserMessageContent::Text(it.text.clone()),
        _ => ChatCompletionRequestUserMessageContent::Array(parts),
    };
    let message = ChatCompletionRequestUserMessage { content, name: None };
    messages.push(ChatCompletionRequestMessage::User(message));
    Ok(())
}

fn is_media(block: &Block) -> bool {
    matches!(block, Block::Image(_) | Block::Audio(_))
}

fn part(block: &Block) -> Result<Part, Unsupported> {
    let text = |text: String| {
        Part::Text(ChatCompletionRequestMessageContentPartText {
            text,
            prompt_cache_breakpoint: None,
        })
    };
    Ok(match block {
        Block::Text(it) => text(it.clone()),
        Block::ResourceLink(it) => text(prose::link(it)),
        Block::Resource(it) => text(prose::resource(it)),
        Block::Image(it) => Part::ImageUrl(ChatCompletionRequestMessageContentPartImage {
            image_url: ImageUrl { url: data_url(it), detail: None },
            prompt_cache_breakpoint: None,
        }),
        Block::Audio(it) => Part::InputAudio(ChatCompletionRequestMessageContentPartAudio {
            input_audio: audio(it)?,
            prompt_cache_breakpoint: None,
        }),
        Block::ToolUse(_) | Block::ToolResult(_) => return Err(Unsupported),
    })
}

fn data_url(media: &Media) -> String {
    format!("data:{};base64,{}", media.mime_type, BASE64_STANDARD.encode(&media.data))
}

/// The dialect names two formats.
fn audio(media: &Media) -> Result<InputAudio, Unsupported> {
    let essence = media.mime_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let format = match essence.as_str() {
        "audio/wav" | "audio/wave" | "audio/x-wav" | "audio/vnd.wave" => InputAudioFormat::Wav,
        "audio/mpeg" | "audio/mp3" => InputAudioFormat::Mp3,
        _ => return Err(Unsupported),
    };
    Ok(InputAudio { data: BASE64_STANDARD.encode(&media.data), format })
}

/// The dialect has no flag for a failed tool, so the text says it.
fn tool_result(result: &ToolResult) -> Result<ChatCompletionRequestMessage, Unsupported> {
    let mut texts: Vec<String> = result.is_error.then(|| "Error:".to_owned()).into_iter().collect();
    for block in &result.content {
        match block {
            Block::Text(it) => texts.push(it.clone()),
            Block::ResourceLink(it) => texts.push(prose::link(it)),
            Block::Resource(it) => texts.push(prose::resource(it)),
            Block::Image(_) | Block::Audio(_) => {}
            Block::ToolUse(_) | Block::ToolResult(_) => return Err(Unsupported),
        }
    }
    texts.extend(prose::structured(result).map(str::to_owned));
    Ok(ChatCompletionRequestMessage::Tool(ChatCompletionRequestToolMessage {
        content: ChatCompletionRequestToolMessageContent::Text(texts.join("\n")),
        tool_call_id: result.tool_use_id.clone(),
    }))
}

fn assistant(message: &Message) -> Result<ChatCompletionRequestMessage, Unsupported> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text(it) => texts.push(it.as_str()),
            Block::ToolUse(it) => calls.push(tool_use(it)),
            Block::Image(_)
            | Block::Audio(_)
            | Block::ToolResult(_)
            | Block::ResourceLink(_)
            | Block::Resource(_) => return Err(Unsupported),
        }
    }
    let text = ChatCompletionRequestAssistantMessageContent::Text(texts.join("\n"));
    let content = (!texts.is_empty()).then_some(text);
    Ok(ChatCompletionRequestMessage::Assistant(ChatCompletionRequestAssistantMessage {
        content,
        tool_calls: (!calls.is_empty()).then_some(calls),
        ..ChatCompletionRequestAssistantMessage::default()
    }))
}

fn tool_use(it: &ToolUse) -> ChatCompletionMessageToolCalls {
    ChatCompletionMessageToolCalls::Function(ChatCompletionMessageToolCall {
        id: it.id.clone(),
        function: FunctionCall { name: it.name.clone(), arguments: it.input.as_str().to_owned() },
    })
}
