//! Where a command writes: streams that are passed in, so that tests can read them.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use super::{
    record::{Record, Value},
    stop::Stop,
};

/// The widest that a column of a table gets.
const COLUMN_CHARS_MAX: usize = 60;

/// A command's output.
pub struct Output<'a> {
    out: &'a mut dyn Write,
    colour: bool,
}

/// How a piece of text stands out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Labels and asides.
    Faint,
    /// All went well.
    Good,
    /// Something was cut.
    Warn,
    /// It was refused.
    Bad,
}

impl<'a> Output<'a> {
    /// Writes to `out`, in colour or not.
    pub fn new(out: &'a mut dyn Write, colour: bool) -> Self {
        Self { out, colour }
    }

    /// Writes and flushes, so that streamed text is seen as it comes.
    pub fn write(&mut self, text: &str) -> Result<(), Stop> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// Writes a value as one line of JSON.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Stop> {
        let json = serde_json::to_string(value).map_err(|_| Stop::new("the reply is no JSON"))?;
        self.write(&format!("{json}\n"))
    }

    /// Writes a record: JSON, or lines for a person.
    pub fn record(&mut self, record: &Record, json: bool) -> Result<(), Stop> {
        if json { self.json(record) } else { self.write(&record.to_lines()) }
    }

    /// Writes several records: JSON with all fields under `name`, or a table of
    /// these columns for a person.
    pub fn records(
        &mut self,
        name: &'static str,
        records: Vec<Record>,
        (json, columns): (bool, &[&'static str]),
    ) -> Result<(), Stop> {
        if json {
            return self.json(&Record::new().with(name, records));
        }
        if records.is_empty() {
            return self.write(&format!("no {}\n", name.replace('_', " ")));
        }
        let table = table(&records, columns);
        self.write(&table)
    }

    /// The text, in colour where there is colour.
    pub fn toned(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Whether the process's standard output is to be in colour.
pub(super) fn wants_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()) && io::stdout().is_terminal()
}

/// The text on one line and without control characters: what a service or a model
/// wrote must not steer a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// The same for running text, which keeps its lines and tabs.
pub fn plain_lines(text: &str) -> String {
    let keep = |it: char| !it.is_control() || matches!(it, '\n' | '\t');
    text.chars().map(|it| if keep(it) { it } else { '\u{fffd}' }).collect()
}

fn table(records: &[Record], columns: &[&'static str]) -> String {
    let header = columns.iter().map(|it| it.replace('_', " ")).collect();
    let cell = |record: &Record, column: &str| {
        let text = Value::to_plain(record.get(column));
        if text.is_empty() { "-".to_owned() } else { shortened(&text) }
    };
    let body = records.iter().map(|it| columns.iter().map(|column| cell(it, column)).collect());
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(body).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|it| it.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Keeps the end, by which resource names differ.
fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= COLUMN_CHARS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - COLUMN_CHARS_MAX + 1).collect();
    format!("\u{2026}{kept}")
}
