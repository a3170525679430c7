//! Messages as MCP knows them.

use std::sync::Arc;

/// JSON text that was checked at the edge. The core passes it on and never looks
/// inside: a number beyond 2^53 stays as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(Arc<str>);

impl JsonText {
    /// Takes text that the caller has parsed and found to be JSON.
    pub fn checked(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person or the server on the person's side.
    User,
    /// The model.
    Assistant,
}

/// One turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; at least one block.
    pub content: Vec<Block>,
}

/// One piece of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Words.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// The model wants a tool run.
    ToolUse(ToolUse),
    /// What a tool said.
    ToolResult(ToolResult),
    /// A pointer, passed on as text and never fetched. Only in tool results.
    ResourceLink(ResourceLink),
    /// A document. Only in tool results.
    Resource(Resource),
}

/// Bytes of a kind.
#[derive(Clone, PartialEq, Eq)]
pub struct Media {
    /// The bytes, not base64.
    pub data: bytes::Bytes,
    /// Such as `image/png`.
    pub mime_type: String,
}

impl std::fmt::Debug for Media {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Media({} bytes of {})", self.data.len(), self.mime_type)
    }
}

/// A call of a tool that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// Names the call within the conversation.
    pub id: String,
    /// The tool.
    pub name: String,
    /// A JSON object.
    pub input: JsonText,
}

/// The answer to a [`ToolUse`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Which call it answers.
    pub tool_use_id: String,
    /// Text, media and resources, never nested tool blocks.
    pub content: Vec<Block>,
    /// Any JSON.
    pub structured: Option<JsonText>,
    /// The tool failed.
    pub is_error: bool,
}

/// A pointer to a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceLink {
    /// Where it is said to be.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is said to be.
    pub description: String,
}

/// A document with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Where it comes from.
    pub uri: String,
    /// What kind it is.
    pub mime_type: String,
    /// Its text; a blob is named but its bytes are not passed on.
    pub text: Option<String>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON Schema object.
    pub input_schema: JsonText,
}

/// How free the model is to use tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}
