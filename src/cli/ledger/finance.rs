//! `bursar ledger explain` and `close`.

use std::{fmt::Write, process::ExitCode};

use clap::Args;

use super::month::Month;
use crate::{
    cli::{
        describe,
        output::{Output, Tone, plain},
        record::{Record, Value},
        stop::Stop,
        words,
    },
    client::{Client, Error},
    proto::{CloseMonthRequest, CloseMonthResponse, ExplainEntryRequest, ExplainEntryResponse},
};

/// The arguments of `close`.
#[derive(Debug, Clone, Args)]
pub struct Close {
    /// This month, in UTC
    #[arg(long, value_name = "YYYY-MM", value_parser = Month::parse)]
    month: Month,
    /// Only check
    #[arg(long)]
    check: bool,
}

pub(super) async fn explain(
    client: &Client,
    name: String,
    (json, output): (bool, &mut Output<'_>),
) -> Result<ExitCode, Stop> {
    let found = client.ledger().explain_entry(ExplainEntryRequest { name }).await;
    let found = found.map_err(Error::from)?.into_inner();
    let ok = found.matches;
    if json {
        output.json(&record(&found)?)?;
    } else {
        output.write(&words_of(&found, output)?)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn record(it: &ExplainEntryResponse) -> Result<Record, Stop> {
    let entry = words::need(it.entry.as_ref())?;
    let line = |label: &str, text: &str| {
        Record::new().with("label", label.to_owned()).with("text", text.to_owned())
    };
    Ok(Record::new()
        .with("entry", describe::entry(entry))
        .with("lines", it.lines.iter().map(|it| line(&it.label, &it.text)).collect::<Vec<_>>())
        .with("booked", it.booked.as_ref().map(words::decimal))
        .with("recomputed", it.recomputed.as_ref().map(words::decimal))
        .with("matches", it.matches)
        .with("related", it.related.iter().map(describe::entry).collect::<Vec<_>>()))
}

fn words_of(it: &ExplainEntryResponse, output: &Output<'_>) -> Result<String, Stop> {
    let entry = words::need(it.entry.as_ref())?;
    let kind = entry.kind().as_str_name().trim_start_matches("ENTRY_KIND_").to_lowercase();
    let mut out = format!(
        "{}\n{kind} of call {}, attempt {}, booked at {}\nfor {} by {}, model {}\n\n",
        plain(&entry.name),
        plain(&entry.call),
        entry.attempt,
        plain(&entry.booked_at),
        plain(&entry.user),
        plain(&entry.server),
        if entry.model.is_empty() { "of the host's own" } else { &entry.model },
    );
    let width = it.lines.iter().map(|it| it.label.len()).max().unwrap_or(0);
    for line in &it.lines {
        let _infallible = writeln!(out, "{:width$}  {}", plain(&line.label), plain(&line.text));
    }
    let booked = it.booked.as_ref().map(words::with_currency).unwrap_or_default();
    let made = it.recomputed.as_ref().map_or_else(|| "nothing".to_owned(), words::with_currency);
    let verdict = if it.matches {
        output.toned(Tone::Good, "equal to the nano")
    } else {
        output.toned(Tone::Bad, "not equal")
    };
    let _infallible = writeln!(out, "\nbooked {booked}, made anew {made}: {verdict}");
    for other in &it.related {
        let kind = other.kind().as_str_name().trim_start_matches("ENTRY_KIND_").to_lowercase();
        let charge = other.charge.as_ref().map(words::with_currency).unwrap_or_default();
        let _infallible = writeln!(out, "see also {}: {kind}, {charge}", plain(&other.name));
    }
    Ok(out)
}

pub(super) async fn close(
    client: &Client,
    args: Close,
    (json, output): (bool, &mut Output<'_>),
) -> Result<ExitCode, Stop> {
    let request = CloseMonthRequest { month: args.month.to_string(), validate_only: args.check };
    let found = client.ledger().close_month(request).await.map_err(Error::from)?.into_inner();
    let passed = found.checks.iter().all(|it| it.passed);
    if json {
        output.json(&closing(&found))?;
    } else {
        for it in &found.checks {
            let mark = if it.passed {
                output.toned(Tone::Good, "ok    ")
            } else {
                output.toned(Tone::Bad, "failed")
            };
            output.write(&format!("{mark}  {:9}  {}\n", plain(&it.name), plain(&it.detail)))?;
        }
        let state = if found.closed {
            format!("closed at {}, for good", found.close_time)
        } else if passed {
            "can be closed".to_owned()
        } else {
            "stays open".to_owned()
        };
        let charge = found.charge.as_ref().map(words::with_currency).unwrap_or_default();
        output.write(&format!(
            "\n{} {state}: {} entries, {charge} charged\n",
            args.month, found.entries
        ))?;
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn closing(it: &CloseMonthResponse) -> Record {
    let check = |name: &str, passed: bool, detail: &str| {
        Record::new()
            .with("name", name.to_owned())
            .with("passed", passed)
            .with("detail", detail.to_owned())
    };
    let checks = it.checks.iter().map(|it| check(&it.name, it.passed, &it.detail));
    Record::new()
        .with("closed", it.closed)
        .with("close_time", Value::text_or_null(&it.close_time))
        .with("checks", checks.collect::<Vec<_>>())
        .with("entries", it.entries)
        .with("charge", it.charge.as_ref().map(words::decimal))
        .with("overrun", it.overrun.as_ref().map(words::decimal))
        .with("provider_payable", it.provider_payable.as_ref().map(words::decimal))
        .with("fx_buffer", it.fx_buffer.as_ref().map(words::decimal))
        .with("last_batch", it.last_batch)
        .with("head", Value::text_or_null(&it.head))
}
