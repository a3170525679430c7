//! The params of a request.

use super::{
    Problem, check_bounds,
    content::{self, Place},
    node::Node,
};
use crate::proto::{
    IncludeContext, ModelHint, ModelPreferences, Role, SamplingMessage, SamplingParams, Tool,
    ToolChoice, ToolChoiceMode,
};

/// Reads the params of `sampling/createMessage`, of any revision.
///
/// `messages` and `maxTokens` are required, as in every revision; null stands for
/// absent. Problems name the field by its path within the params. At most 32 MiB
/// and 64 levels.
pub fn params_from_json(text: &str) -> Result<SamplingParams, Problem> {
    check_bounds(text)?;
    let params = Node::document(text)?.object()?;
    params.need("messages")?;
    Ok(SamplingParams {
        messages: params.list("messages", message)?,
        model_preferences: params.get("modelPreferences").map(|it| preferences(&it)).transpose()?,
        system_prompt: params.string_or_empty("systemPrompt")?,
        include_context: params
            .get("includeContext")
            .map_or(Ok(IncludeContext::Unspecified), |it| include_context(&it))?
            .into(),
        temperature: params.get("temperature").map(|it| it.number()).transpose()?,
        max_tokens: Some(params.need("maxTokens")?.integer()?),
        stop_sequences: params.list("stopSequences", Node::string)?,
        metadata_json: params.object_json_or_empty("metadata")?,
        tools: params.list("tools", tool)?,
        tool_choice: params.get("toolChoice").map(|it| tool_choice(&it)).transpose()?,
        meta_json: params.object_json_or_empty("_meta")?,
    })
}

fn message(node: &Node<'_>) -> Result<SamplingMessage, Problem> {
    let message = node.object()?;
    let content = message.need("content")?;
    let content = if content.is_array() {
        content.array()?.iter().map(|it| content::block(it, Place::Message)).collect()
    } else {
        content::block(&content, Place::Message).map(|it| vec![it])
    }?;
    Ok(SamplingMessage {
        role: role(&message.need("role")?)?.into(),
        content,
        meta_json: message.object_json_or_empty("_meta")?,
    })
}

fn role(node: &Node<'_>) -> Result<Role, Problem> {
    match node.string()?.as_str() {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        _ => Err(node.problem("must be user or assistant")),
    }
}

fn preferences(node: &Node<'_>) -> Result<ModelPreferences, Problem> {
    let it = node.object()?;
    let priority = |name| it.get(name).map(|it| it.number()).transpose();
    Ok(ModelPreferences {
        hints: it.list("hints", hint)?,
        cost_priority: priority("costPriority")?,
        speed_priority: priority("speedPriority")?,
        intelligence_priority: priority("intelligencePriority")?,
    })
}

/// A hint; its name is optional, for MCP leaves room for other kinds of hint.
fn hint(node: &Node<'_>) -> Result<ModelHint, Problem> {
    Ok(ModelHint { name: node.object()?.string_or_empty("name")? })
}

fn include_context(node: &Node<'_>) -> Result<IncludeContext, Problem> {
    match node.string()?.as_str() {
        "none" => Ok(IncludeContext::None),
        "thisServer" => Ok(IncludeContext::ThisServer),
        "allServers" => Ok(IncludeContext::AllServers),
        _ => Err(node.problem("must be none, thisServer or allServers")),
    }
}

fn tool(node: &Node<'_>) -> Result<Tool, Problem> {
    let it = node.object()?;
    Ok(Tool {
        name: it.string("name")?,
        description: it.string_or_empty("description")?,
        input_schema_json: it.need("inputSchema")?.object_json()?,
    })
}

fn tool_choice(node: &Node<'_>) -> Result<ToolChoice, Problem> {
    let Some(mode) = node.object()?.get("mode") else {
        return Ok(ToolChoice { mode: ToolChoiceMode::Auto.into() });
    };
    let mode = match mode.string()?.as_str() {
        "auto" => ToolChoiceMode::Auto,
        "required" => ToolChoiceMode::Required,
        "none" => ToolChoiceMode::None,
        _ => return Err(mode.problem("must be auto, required or none")),
    };
    Ok(ToolChoice { mode: mode.into() })
}
