//! Rows of what was held for prompts against what backends counted.

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, batch::signed, catalogue::unsigned, instant::Instant};
use crate::domain::{
    ids::{ModelId, TenantId},
    model::{Bounding, Record, Trust},
    vocabulary::Tokenizer,
};

/// What has been seen of a model since the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The model.
    pub model: ModelId,
    /// Its counts.
    pub record: Record,
    /// What is left to rely on.
    pub trust: Trust,
}

/// Adds to what is known of a tenant's models. Trust is only lost this way. Models
/// that are gone are passed over.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    seen: &[Seen],
) -> Result<(), Error> {
    let column = |of: fn(&Record) -> u64| -> Vec<i64> {
        seen.iter().map(|it| signed(of(&it.record))).collect()
    };
    let models: Vec<Uuid> = seen.iter().map(|it| it.model.uuid()).collect();
    let last: Vec<Option<Instant>> =
        seen.iter().map(|it| it.record.last_failure.map(Instant)).collect();
    let coarse: Vec<bool> = seen.iter().map(|it| it.trust >= Trust::Coarse).collect();
    let suspended: Vec<bool> = seen.iter().map(|it| it.trust == Trust::Suspended).collect();
    sqlx::query(
        "insert into model_bounds as b (tenant_id, model_id, calls, held_tokens, actual_tokens,
             worst_permille, failures, last_failure_at, coarse_at, suspended_at)
         select m.tenant_id, m.model_id, s.calls, s.held, s.actual, s.worst, s.failures, s.last,
             case when s.coarse then now() end, case when s.suspended then now() end
         from unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
             $7::bigint[], $8::timestamptz[], $9::boolean[], $10::boolean[])
             as s (model_id, calls, held, actual, worst, failures, last, coarse, suspended)
         join models m on m.tenant_id = $1 and m.model_id = s.model_id
         order by m.model_id
         on conflict (tenant_id, model_id) do update set
             calls = b.calls + excluded.calls,
             held_tokens = least(b.held_tokens, $11) + least(excluded.held_tokens, $11),
             actual_tokens = least(b.actual_tokens, $11) + least(excluded.actual_tokens, $11),
             worst_permille = greatest(b.worst_permille, excluded.worst_permille),
             failures = b.failures + excluded.failures,
             last_failure_at = greatest(b.last_failure_at, excluded.last_failure_at),
             coarse_at = coalesce(b.coarse_at, excluded.coarse_at),
             suspended_at = coalesce(b.suspended_at, excluded.suspended_at)",
    )
    .bind(tenant.uuid())
    .bind(models)
    .bind(column(|it| it.calls))
    .bind(column(|it| it.held))
    .bind(column(|it| it.actual))
    .bind(column(|it| it.worst_permille))
    .bind(column(|it| it.failures))
    .bind(last)
    .bind(coarse)
    .bind(suspended)
    .bind(i64::MAX / 2)
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes a model into use again; `fine`: with its vocabulary and formulas.
pub(crate) async fn resume(
    connection: &mut PgConnection,
    tenant: TenantId,
    (model, fine): (ModelId, bool),
) -> Result<(), Error> {
    sqlx::query(
        "update model_bounds set suspended_at = null,
             coarse_at = case when $3 then null else coarse_at end
         where tenant_id = $1 and model_id = $2",
    )
    .bind(tenant.uuid())
    .bind(model.uuid())
    .bind(fine)
    .execute(connection)
    .await?;
    Ok(())
}

/// Of a model's row, joined with what was seen of it.
pub(super) fn bounding(row: &PgRow) -> Result<Bounding, Error> {
    let number = |name: &'static str| {
        let it: Option<i64> = row.try_get(name)?;
        unsigned(it.unwrap_or(0), name)
    };
    let is_set = |name: &str| Ok::<_, Error>(row.try_get::<Option<Instant>, _>(name)?.is_some());
    let tokenizer = Tokenizer::of_word(row.try_get("tokenizer")?);
    let tokenizer = tokenizer.ok_or(Error::Unreadable("models.tokenizer"))?;
    let record = Record {
        calls: number("calls")?,
        held: number("held_tokens")?,
        actual: number("actual_tokens")?,
        worst_permille: number("worst_permille")?,
        failures: number("failures")?,
        last_failure: row.try_get::<Option<Instant>, _>("last_failure_at")?.map(|it| it.0),
    };
    let trust = if is_set("suspended_at")? {
        Trust::Suspended
    } else if is_set("coarse_at")? {
        Trust::Coarse
    } else {
        Trust::Fine
    };
    Ok(Bounding { trust, record, ..Bounding::new(tokenizer, row.try_get("vendor_model")?) })
}
