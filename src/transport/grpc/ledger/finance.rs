//! Exports, explanations and closes on the wire.

use std::pin::Pin;

use futures_util::{Stream, stream};
use tonic::Status;

use super::super::convert::money;
use crate::{
    domain::{fault::Fault, money::Amount, period::to_the_second, tenant::Tenant},
    ledger::{
        Reader,
        close::{Check, Closing},
        explain::Explanation,
        export::{Export, Format, Month, Piece, Totals},
    },
    proto::{self, export_ledger_response::Part},
    store::Store,
};

/// The pieces of an export. Each is read when the one before has been taken, so that a
/// slow reader holds nothing open.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<proto::ExportLedgerResponse, Status>> + Send>>;

pub(super) async fn export(
    store: &Store,
    tenant: &Tenant,
    asked: &proto::ExportLedgerRequest,
) -> Result<Pieces, Fault> {
    let month = Month::parse("month", &asked.month)?;
    let unknown = || Fault::invalid("format", "must be a known format");
    let format = proto::ExportFormat::try_from(asked.format).map_err(|_| unknown())?;
    let format = match format {
        proto::ExportFormat::Unspecified => return Err(unknown()),
        proto::ExportFormat::Focus12 => Format::Focus12,
        proto::ExportFormat::Focus14 => Format::Focus14,
        proto::ExportFormat::Journal => Format::Journal,
    };
    let export = Export::begin(store, tenant, (format, month)).await?;
    Ok(Box::pin(stream::try_unfold(export, |mut export| async move {
        let Some(piece) = export.next().await? else { return Ok(None) };
        let part = match piece {
            Piece::Lines(it) => Part::Data(it.into_bytes()),
            Piece::Manifest(it) => Part::ManifestJson(it),
        };
        let response = proto::ExportLedgerResponse {
            part: Some(part),
            entries_done: export.entries_done(),
            entries_total: export.entries_total,
        };
        Ok(Some((response, export)))
    })))
}

pub(super) fn explained(it: &Explanation, tenant: &Tenant) -> proto::ExplainEntryResponse {
    let Explanation { entry, lines, booked, recomputed, matches, related } = it;
    let reader = Reader { tenant: tenant.id, currency: tenant.currency, host: None };
    let line = |(label, text): &(&str, String)| proto::ExplanationLine {
        label: (*label).to_owned(),
        text: text.clone(),
    };
    proto::ExplainEntryResponse {
        entry: Some(super::to_wire(entry, &reader)),
        lines: lines.iter().map(line).collect(),
        booked: Some(money::to_wire(*booked, tenant.currency)),
        recomputed: recomputed.map(|it| money::to_wire(it, tenant.currency)),
        matches: *matches,
        related: related.iter().map(|it| super::to_wire(it, &reader)).collect(),
    }
}

pub(super) fn closing(it: Closing, tenant: &Tenant) -> proto::CloseMonthResponse {
    let Closing { checks, closed_at, totals, last_batch, head } = it;
    let Totals { rows: _, entries, charged, overrun, provider_payable, fx_buffer } = totals;
    let money =
        |nanos: i128| Amount::try_from(nanos).ok().map(|it| money::to_wire(it, tenant.currency));
    let check = |Check { name, passed, detail }| proto::CloseCheck {
        name: str::to_owned(name),
        passed,
        detail,
    };
    proto::CloseMonthResponse {
        checks: checks.into_iter().map(check).collect(),
        closed: closed_at.is_some(),
        close_time: closed_at.map(to_the_second).unwrap_or_default(),
        entries,
        charge: money(charged),
        overrun: money(overrun),
        provider_payable: money(provider_payable),
        fx_buffer: money(fx_buffer),
        last_batch,
        head,
    }
}
