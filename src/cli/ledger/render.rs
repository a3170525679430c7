//! A report for people (bars), spreadsheets, programs and pages.

use std::fmt::Write;

use clap::ValueEnum;

use super::report::By;
use crate::{
    cli::{output::plain, record::Record, stop::Stop, words},
    domain::{csv, money::NANOS_PER_UNIT},
    proto::{Money, ReportEntriesResponse, ReportRow, ReportSums},
};

/// The longest bar, in characters.
const BAR_CHARS: i128 = 24;

/// The widest that a name gets for people.
const NAME_CHARS_MAX: usize = 40;

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with bars
    Text,
    /// Comma-separated
    Csv,
    /// One object
    Json,
    /// A table for a page
    Markdown,
}

/// What is shown.
pub(super) struct Shown<'a> {
    pub(super) by: &'a [By],
    pub(super) has_grain: bool,
    pub(super) compare: bool,
    pub(super) report: &'a ReportEntriesResponse,
}

pub(super) fn render(shown: &Shown<'_>, format: Format) -> Result<String, Stop> {
    Ok(match format {
        Format::Text => text(shown),
        Format::Csv => comma_separated(shown),
        Format::Markdown => markdown(shown),
        Format::Json => {
            let json = serde_json::to_string(&record(shown));
            format!("{}\n", json.map_err(|_| Stop::new("the reply is no JSON"))?)
        }
    })
}

/// The names of a row's dimensions.
fn names(shown: &Shown<'_>, row: &ReportRow) -> Vec<String> {
    let time = shown.has_grain.then(|| short_time(&row.start_time));
    let of = |by: &By| match by {
        By::User => row.user.clone(),
        By::Server => row.server.clone(),
        By::Host => row.host.clone(),
        By::Model => row.model.clone(),
        By::Backend => row.backend.clone(),
        By::Root => row.root.clone(),
        By::Envelope => row.envelope.rsplit('/').next().unwrap_or_default().to_owned(),
        By::Kind => row.kind().as_str_name().trim_start_matches("ENTRY_KIND_").to_owned(),
        By::None => String::new(),
    };
    time.into_iter().chain(shown.by.iter().map(of)).collect()
}

fn columns(shown: &Shown<'_>) -> Vec<String> {
    let by = shown.by.iter().filter_map(ValueEnum::to_possible_value);
    let by = by.map(|it| it.get_name().to_owned());
    shown.has_grain.then(|| "time".to_owned()).into_iter().chain(by).collect()
}

/// A midnight as its day.
fn short_time(at: &str) -> String {
    at.strip_suffix("T00:00:00Z").unwrap_or(at).to_owned()
}

const fn nothing() -> Money {
    Money { currency_code: String::new(), units: 0, nanos: 0 }
}

fn nanos(it: Option<&Money>) -> i128 {
    it.map_or(0, |it| i128::from(it.units) * i128::from(NANOS_PER_UNIT) + i128::from(it.nanos))
}

/// What a row cost: charged and overrun.
fn cost(sums: &ReportSums) -> i128 {
    nanos(sums.charge.as_ref()) + nanos(sums.overrun.as_ref())
}

fn amount(it: Option<&Money>) -> String {
    words::decimal(it.unwrap_or(&nothing()))
}

/// The change against a former amount, in tenths of a percent: `+12.5 %`.
fn change(now: i128, before: i128) -> String {
    if before == 0 {
        return if now == 0 { "0.0 %".to_owned() } else { "new".to_owned() };
    }
    let tenths = (now - before).saturating_mul(1_000) / before.abs();
    let sign = if tenths < 0 { '-' } else { '+' };
    format!("{sign}{}.{} %", tenths.abs() / 10, tenths.abs() % 10)
}

fn text(shown: &Shown<'_>) -> String {
    let report = shown.report;
    let total = report.total.clone().unwrap_or_default();
    let currency = total.charge.as_ref().map_or("", |it| it.currency_code.as_str());
    let (start, end) = (short_time(&report.start_time), short_time(&report.end_time));
    let mut out = format!("{start} until {end} (UTC), in {currency}\n\n");
    let most = report.rows.iter().filter_map(|it| it.sums.as_ref()).map(cost).max().unwrap_or(0);
    let mut rows = vec![heads(shown)];
    for row in &report.rows {
        let sums = row.sums.clone().unwrap_or_default();
        let names = names(shown, row).into_iter().map(|it| short(&plain(&it)));
        let bar = if most > 0 { cost(&sums).max(0) * BAR_CHARS / most } else { 0 };
        let bar = "\u{2588}".repeat(usize::try_from(bar).unwrap_or(0));
        rows.push(cells(names.collect(), &sums, (shown.compare, row.before.as_ref()), bar));
    }
    if report.rows.is_empty() {
        return format!("{out}nothing was booked\n");
    }
    let mut last = vec![String::new(); columns(shown).len()];
    if let Some(first) = last.first_mut() {
        "total".clone_into(first);
    }
    let before = (shown.compare, report.total_before.as_ref());
    rows.push(cells(last, &total, before, String::new()));
    out.push_str(&aligned(&rows, columns(shown).len()));
    let shown_rows = report.rows.len();
    let more = if report.next_page_token.is_empty() { "" } else { ", more were left out" };
    let _infallible = writeln!(
        out,
        "\n{shown_rows} rows{more}; {} entries, {} of them estimated; as of {} (batch {})",
        total.entries, total.estimated, report.as_of, report.through_batch
    );
    out
}

fn heads(shown: &Shown<'_>) -> Vec<String> {
    let mut heads = columns(shown);
    heads.extend(["calls", "tokens", "charge", "overrun"].map(ToOwned::to_owned));
    if shown.compare {
        heads.extend(["before", "change"].map(ToOwned::to_owned));
    }
    heads.push(String::new());
    heads
}

fn cells(
    mut names: Vec<String>,
    sums: &ReportSums,
    (compare, before): (bool, Option<&Money>),
    bar: String,
) -> Vec<String> {
    names.push(sums.calls.to_string());
    names.push(tokens(sums).to_string());
    names.push(amount(sums.charge.as_ref()));
    names.push(amount(sums.overrun.as_ref()));
    if compare {
        names.push(amount(before));
        names.push(change(cost(sums), nanos(before)));
    }
    names.push(bar);
    names
}

fn tokens(sums: &ReportSums) -> i64 {
    let usage = sums.usage.unwrap_or_default();
    [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning]
        .into_iter()
        .fold(0_i64, i64::saturating_add)
}

fn short(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    let length = text.chars().count();
    if length <= NAME_CHARS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(NAME_CHARS_MAX - 1).collect();
    format!("{kept}\u{2026}")
}

/// Names to the left, numbers to the right, the bar behind them.
fn aligned(rows: &[Vec<String>], names: usize) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|it| it.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(column, (text, width)): (usize, (&String, &usize))| {
            let is_bar = column + 1 == count;
            if column < names || is_bar {
                format!("{text:width$}")
            } else {
                format!("{text:>width$}")
            }
        };
        let cells: Vec<_> = row.iter().zip(&widths).enumerate().map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The columns of numbers that programs and pages get, and a row's.
const NUMBERS: [&str; 12] = [
    "currency",
    "entries",
    "estimated",
    "calls",
    "input",
    "cache_read",
    "cache_write",
    "output",
    "reasoning",
    "charge",
    "overrun",
    "provider_usd",
];

fn numbers(sums: &ReportSums) -> [String; 12] {
    let usage = sums.usage.unwrap_or_default();
    let currency = sums.charge.as_ref().map_or("", |it| it.currency_code.as_str());
    [
        currency.to_owned(),
        sums.entries.to_string(),
        sums.estimated.to_string(),
        sums.calls.to_string(),
        usage.input.to_string(),
        usage.cache_read.to_string(),
        usage.cache_write.to_string(),
        usage.output.to_string(),
        usage.reasoning.to_string(),
        amount(sums.charge.as_ref()),
        amount(sums.overrun.as_ref()),
        amount(sums.provider_usd.as_ref()),
    ]
}

fn comma_separated(shown: &Shown<'_>) -> String {
    let mut heads = columns(shown);
    heads.extend(NUMBERS.map(ToOwned::to_owned));
    heads.extend(shown.compare.then(|| "before".to_owned()));
    let mut out = format!("{}\r\n", heads.join(","));
    for row in &shown.report.rows {
        let names = names(shown, row).into_iter().map(|it| csv::text(&it));
        let sums = row.sums.clone().unwrap_or_default();
        let before = shown.compare.then(|| amount(row.before.as_ref()));
        let cells: Vec<String> = names.chain(numbers(&sums)).chain(before).collect();
        let _infallible = write!(out, "{}\r\n", cells.join(","));
    }
    out
}

fn markdown(shown: &Shown<'_>) -> String {
    let row = |cells: &[String]| {
        let safe = cells.iter().map(|it| plain(it).replace('\\', "\\\\").replace('|', "\\|"));
        format!("| {} |\n", safe.collect::<Vec<_>>().join(" | "))
    };
    let mut heads = heads(shown);
    heads.pop();
    let names_count = columns(shown).len();
    let rule =
        heads.iter().enumerate().map(|(at, _)| if at < names_count { "---" } else { "---:" });
    let mut out = format!("{}| {} |\n", row(&heads), rule.collect::<Vec<_>>().join(" | "));
    let mut line = |names: Vec<String>, sums: &ReportSums, before: Option<&Money>| {
        let mut cells = cells(names, sums, (shown.compare, before), String::new());
        cells.pop();
        out.push_str(&row(&cells));
    };
    for it in &shown.report.rows {
        line(names(shown, it), &it.sums.clone().unwrap_or_default(), it.before.as_ref());
    }
    let mut last = vec![String::new(); names_count];
    if let Some(first) = last.first_mut() {
        "**total**".clone_into(first);
    }
    let total = shown.report.total.clone().unwrap_or_default();
    line(last, &total, shown.report.total_before.as_ref());
    out
}

fn record(shown: &Shown<'_>) -> Record {
    let report = shown.report;
    let row = |it: &ReportRow| {
        let named = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
        Record::new()
            .with("start_time", it.start_time.clone())
            .with("user", named(&it.user))
            .with("server", named(&it.server))
            .with("host", named(&it.host))
            .with("model", named(&it.model))
            .with("backend", named(&it.backend))
            .with("root", named(&it.root))
            .with("envelope", named(&it.envelope))
            .with("kind", words::word(it.kind().as_str_name(), "ENTRY_KIND_"))
            .with("sums", sums(&it.sums.clone().unwrap_or_default()))
            .with("before", it.before.as_ref().map(words::decimal))
    };
    Record::new()
        .with("start_time", report.start_time.clone())
        .with("end_time", report.end_time.clone())
        .with("as_of", report.as_of.clone())
        .with("through_batch", report.through_batch)
        .with("rows", report.rows.iter().map(row).collect::<Vec<_>>())
        .with("total", sums(&report.total.clone().unwrap_or_default()))
        .with("total_before", report.total_before.as_ref().map(words::decimal))
        .with("more", !report.next_page_token.is_empty())
}

fn sums(it: &ReportSums) -> Record {
    Record::new()
        .with("entries", it.entries)
        .with("estimated", it.estimated)
        .with("calls", it.calls)
        .with("usage", words::usage(&it.usage.unwrap_or_default()))
        .with("currency", it.charge.as_ref().map(|it| it.currency_code.clone()))
        .with("charge", amount(it.charge.as_ref()))
        .with("overrun", amount(it.overrun.as_ref()))
        .with("provider_usd", amount(it.provider_usd.as_ref()))
}
