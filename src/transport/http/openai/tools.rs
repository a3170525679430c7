//! Tools on offer, and how free the model is to use them.

use super::problem::Problem;
use crate::proto::{
    self, ToolChoiceMode,
    mcp_json::{
        self,
        node::{Node, Object},
    },
};

/// The schema of a tool without parameters.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// What is on offer.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub(super) tools: Vec<proto::Tool>,
    pub(super) choice: Option<proto::ToolChoice>,
    /// For each tool its index in the body.
    pub(super) places: Vec<usize>,
}

/// Reads both.
pub(super) fn offer(it: &Object<'_>) -> Result<Offer, Problem> {
    let tools = it.list("tools", tool)?;
    let choice = it.get("tool_choice");
    if tools.is_empty() {
        return match choice {
            None => Ok(Offer::default()),
            Some(it) if !it.is_object() && it.string()? != "required" => Ok(Offer::default()),
            Some(it) => Err(it.problem("cannot be required without tools").into()),
        };
    }
    let places = (0..tools.len()).collect();
    let Some(choice) = choice else { return Ok(Offer { tools, choice: None, places }) };
    let (mode, only) = read_choice(&choice)?;
    let choice = Some(proto::ToolChoice { mode: mode.into() });
    let Some(name) = only else { return Ok(Offer { tools, choice, places }) };
    // The one tool that must be called is the one that is on offer: so it is, whatever
    // the backend makes of a choice.
    let mut all = tools.into_iter().enumerate();
    let Some((at, tool)) = all.find(|(_, it)| it.name == name) else {
        return Err(Problem::invalid("tool_choice.function.name", "must be one of the tools"));
    };
    Ok(Offer { tools: vec![tool], choice, places: vec![at] })
}

/// The mode, and the only tool that may be called, where one is named.
fn read_choice(node: &Node<'_>) -> Result<(ToolChoiceMode, Option<String>), Problem> {
    if node.is_object() {
        let it = node.object()?;
        let kind = it.need("type")?;
        if kind.string()? != "function" {
            return Err(kind.problem("must be function").into());
        }
        let name = it.need("function")?.object()?.string("name")?;
        return Ok((ToolChoiceMode::Required, Some(name)));
    }
    match node.string()?.as_str() {
        "auto" => Ok((ToolChoiceMode::Auto, None)),
        "none" => Ok((ToolChoiceMode::None, None)),
        "required" => Ok((ToolChoiceMode::Required, None)),
        _ => Err(node.problem("must be none, auto, required or a function").into()),
    }
}

fn tool(node: &Node<'_>) -> Result<proto::Tool, mcp_json::Problem> {
    let it = node.object()?;
    let kind = it.need("type")?;
    if kind.string()? != "function" {
        return Err(kind.problem("must be function"));
    }
    let function = it.need("function")?.object()?;
    if let Some(strict) = function.get("strict")
        && strict.boolean()?
    {
        // Not every backend can promise it, so nobody is told that it was.
        return Err(strict.problem("must be false, or left out"));
    }
    let schema = function.object_json_or_empty("parameters")?;
    Ok(proto::Tool {
        name: function.string("name")?,
        description: function.string_or_empty("description")?,
        input_schema_json: if schema.is_empty() { NO_PARAMETERS.to_owned() } else { schema },
    })
}
