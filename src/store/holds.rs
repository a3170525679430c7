//! Rows of `holds`, read. They are written by a lane's batch alone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, Store, instant::Instant, limits::width};
use crate::domain::{
    fx::FxQuote,
    hold::{Hold, Need, Parties, Terms},
    ids::{HoldId, TenantId},
    limit::LimitKey,
    money::Amount,
};

/// The open holds among these.
pub(crate) async fn find(
    connection: &mut PgConnection,
    ids: &[(TenantId, HoldId)],
) -> Result<Vec<Hold>, Error> {
    let (tenants, holds): (Vec<Uuid>, Vec<Uuid>) =
        ids.iter().map(|(tenant, id)| (tenant.uuid(), id.uuid())).unzip();
    let rows = sqlx::query(include_str!("sql/find_holds.sql"))
        .bind(tenants)
        .bind(holds)
        .fetch_all(connection)
        .await?;
    rows.iter().map(hold).collect()
}

/// A hold that is open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenHold {
    pub(crate) since: Timestamp,
    pub(crate) need: Need,
}

/// What a batch has to know of holds and orders.
pub(crate) struct Found {
    pub(crate) open: BTreeMap<HoldId, OpenHold>,
    pub(crate) stopped: BTreeSet<HoldId>,
    pub(crate) now: Timestamp,
}

/// Which of these holds are open, which of these orders are stopped, and Postgres' time.
pub(crate) async fn open(
    connection: &mut PgConnection,
    ids: &[(TenantId, HoldId)],
    orders: &[(HoldId, Parties)],
) -> Result<Found, Error> {
    let (tenants, holds): (Vec<Uuid>, Vec<Uuid>) =
        ids.iter().map(|(tenant, id)| (tenant.uuid(), id.uuid())).unzip();
    let column = |of: fn(&(HoldId, Parties)) -> Uuid| orders.iter().map(of).collect::<Vec<_>>();
    let rows = sqlx::query(include_str!("sql/open_holds.sql"))
        .bind(tenants)
        .bind(holds)
        .bind(column(|(_, it)| it.tenant.uuid()))
        .bind(column(|(id, _)| id.uuid()))
        .bind(column(|(_, it)| it.user.uuid()))
        .bind(column(|(_, it)| it.server.uuid()))
        .fetch_all(connection)
        .await?;
    let (mut open, mut stopped) = (BTreeMap::new(), BTreeSet::new());
    for row in &rows {
        let Some(id) = row.try_get::<Option<Uuid>, _>("hold_id")? else { continue };
        if row.try_get("is_stopped")? {
            stopped.insert(id.into());
            continue;
        }
        let since = row.try_get::<Instant, _>("incurred_at")?.0;
        open.insert(id.into(), OpenHold { since, need: need(row)? });
    }
    let now: Instant = rows.first().ok_or(Error::Unreadable("clock"))?.try_get("at")?;
    Ok(Found { open, stopped, now: now.0 })
}

/// At most `most` holds whose time is over, of any tenant, the oldest first.
pub(crate) async fn expired(store: &Store, most: i64) -> Result<Vec<(TenantId, HoldId)>, Error> {
    let rows = sqlx::query(
        "select tenant_id, hold_id from holds where expires_at <= now() order by expires_at limit $1",
    )
    .bind(most)
    .fetch_all(store.duties())
    .await?;
    let ids = |it: &PgRow| -> Result<_, Error> {
        let tenant: Uuid = it.try_get("tenant_id")?;
        let hold: Uuid = it.try_get("hold_id")?;
        Ok((tenant.into(), hold.into()))
    };
    rows.iter().map(ids).collect()
}

/// A row as a hold. Its prices are not in it: a version names them.
fn hold(row: &PgRow) -> Result<Hold, Error> {
    let tenant: TenantId = row.try_get::<Uuid, _>("tenant_id")?.into();
    let optional = |name: &str| row.try_get::<Option<Uuid>, _>(name);
    Ok(Hold {
        id: row.try_get::<Uuid, _>("hold_id")?.into(),
        call: row.try_get::<Uuid, _>("call_id")?.into(),
        attempt: row.try_get("attempt")?,
        parties: Parties {
            tenant,
            host: row.try_get::<Uuid, _>("host_id")?.into(),
            user: row.try_get::<Uuid, _>("user_id")?.into(),
            server: row.try_get::<Uuid, _>("server_id")?.into(),
            envelope: row.try_get::<Uuid, _>("envelope_id")?.into(),
            root: optional("root_id")?.map(Into::into),
        },
        terms: Terms {
            model: optional("model_id")?.map(Into::into),
            backend: optional("backend_id")?.map(Into::into),
            price_version: optional("price_version_id")?.map(Into::into),
            prices: None,
            fx: fx(row)?,
        },
        need: need(row)?,
        route: row.try_get::<Option<&str>, _>("route")?.map(Into::into),
        limits: limits(row, tenant)?,
        reserved_by_host: row.try_get("by_host")?,
        incurred_at: row.try_get::<Instant, _>("incurred_at")?.0,
        expires_at: row.try_get::<Instant, _>("expires_at")?.0,
    })
}

fn need(row: &PgRow) -> Result<Need, Error> {
    Ok(Need {
        calls: row.try_get("calls")?,
        money: Amount::from_nanos(row.try_get("money")?),
        tokens: row.try_get("tokens")?,
    })
}

/// The rate in a row of `holds` or `entries`.
pub(crate) fn fx(row: &PgRow) -> Result<FxQuote, Error> {
    let rate: i64 = row.try_get("usd_nanos_per_unit")?;
    let buffer: i32 = row.try_get("fx_buffer_bp")?;
    Ok(FxQuote {
        rate: row.try_get::<Uuid, _>("fx_rate_id")?.into(),
        usd_nanos_per_unit: rate.try_into().map_err(|_| Error::Unreadable("usd_nanos_per_unit"))?,
        buffer_basis_points: buffer.try_into().map_err(|_| Error::Unreadable("fx_buffer_bp"))?,
    })
}

/// The limits in a row of `holds` or `entries`, in the order of locking.
pub(crate) fn limits(row: &PgRow, tenant: TenantId) -> Result<Vec<LimitKey>, Error> {
    let ids: Vec<Uuid> = row.try_get("limit_ids")?;
    let widths: Vec<i16> = row.try_get("widths")?;
    if ids.len() != widths.len() {
        return Err(Error::Unreadable("limit_ids"));
    }
    let keys = ids.into_iter().zip(widths);
    keys.map(|(id, it)| Ok(LimitKey { tenant, width: width(it)?, id: id.into() })).collect()
}
