//! Questions to a person: asked on a terminal, and answered by flags.

use std::io::{BufRead, Write};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::super::{output::plain, stop::Stop};
use crate::proto::{CreateMessageRequest, InputAction, InputAnswer, InputRequired};

/// Whether and how questions are answered.
#[derive(Debug, Clone, Default, Args)]
pub struct Answering {
    /// Be asked nothing: where the envelope runs out the call ends as it would without you
    #[arg(long, conflicts_with = "answer")]
    pub no_ask: bool,
    /// What you say to the question of an earlier reply to this same request
    #[arg(long, requires = "resume_token",
          conflicts_with_all = ["calls", "seconds", "money", "tokens", "concurrent_calls"])]
    pub answer: Option<Word>,
    /// What that reply's question bore
    #[arg(long, value_name = "TOKEN", requires = "answer")]
    pub resume_token: Option<String>,
    /// With --answer accept: the form, to give less, as in '{"calls": 5}'
    #[arg(long, value_name = "JSON", requires = "answer")]
    pub answer_form: Option<String>,
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Word {
    /// Yes
    Accept,
    /// No
    Decline,
}

impl Answering {
    /// Puts it into a request.
    pub fn put(&self, request: &mut CreateMessageRequest) {
        request.accepts_input_required = !self.no_ask;
        let Some(word) = self.answer else { return };
        request.resume_token = self.resume_token.clone().unwrap_or_default();
        let content_json = self.answer_form.clone().unwrap_or_default();
        request.input_answer = Some(match word {
            Word::Accept => InputAnswer { action: InputAction::Accept.into(), content_json },
            Word::Decline => said(InputAction::Decline),
        });
    }
}

fn said(action: InputAction) -> InputAnswer {
    InputAnswer { action: action.into(), content_json: String::new() }
}

/// Asks a person who reads `out` and types `input`. An end of the input is no answer.
pub fn ask(
    question: &InputRequired,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<InputAnswer, Stop> {
    writeln!(out, "{}", plain(&question.message))?;
    loop {
        write!(out, "[y]es, [n]o or [l]ess: ")?;
        let Some(line) = read(input, out)? else { return Ok(said(InputAction::Cancel)) };
        match line.to_lowercase().as_str() {
            "y" | "yes" => return Ok(said(InputAction::Accept)),
            "n" | "no" => return Ok(said(InputAction::Decline)),
            "l" | "less" => {
                let Some(content_json) = fill(question, input, out)? else {
                    return Ok(said(InputAction::Cancel));
                };
                return Ok(InputAnswer { action: InputAction::Accept.into(), content_json });
            }
            _ => {}
        }
    }
}

/// The form, field by field. None: the input ended.
fn fill(
    question: &InputRequired,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Option<String>, Stop> {
    let unreadable = |_| Stop::new("the service's question is no form");
    let params: Value = serde_json::from_str(&question.elicitation_json).map_err(unreadable)?;
    let mut content = Map::new();
    let fields = params["requestedSchema"]["properties"].as_object();
    for (name, field) in fields.into_iter().flatten() {
        let text = |it: &str| plain(field[it].as_str().unwrap_or_default());
        let is_whole = field["type"] == "integer";
        loop {
            write!(out, "{}. {} (empty: all) ", text("title"), text("description"))?;
            let Some(line) = read(input, out)? else { return Ok(None) };
            if line.is_empty() {
                break;
            }
            let value = if is_whole {
                line.parse::<i64>().ok().map(Value::from)
            } else {
                Some(Value::from(line))
            };
            if let Some(it) = value {
                content.insert(name.clone(), it);
                break;
            }
        }
    }
    Ok(Some(Value::Object(content).to_string()))
}

/// A line without the blanks around it; none at the end of the input.
fn read(input: &mut dyn BufRead, out: &mut dyn Write) -> Result<Option<String>, Stop> {
    out.flush()?;
    let mut line = String::new();
    let bytes = input.read_line(&mut line)?;
    Ok((bytes > 0).then(|| line.trim().to_owned()))
}
