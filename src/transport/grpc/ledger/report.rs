//! Reports on the wire.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::super::convert::{label, money, name, page, timestamp};
use crate::{
    domain::{
        entry::EntryKind,
        fault::Fault,
        ids::{EnvelopeId, TenantId},
        money::{Amount, Currency},
        period::to_the_second,
        report::{Dimension, Filter, Grain, Labels, Position, Row, Sums},
        tenant::Tenant,
    },
    ledger::report::{Report, Wanted, month_of},
    proto,
};

/// The first byte of a token, so that its form can change.
const VERSION: u8 = 1;

/// A position's bytes: two numbers and a digest.
const POSITION_BYTES: usize = 32;

/// What is asked, once it was read.
pub(super) struct Asked {
    pub(super) wanted: Wanted,
    pub(super) after: Option<Position>,
    pub(super) size: i64,
}

/// Reads a request; none when it names another tenant's envelope, of which nothing is
/// found.
pub(super) fn asked(
    it: &proto::ReportEntriesRequest,
    tenant: TenantId,
    now: jiff::Timestamp,
) -> Result<Option<Asked>, Fault> {
    let size = page::page(it.page_size, "")?.size;
    let after = if it.page_token.is_empty() { None } else { Some(position(&it.page_token)?) };
    let (start, end) = span((&it.start_time, &it.end_time), now)?;
    let mut by = Vec::new();
    for (index, found) in it.dimensions.iter().enumerate() {
        let field = format!("dimensions[{index}]");
        let found = proto::ReportDimension::try_from(*found).ok().and_then(dimension);
        let Some(found) = found else {
            return Err(Fault::invalid(field, "is not a known dimension"));
        };
        if by.contains(&found) {
            return Err(Fault::invalid(field, "is named twice"));
        }
        by.push(found);
    }
    let Some(filter) = filter(it.filter.as_ref(), tenant)? else { return Ok(None) };
    let wanted = Wanted { by, grain: grain(it)?, start, end, compare: it.compare, filter };
    Ok(Some(Asked { wanted, after, size }))
}

fn span(
    (start, end): (&str, &str),
    now: jiff::Timestamp,
) -> Result<(jiff::Timestamp, jiff::Timestamp), Fault> {
    match (timestamp("start_time", start)?, timestamp("end_time", end)?) {
        (None, None) => month_of(now),
        (Some(start), Some(end)) => Ok((start, end)),
        (None, Some(_)) => Err(Fault::invalid("start_time", "is required beside end_time")),
        (Some(_), None) => Err(Fault::invalid("end_time", "is required beside start_time")),
    }
}

fn grain(it: &proto::ReportEntriesRequest) -> Result<Option<Grain>, Fault> {
    let unknown = |_| Fault::invalid("grain", "is not a known grain");
    Ok(match proto::ReportGrain::try_from(it.grain).map_err(unknown)? {
        proto::ReportGrain::Unspecified => None,
        proto::ReportGrain::Hour => Some(Grain::Hour),
        proto::ReportGrain::Day => Some(Grain::Day),
        proto::ReportGrain::Week => Some(Grain::Week),
        proto::ReportGrain::Month => Some(Grain::Month),
    })
}

const fn dimension(it: proto::ReportDimension) -> Option<Dimension> {
    match it {
        proto::ReportDimension::Unspecified => None,
        proto::ReportDimension::User => Some(Dimension::User),
        proto::ReportDimension::Server => Some(Dimension::Server),
        proto::ReportDimension::Host => Some(Dimension::Host),
        proto::ReportDimension::Model => Some(Dimension::Model),
        proto::ReportDimension::Backend => Some(Dimension::Backend),
        proto::ReportDimension::Root => Some(Dimension::Root),
        proto::ReportDimension::Envelope => Some(Dimension::Envelope),
        proto::ReportDimension::Kind => Some(Dimension::Kind),
    }
}

fn filter(it: Option<&proto::ReportFilter>, tenant: TenantId) -> Result<Option<Filter>, Fault> {
    let Some(it) = it else { return Ok(Some(Filter::default())) };
    let mut filter = Filter {
        user: label("filter.user", &it.user)?,
        server: label("filter.server", &it.server)?,
        host: label("filter.host", &it.host)?,
        model: label("filter.model", &it.model)?,
        backend: label("filter.backend", &it.backend)?,
        root: root(&it.root)?,
        envelope: None,
        kind: entry_kind(it.kind)?,
    };
    if !it.envelope.is_empty() {
        let name = name::parse::<EnvelopeId>("filter.envelope", &it.envelope)?;
        let Ok(id) = name.of(tenant, "envelope") else { return Ok(None) };
        filter.envelope = Some(id);
    }
    Ok(Some(filter))
}

/// A root's URI may be longer than a label.
fn root(text: &str) -> Result<Option<String>, Fault> {
    const URI_BYTES_MAX: usize = 2_048;
    if text.len() > URI_BYTES_MAX || text.chars().any(char::is_control) {
        let problem = "must be at most 2048 bytes without control characters";
        return Err(Fault::invalid("filter.root", problem));
    }
    Ok(Some(text).filter(|it| !it.is_empty()).map(ToOwned::to_owned))
}

fn entry_kind(it: i32) -> Result<Option<EntryKind>, Fault> {
    let unknown = |_| Fault::invalid("filter.kind", "is not a known kind");
    Ok(match proto::EntryKind::try_from(it).map_err(unknown)? {
        proto::EntryKind::Unspecified => None,
        proto::EntryKind::Settle => Some(EntryKind::Settle),
        proto::EntryKind::Void => Some(EntryKind::Void),
        proto::EntryKind::Expire => Some(EntryKind::Expire),
        proto::EntryKind::LateSettle => Some(EntryKind::LateSettle),
        proto::EntryKind::Correction => Some(EntryKind::Correction),
    })
}

/// A page for the wire, cut to its size.
pub(super) fn to_wire(
    report: Report,
    asked: &Asked,
    tenant: &Tenant,
) -> proto::ReportEntriesResponse {
    let Report { mut rows, total, before, through_batch, as_of } = report;
    let size = usize::try_from(asked.size).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let last = rows.last().filter(|_| more).map(|it| it.position);
    let compare = asked.wanted.compare;
    proto::ReportEntriesResponse {
        rows: rows.iter().map(|it| row(it, tenant, compare)).collect(),
        next_page_token: last.map_or_else(String::new, token),
        total: Some(sums(&total, tenant.currency)),
        total_before: compare.then(|| money::to_wire(Amount::from_nanos(before), tenant.currency)),
        start_time: to_the_second(asked.wanted.start),
        end_time: to_the_second(asked.wanted.end),
        through_batch,
        as_of: to_the_second(as_of),
    }
}

fn row(it: &Row, tenant: &Tenant, compare: bool) -> proto::ReportRow {
    let Row { at, labels, sums, before, position: _ } = it;
    let Labels { user, server, host, model, backend, root, envelope, kind } = labels.clone();
    proto::ReportRow {
        start_time: to_the_second(*at),
        user: user.unwrap_or_default(),
        server: server.unwrap_or_default(),
        host: host.unwrap_or_default(),
        model: model.unwrap_or_default(),
        backend: backend.unwrap_or_default(),
        root: root.unwrap_or_default(),
        envelope: envelope.map_or_else(String::new, |it| name::format(tenant.id, &it)),
        kind: kind.map_or(proto::EntryKind::Unspecified, super::kind).into(),
        sums: Some(self::sums(sums, tenant.currency)),
        before: compare.then(|| money::to_wire(Amount::from_nanos(*before), tenant.currency)),
    }
}

fn sums(it: &Sums, currency: Currency) -> proto::ReportSums {
    let Sums { entries, estimated, calls, charged, overrun, pico_usd, .. } = *it;
    let Sums { input, cache_read, cache_write, output, reasoning, .. } = *it;
    let money = |nanos| Some(money::to_wire(Amount::from_nanos(nanos), currency));
    proto::ReportSums {
        entries,
        estimated,
        calls,
        usage: Some(proto::Usage { input, cache_read, cache_write, output, reasoning }),
        charge: money(charged),
        overrun: money(overrun),
        provider_usd: super::usd(pico_usd),
    }
}

fn token(it: Position) -> String {
    let Position { bucket, rank, key } = it;
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&bucket.to_be_bytes());
    bytes.extend_from_slice(&rank.to_be_bytes());
    bytes.extend_from_slice(&key.to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

fn position(token: &str) -> Result<Position, Fault> {
    let read = || {
        let short = Some(token).filter(|it| it.len() <= 2 * POSITION_BYTES)?;
        let bytes = URL_SAFE_NO_PAD.decode(short).ok()?;
        let (version, rest) = bytes.split_first()?;
        let whole = *version == VERSION && rest.len() == POSITION_BYTES;
        let (numbers, key) = rest.split_at_checked(16).filter(|_| whole)?;
        let (bucket, rank) = numbers.split_at(8);
        Some(Position {
            bucket: i64::from_be_bytes(bucket.try_into().ok()?),
            rank: i64::from_be_bytes(rank.try_into().ok()?),
            key: u128::from_be_bytes(key.try_into().ok()?),
        })
    };
    let problem = "must be the next_page_token of an earlier reply, or empty";
    read().ok_or_else(|| Fault::invalid("page_token", problem))
}
