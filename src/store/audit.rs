//! Rows of `audit_entries`: added in the transaction of the change, and read.

use std::net::IpAddr;

use sqlx::{AssertSqlSafe, PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    audit::{AuditEntry, AuditFilter, Subject},
    ids::{AuditId, CredentialId, TenantId},
};

/// A change about to be committed.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) id: AuditId,
    pub(crate) by: CredentialId,
    pub(crate) from: Option<IpAddr>,
    pub(crate) method: &'static str,
    pub(crate) subject: Subject,
    pub(crate) old: Option<&'a str>,
    pub(crate) new: Option<&'a str>,
}

/// The row of a subject as it stands, as JSON. Digests and sealed bytes, and what people
/// are called outside, are masked.
pub(crate) async fn look(
    connection: &mut PgConnection,
    tenant: TenantId,
    subject: Subject,
) -> Result<Option<String>, Error> {
    let (table, column) = place(subject);
    let statement = AssertSqlSafe(format!(
        "select (select jsonb_object_agg(key, case
                when left(value #>> '{{}}', 2) = '\\x' or key = 'external_id' then '\"***\"'
                else value end)::text
            from jsonb_each(to_jsonb(t) - 'tenant_id'))
         from {table} t where t.tenant_id = $1 and t.{column} = $2"
    ));
    let row: Option<String> = sqlx::query_scalar(statement)
        .bind(tenant.uuid())
        .bind(subject.id())
        .fetch_optional(connection)
        .await?;
    Ok(row)
}

/// Where a subject's row is, and the column of its id.
const fn place(subject: Subject) -> (&'static str, &'static str) {
    match subject {
        Subject::Tenant(_) => ("tenants", "tenant_id"),
        Subject::Credential(_) => ("credentials", "credential_id"),
        Subject::User(_) => ("users", "user_id"),
        Subject::Server(_) => ("servers", "server_id"),
        Subject::Grant(_) => ("grants", "grant_id"),
        Subject::Budget(_) => ("budgets", "budget_id"),
        Subject::Backend(_) => ("backends", "backend_id"),
        Subject::Model(_) => (include_str!("sql/audited_model.sql"), "model_id"),
        Subject::FxRate(_) => ("fx_rates", "fx_rate_id"),
        Subject::Stop(_) => ("stops", "stop_id"),
    }
}

/// Adds a change.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Change<'_>,
) -> Result<(), Error> {
    sqlx::query(
        "insert into audit_entries (tenant_id, audit_id, credential_id, peer, method, subject,
            subject_id, old, new)
         values ($1, $2, $3, $4::text::inet, $5, $6, $7, $8::text::jsonb, $9::text::jsonb)",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(it.by.uuid())
    .bind(it.from.map(|it| it.to_string()))
    .bind(it.method)
    .bind(it.subject.word())
    .bind(it.subject.id())
    .bind(it.old)
    .bind(it.new)
    .execute(connection)
    .await?;
    Ok(())
}

/// Changes before `before`, newest first.
pub(crate) async fn list(
    connection: &mut PgConnection,
    tenant: TenantId,
    filter: &AuditFilter,
    (before, most): (Option<Uuid>, i64),
) -> Result<Vec<AuditEntry>, Error> {
    let rows = sqlx::query(include_str!("sql/audit_page.sql"))
        .bind(tenant.uuid())
        .bind(before)
        .bind(most)
        .bind(filter.subject.map(Subject::id))
        .bind(filter.credential.map(CredentialId::uuid))
        .bind(filter.method.as_deref())
        .bind(filter.from.map(Instant))
        .bind(filter.until.map(Instant))
        .fetch_all(connection)
        .await?;
    rows.iter().map(entry).collect()
}

fn entry(row: &PgRow) -> Result<AuditEntry, Error> {
    let subject = Subject::of(row.try_get("subject")?, row.try_get("subject_id")?);
    let peer: Option<&str> = row.try_get("peer")?;
    let peer = peer.map(str::parse).transpose();
    Ok(AuditEntry {
        id: row.try_get::<Uuid, _>("audit_id")?.into(),
        at: row.try_get::<Instant, _>("at")?.0,
        credential: row.try_get::<Uuid, _>("credential_id")?.into(),
        credential_name: row.try_get("credential_name")?,
        peer: peer.map_err(|_| Error::Unreadable("audit_entries.peer"))?,
        method: row.try_get("method")?,
        subject: subject.ok_or(Error::Unreadable("audit_entries.subject"))?,
        old: row.try_get("old")?,
        new: row.try_get("new")?,
    })
}
