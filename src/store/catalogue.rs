//! Rows of backends, models, prices and exchange rates.

use std::{collections::HashMap, time::Duration};

use jiff::civil::Date;
use sqlx::{AssertSqlSafe, PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, batch::signed, bounds, instant::Day, listings::followed, prices::prices};
use crate::domain::{
    ids::{BackendId, FxRateId, ModelId, TenantId},
    model::{Backend, BackendKind, Model, Profile},
};

/// An exchange rate as it was fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FxRate {
    /// Its id.
    pub id: FxRateId,
    /// Nano-USD that one unit of the tenant's currency buys.
    pub usd_nanos_per_unit: u64,
    /// The day of the fixing.
    pub fixing_date: Date,
}

/// The backends after `after`, by id.
pub(crate) async fn backends(
    connection: &mut PgConnection,
    tenant: TenantId,
    (after, most): (Option<Uuid>, i64),
) -> Result<Vec<Backend>, Error> {
    let rows = sqlx::query(
        "select * from backends where tenant_id = $1 and ($2::uuid is null or backend_id > $2)
         order by backend_id limit $3",
    )
    .bind(tenant.uuid())
    .bind(after)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.iter().map(backend).collect()
}

/// Adds a backend.
pub(crate) async fn add_backend(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Backend,
) -> Result<(), Error> {
    let Backend { id, name, kind, base_url, key_env, profile } = it;
    let statuses: Vec<i32> = profile.unbilled_statuses.iter().map(|it| i32::from(*it)).collect();
    sqlx::query(
        "insert into backends (tenant_id, backend_id, name, kind, base_url, key_env, unbilled_statuses,
            stops_on_disconnect, max_completion_tokens, no_stream_options, no_temperature, idle_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(name)
    .bind(kind_word(*kind))
    .bind(base_url)
    .bind(key_env)
    .bind(statuses)
    .bind(profile.stops_on_disconnect)
    .bind(profile.max_completion_tokens)
    .bind(profile.no_stream_options)
    .bind(profile.no_temperature)
    .bind(i64::try_from(profile.idle.as_millis()).unwrap_or(i64::MAX))
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets the address of a backend and the variable of its key.
pub(crate) async fn move_backend(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: BackendId,
    (base_url, key_env): (&str, &str),
) -> Result<(), Error> {
    sqlx::query(
        "update backends set base_url = $3, key_env = $4 where tenant_id = $1 and backend_id = $2",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(base_url)
    .bind(key_env)
    .execute(connection)
    .await?;
    Ok(())
}

fn backend(row: &PgRow) -> Result<Backend, Error> {
    let statuses: Vec<i32> = row.try_get("unbilled_statuses")?;
    let idle: i64 = row.try_get("idle_ms")?;
    Ok(Backend {
        id: row.try_get::<Uuid, _>("backend_id")?.into(),
        name: row.try_get("name")?,
        kind: match row.try_get("kind")? {
            "scripted" => BackendKind::Scripted,
            "openai" => BackendKind::OpenAi,
            "anthropic" => BackendKind::Anthropic,
            _ => return Err(Error::Unreadable("backends.kind")),
        },
        base_url: row.try_get("base_url")?,
        key_env: row.try_get("key_env")?,
        profile: Profile {
            unbilled_statuses: statuses.into_iter().filter_map(|it| it.try_into().ok()).collect(),
            stops_on_disconnect: row.try_get("stops_on_disconnect")?,
            max_completion_tokens: row.try_get("max_completion_tokens")?,
            no_stream_options: row.try_get("no_stream_options")?,
            no_temperature: row.try_get("no_temperature")?,
            idle: Duration::from_millis(unsigned(idle, "backends.idle_ms")?),
        },
    })
}

const fn kind_word(kind: BackendKind) -> &'static str {
    match kind {
        BackendKind::Scripted => "scripted",
        BackendKind::OpenAi => "openai",
        BackendKind::Anthropic => "anthropic",
    }
}

/// Models, each with the price in effect now; `$1` is the tenant.
const SELECT_MODEL: &str = include_str!("sql/select_models.sql");

/// The models after `after`, by id, each with the price in effect now.
pub(crate) async fn models(
    connection: &mut PgConnection,
    tenant: TenantId,
    (after, most): (Option<Uuid>, i64),
) -> Result<Vec<Model>, Error> {
    let statement = AssertSqlSafe(format!(
        "{SELECT_MODEL} where m.tenant_id = $1 and ($2::uuid is null or m.model_id > $2)
         order by m.model_id limit $3"
    ));
    let rows = sqlx::query(statement)
        .bind(tenant.uuid())
        .bind(after)
        .bind(most)
        .fetch_all(connection)
        .await?;
    rows.iter().map(model).collect()
}

/// A model, with the price in effect now.
pub(crate) async fn model_by_id(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Model>, Error> {
    let statement =
        AssertSqlSafe(format!("{SELECT_MODEL} where m.tenant_id = $1 and m.model_id = $2"));
    let row =
        sqlx::query(statement).bind(tenant.uuid()).bind(id).fetch_optional(connection).await?;
    row.map(|it| model(&it)).transpose()
}

/// The models of these aliases, as far as they exist.
pub(crate) async fn models_by_alias(
    connection: &mut PgConnection,
    tenant: TenantId,
    aliases: &[String],
) -> Result<Vec<(String, ModelId)>, Error> {
    let statement = "select alias, model_id from models where tenant_id = $1 and alias = any ($2)";
    let rows: Vec<(String, Uuid)> =
        sqlx::query_as(statement).bind(tenant.uuid()).bind(aliases).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(alias, id)| (alias, id.into())).collect())
}

/// The operators' names of these backends.
pub(crate) async fn backend_names(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[BackendId],
) -> Result<HashMap<BackendId, String>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let statement =
        "select backend_id, name from backends where tenant_id = $1 and backend_id = any ($2)";
    let rows: Vec<(Uuid, String)> =
        sqlx::query_as(statement).bind(tenant.uuid()).bind(ids).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, name)| (id.into(), name)).collect())
}

/// Adds a model, without a price.
pub(crate) async fn add_model(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Model,
) -> Result<(), Error> {
    sqlx::query(
        "insert into models (tenant_id, model_id, alias, backend_id, vendor_model, context_tokens,
            max_output_tokens, tools, image_tokens_max, audio_tokens_max, intelligence, speed, tokenizer)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(&it.alias)
    .bind(it.backend.uuid())
    .bind(&it.vendor_model)
    .bind(signed(it.context_tokens))
    .bind(signed(it.max_output_tokens))
    .bind(it.tools)
    .bind(signed(it.image_tokens_max))
    .bind(signed(it.audio_tokens_max))
    .bind(i16::from(it.intelligence))
    .bind(i16::from(it.speed))
    .bind(it.bound.tokenizer.word())
    .execute(connection)
    .await?;
    Ok(())
}

fn model(row: &PgRow) -> Result<Model, Error> {
    let number = |name: &'static str| unsigned(row.try_get(name)?, name);
    let score = |name: &'static str| -> Result<u8, Error> {
        row.try_get::<i16, _>(name)?.try_into().map_err(|_| Error::Unreadable(name))
    };
    let version: Option<Uuid> = row.try_get("price_version_id")?;
    Ok(Model {
        id: row.try_get::<Uuid, _>("model_id")?.into(),
        alias: row.try_get("alias")?,
        backend: row.try_get::<Uuid, _>("backend_id")?.into(),
        vendor_model: row.try_get("vendor_model")?,
        context_tokens: number("context_tokens")?,
        max_output_tokens: number("max_output_tokens")?,
        tools: row.try_get("tools")?,
        image_tokens_max: number("image_tokens_max")?,
        audio_tokens_max: number("audio_tokens_max")?,
        intelligence: score("intelligence")?,
        speed: score("speed")?,
        price: match version {
            Some(id) => Some((id.into(), prices(row)?)),
            None => None,
        },
        book: followed(row)?,
        bound: bounds::bounding(row)?,
    })
}

/// The rate in effect now.
pub(crate) async fn fx_rate(
    connection: &mut PgConnection,
    tenant: TenantId,
) -> Result<Option<FxRate>, Error> {
    let row = sqlx::query(
        "select * from fx_rates where tenant_id = $1 and effective_at <= now()
         order by effective_at desc, fx_rate_id desc limit 1",
    )
    .bind(tenant.uuid())
    .fetch_optional(connection)
    .await?;
    let rate = |row: PgRow| -> Result<_, Error> {
        Ok(FxRate {
            id: row.try_get::<Uuid, _>("fx_rate_id")?.into(),
            usd_nanos_per_unit: unsigned(row.try_get("usd_nanos_per_unit")?, "fx_rates")?,
            fixing_date: row.try_get::<Day, _>("fixing_date")?.0,
        })
    };
    row.map(rate).transpose()
}

/// Adds a rate, in effect from now on.
pub(crate) async fn add_fx_rate(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &FxRate,
) -> Result<(), Error> {
    sqlx::query(
        "insert into fx_rates (tenant_id, fx_rate_id, usd_nanos_per_unit, fixing_date)
         values ($1, $2, $3, $4)",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(signed(it.usd_nanos_per_unit))
    .bind(Day(it.fixing_date))
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) fn unsigned(it: i64, name: &'static str) -> Result<u64, Error> {
    it.try_into().map_err(|_| Error::Unreadable(name))
}

/// The backend of this name.
pub(crate) async fn backend_by_name(
    connection: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<Option<BackendId>, Error> {
    let id: Option<Uuid> =
        sqlx::query_scalar("select backend_id from backends where tenant_id = $1 and name = $2")
            .bind(tenant.uuid())
            .bind(name)
            .fetch_optional(connection)
            .await?;
    Ok(id.map(Into::into))
}

/// A backend by its id.
pub(crate) async fn backend_by_id(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: BackendId,
) -> Result<Option<Backend>, Error> {
    let row = sqlx::query("select * from backends where tenant_id = $1 and backend_id = $2")
        .bind(tenant.uuid())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| backend(&it)).transpose()
}
