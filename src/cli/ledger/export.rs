//! `bursar ledger export`: a month as a file, and its manifest beside it.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};

use super::month::Month;
use crate::{
    cli::{output::Output, record::Record, stop::Stop},
    client::{Client, Error},
    ledger::{Verification, export::prove},
    proto::{ExportFormat, ExportLedgerRequest, export_ledger_response::Part},
};

/// The arguments of `export`.
#[derive(Debug, Clone, Args)]
pub struct Export {
    /// What the file is
    #[arg(long, default_value = "focus-1.2")]
    format: Format,
    /// This month, in UTC
    #[arg(long, value_name = "YYYY-MM", value_parser = Month::parse)]
    month: Month,
    /// Write here, and the manifest to FILE.manifest.json
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// What a file can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// FinOps Open Cost and Usage Specification 1.2, as CSV
    #[value(name = "focus-1.2")]
    Focus12,
    /// FinOps Open Cost and Usage Specification 1.4, as CSV
    #[value(name = "focus-1.4")]
    Focus14,
    /// Every entry with its proof, as CSV
    Journal,
}

/// Where the manifest of a file stands.
fn manifest_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".manifest.json");
    PathBuf::from(name)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Stop {
    let path = path.display().to_string();
    move |cause| Stop::new(format!("{path}: {cause}"))
}

/// Writes a part of the file under another name first, so that a broken export never
/// looks like a whole one.
pub(super) async fn run(
    client: &Client,
    args: Export,
    (json, output): (bool, &mut Output<'_>),
) -> Result<(), Stop> {
    let Export { format, month, out } = args;
    let format = match format {
        Format::Focus12 => ExportFormat::Focus12,
        Format::Focus14 => ExportFormat::Focus14,
        Format::Journal => ExportFormat::Journal,
    };
    let request = ExportLedgerRequest { format: format.into(), month: month.to_string() };
    let mut ledger = client.ledger();
    let mut pieces = ledger.export_ledger(request).await.map_err(Error::from)?.into_inner();
    let part = out.with_extension("part");
    let mut file = BufWriter::new(File::create(&part).map_err(failed(&part))?);
    let mut manifest = String::new();
    let mut progress = Progress::new();
    while let Some(piece) = pieces.message().await.map_err(Error::from)? {
        progress.show(piece.entries_done, piece.entries_total);
        match piece.part {
            Some(Part::Data(bytes)) => file.write_all(&bytes).map_err(failed(&part))?,
            Some(Part::ManifestJson(it)) => manifest = it,
            None => {}
        }
    }
    progress.end();
    if manifest.is_empty() {
        return Err(Stop::new("the export broke off before its manifest; try again"));
    }
    let whole = file.into_inner().map_err(|it| failed(&part)(it.into_error()))?;
    whole.sync_all().map_err(failed(&part))?;
    let beside = manifest_of(&out);
    fs::write(&beside, &manifest).map_err(failed(&beside))?;
    fs::rename(&part, &out).map_err(failed(&out))?;
    if json {
        let compact: serde_json::Value = serde_json::from_str(&manifest)
            .map_err(|_| Stop::new("the service's manifest is not JSON"))?;
        return output.json(&compact);
    }
    output.record(&summary(&manifest, &out)?, false)
}

fn summary(manifest: &str, out: &Path) -> Result<Record, Stop> {
    let manifest: serde_json::Value = serde_json::from_str(manifest)
        .map_err(|_| Stop::new("the service's manifest is not JSON"))?;
    let said = |name: &str| {
        let value = manifest.pointer(name);
        value.map_or_else(String::new, |it| {
            it.as_str().map_or_else(|| it.to_string(), ToOwned::to_owned)
        })
    };
    Ok(Record::new()
        .with("file", out.display().to_string())
        .with("manifest", manifest_of(out).display().to_string())
        .with("rows", said("/rows"))
        .with("entries", said("/entries"))
        .with("cost", format!("{} {}", said("/control_totals/cost"), said("/currency")))
        .with("sha256", said("/sha256"))
        .with("head", said("/chain/head")))
}

/// How far it is, on a terminal's standard error.
struct Progress {
    shown: Option<i64>,
    is_seen: bool,
}

impl Progress {
    fn new() -> Self {
        Self { shown: None, is_seen: io::stderr().is_terminal() }
    }

    fn show(&mut self, done: i64, total: i64) {
        let percent = done.saturating_mul(100) / total.max(1);
        if !self.is_seen || self.shown == Some(percent) {
            return;
        }
        self.shown = Some(percent);
        let filled = usize::try_from(percent.clamp(0, 100) / 4).unwrap_or(0);
        let bar = format!("{}{}", "\u{2588}".repeat(filled), " ".repeat(25 - filled));
        let _unseen = write!(io::stderr().lock(), "\r{bar} {percent:3} %  {done} entries");
    }

    fn end(&self) {
        if self.shown.is_some() {
            let _unseen = writeln!(io::stderr().lock());
        }
    }
}

/// Proves an exported journal from itself and its manifest.
pub(super) fn verify(file: &Path) -> Result<Verification, Stop> {
    let beside = manifest_of(file);
    let manifest = fs::read_to_string(&beside).map_err(failed(&beside))?;
    let opened = File::open(file).map_err(failed(file))?;
    prove::prove(BufReader::new(opened), &manifest)
        .map_err(|it| Stop::new(format!("{}: {it}", file.display())))
}
