//! Tools on offer, and how free the model is to use them.

use std::collections::HashSet;

use super::{
    field::{At, at_most, each},
    json::{Shape, json},
    params::{Host, Reading},
};
use crate::{
    domain::{
        fault::Fault,
        message::{Tool, ToolChoice},
    },
    proto,
};

const TOOLS_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 128;

/// The two fields that belong together.
pub(super) struct Offer {
    /// `tools`.
    pub(super) tools: Vec<proto::Tool>,
    /// `tool_choice`.
    pub(super) choice: Option<proto::ToolChoice>,
}

/// Reads both. Before 2025-11-25 they are unknown fields, so they are ignored.
pub(super) fn tools(
    offer: Offer,
    host: Host,
    reading: &mut Reading,
) -> Result<(Vec<Tool>, Option<ToolChoice>), Fault> {
    if offer.tools.is_empty() && offer.choice.is_none() {
        return Ok((Vec::new(), None));
    }
    if !host.revision.has_tools() {
        let revision = host.revision.as_str();
        reading.warn(format!("tools and toolChoice are ignored: revision {revision} has none"));
        return Ok((Vec::new(), None));
    }
    if !host.tools_declared {
        return Err(Fault::invalid("tools", "the host did not declare sampling.tools"));
    }
    at_most("tools", &offer.tools, TOOLS_MAX)?;
    let mut names = HashSet::new();
    let tools = each("tools", offer.tools, |it| {
        let tool = tool(it, reading)?;
        if !names.insert(tool.name.clone()) {
            return Err(Fault::invalid("name", "must be unique among the tools"));
        }
        Ok(tool)
    })?;
    let choice = offer.choice.map(choice).transpose()?;
    if tools.is_empty() && choice == Some(ToolChoice::Required) {
        return Err(Fault::invalid("tool_choice.mode", "cannot be required without tools"));
    }
    Ok((tools, choice))
}

fn tool(it: proto::Tool, reading: &mut Reading) -> Result<Tool, Fault> {
    let fine = |it: u8| it.is_ascii_alphanumeric() || b"_.-/".contains(&it);
    if it.name.is_empty() || it.name.len() > NAME_BYTES_MAX || !it.name.bytes().all(fine) {
        return Err(Fault::invalid("name", "must be 1 to 128 letters, digits and _ . - /"));
    }
    reading.count(it.description.len()).at("description")?;
    reading.count(it.input_schema_json.len()).at("input_schema_json")?;
    let input_schema = json(&it.input_schema_json, Shape::Object).at("input_schema_json")?;
    Ok(Tool { name: it.name, description: it.description, input_schema })
}

/// A choice without a mode is automatic, as MCP says.
fn choice(it: proto::ToolChoice) -> Result<ToolChoice, Fault> {
    match proto::ToolChoiceMode::try_from(it.mode) {
        Ok(proto::ToolChoiceMode::Unspecified | proto::ToolChoiceMode::Auto) => {
            Ok(ToolChoice::Auto)
        }
        Ok(proto::ToolChoiceMode::Required) => Ok(ToolChoice::Required),
        Ok(proto::ToolChoiceMode::None) => Ok(ToolChoice::None),
        Err(_) => Err(Fault::invalid("tool_choice.mode", "must be AUTO, REQUIRED or NONE")),
    }
}
