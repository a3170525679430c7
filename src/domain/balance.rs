//! Tool balance, as MCP demands it: every tool call is answered, once, at once.

use std::collections::HashSet;

use super::message::{Block, Message, Role};

/// Where a conversation breaks the rule, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unbalanced {
    /// The message's index.
    pub message: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// The ways of being out of balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Two tool calls of one message share an id.
    #[error("two tool_use blocks have the same id")]
    DuplicateUse,
    /// No user message of tool results comes next.
    #[error("tool_use must be followed by a user message of its tool_result blocks")]
    Unanswered,
    /// Something else stands among tool results.
    #[error("a message with tool_result blocks must have no other blocks")]
    Mixed,
    /// A result answers no call of the message before.
    #[error("a tool_result must answer a tool_use of the message before")]
    Orphan,
    /// A call is answered twice.
    #[error("two tool_result blocks answer the same tool_use")]
    DuplicateResult,
    /// A call is left without an answer.
    #[error("every tool_use of the message before must have its tool_result")]
    Missing,
}

/// Checks a conversation. Ids need be unique only within a message: some
/// providers count their calls anew in every turn.
pub fn check(messages: &[Message]) -> Result<(), Unbalanced> {
    let mut open = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let at = |problem| Unbalanced { message: index, problem };
        let results = results(message).map_err(at)?;
        if results.is_empty() && !open.is_empty() {
            return Err(Unbalanced {
                message: index.saturating_sub(1),
                problem: Problem::Unanswered,
            });
        }
        answer(open, &results).map_err(at)?;
        open = uses(message).map_err(at)?;
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(Unbalanced { message: messages.len().saturating_sub(1), problem: Problem::Unanswered })
}

/// The ids that a message answers; none unless it is a user's.
fn results(message: &Message) -> Result<Vec<&str>, Problem> {
    let results: Vec<&str> = message.content.iter().filter_map(result_id).collect();
    if results.is_empty() || results.len() == message.content.len() {
        return if results.is_empty() || message.role == Role::User {
            Ok(results)
        } else {
            Err(Problem::Orphan)
        };
    }
    Err(Problem::Mixed)
}

fn result_id(block: &Block) -> Option<&str> {
    if let Block::ToolResult(it) = block { Some(&it.tool_use_id) } else { None }
}

/// The ids that a message calls.
fn uses(message: &Message) -> Result<HashSet<&str>, Problem> {
    let mut ids = HashSet::new();
    for block in &message.content {
        if let Block::ToolUse(it) = block
            && !ids.insert(it.id.as_str())
        {
            return Err(Problem::DuplicateUse);
        }
    }
    Ok(ids)
}

fn answer<'a>(mut open: HashSet<&'a str>, results: &[&'a str]) -> Result<(), Problem> {
    let mut answered = HashSet::new();
    for id in results {
        if !answered.insert(*id) {
            return Err(Problem::DuplicateResult);
        }
        if !open.remove(id) {
            return Err(Problem::Orphan);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(Problem::Missing) }
}
