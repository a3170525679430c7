//! Rows of tenants, hosts, users, servers and credentials.

use std::collections::HashMap;

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    credential::{Credential, Role},
    ids::{HostId, ServerId, TenantId, UserId},
    money::Currency,
    tenant::Tenant,
};

/// Whoever bears the credential with this digest, unless it was revoked or has expired.
pub(crate) async fn bearer(
    connection: &mut PgConnection,
    id: TenantId,
    digest: &[u8; 32],
) -> Result<Option<(Tenant, Credential)>, Error> {
    let row = sqlx::query(
        "select c.*, h.display_name as host_name, t.display_name as tenant_name, t.currency
         from credentials c join tenants t on t.tenant_id = c.tenant_id
         left join hosts h on h.tenant_id = c.tenant_id and h.host_id = c.host_id
         where c.tenant_id = $1 and c.digest = $2 and c.revoked_at is null
             and (c.expires_at is null or now() < c.expires_at)",
    )
    .bind(id.uuid())
    .bind(digest.as_slice())
    .fetch_optional(connection)
    .await?;
    let both = |it: &PgRow| Ok((tenant_row(it, id, "tenant_name")?, credential(it)?));
    row.map(|it| both(&it)).transpose()
}

/// Credentials after `after`, by id.
pub(crate) async fn credentials(
    connection: &mut PgConnection,
    tenant: TenantId,
    after: Option<Uuid>,
    most: i64,
) -> Result<Vec<Credential>, Error> {
    let rows = sqlx::query(
        "select c.*, h.display_name as host_name
         from credentials c left join hosts h on h.tenant_id = c.tenant_id and h.host_id = c.host_id
         where c.tenant_id = $1 and ($2::uuid is null or c.credential_id > $2)
         order by c.credential_id limit $3",
    )
    .bind(tenant.uuid())
    .bind(after)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.iter().map(credential).collect()
}

/// A credential, whether it is accepted or not.
pub(crate) async fn credential_by_id(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Credential>, Error> {
    let row = sqlx::query(
        "select c.*, h.display_name as host_name
         from credentials c left join hosts h on h.tenant_id = c.tenant_id and h.host_id = c.host_id
         where c.tenant_id = $1 and c.credential_id = $2",
    )
    .bind(tenant.uuid())
    .bind(id)
    .fetch_optional(connection)
    .await?;
    row.map(|it| credential(&it)).transpose()
}

/// Adds a credential, of which only the digest is kept.
pub(crate) async fn add_credential(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Credential,
    digest: &[u8; 32],
) -> Result<(), Error> {
    sqlx::query(
        "insert into credentials (tenant_id, credential_id, digest, display_name, role, host_id, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(digest.as_slice())
    .bind(&it.display_name)
    .bind(it.role.word())
    .bind(it.host.as_ref().map(|(id, _)| id.uuid()))
    .bind(it.expires_at.map(Instant))
    .execute(connection)
    .await?;
    Ok(())
}

/// Revokes a credential, once, and returns it.
pub(crate) async fn revoke_credential(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Credential>, Error> {
    let row = sqlx::query(
        "update credentials c set revoked_at = coalesce(c.revoked_at, now())
         where c.tenant_id = $1 and c.credential_id = $2
         returning c.*, (select h.display_name from hosts h
             where h.tenant_id = c.tenant_id and h.host_id = c.host_id) as host_name",
    )
    .bind(tenant.uuid())
    .bind(id)
    .fetch_optional(connection)
    .await?;
    row.map(|it| credential(&it)).transpose()
}

fn credential(row: &PgRow) -> Result<Credential, Error> {
    let instant = |name: &str| -> Result<_, Error> {
        Ok(row.try_get::<Option<Instant>, _>(name)?.map(|it| it.0))
    };
    let host: Option<Uuid> = row.try_get("host_id")?;
    let host_name: Option<String> = row.try_get("host_name")?;
    Ok(Credential {
        id: row.try_get::<Uuid, _>("credential_id")?.into(),
        display_name: row.try_get("display_name")?,
        role: Role::from_word(row.try_get("role")?).ok_or(Error::Unreadable("credentials.role"))?,
        host: host.map(HostId::from).zip(host_name),
        created_at: row.try_get::<Instant, _>("created_at")?.0,
        expires_at: instant("expires_at")?,
        revoked_at: instant("revoked_at")?,
    })
}

/// A tenant.
pub(crate) async fn tenant(
    connection: &mut PgConnection,
    id: TenantId,
) -> Result<Option<Tenant>, Error> {
    let row = sqlx::query("select display_name, currency from tenants where tenant_id = $1")
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| tenant_row(&it, id, "display_name")).transpose()
}

fn tenant_row(row: &PgRow, id: TenantId, name: &str) -> Result<Tenant, Error> {
    let currency: &str = row.try_get("currency")?;
    let currency: Currency = currency.parse().map_err(|_| Error::Unreadable("tenants.currency"))?;
    Ok(Tenant { id, display_name: row.try_get(name)?, currency })
}

/// Adds a tenant.
pub(crate) async fn add_tenant(connection: &mut PgConnection, it: &Tenant) -> Result<(), Error> {
    sqlx::query("insert into tenants (tenant_id, display_name, currency) values ($1, $2, $3)")
        .bind(it.id.uuid())
        .bind(&it.display_name)
        .bind(it.currency.code())
        .execute(connection)
        .await?;
    Ok(())
}

/// The ids of all tenants, for duties and verification.
pub(crate) async fn all_tenants(store: &super::Store) -> Result<Vec<TenantId>, Error> {
    let ids: Vec<Uuid> = sqlx::query_scalar("select tenant_id from tenants order by tenant_id")
        .fetch_all(store.duties())
        .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// The host of this name, made with the id `fresh` when there is none.
pub(crate) async fn ensure_host(
    connection: &mut PgConnection,
    tenant: TenantId,
    (fresh, name): (HostId, &str),
) -> Result<HostId, Error> {
    sqlx::query(
        "insert into hosts (tenant_id, host_id, display_name) values ($1, $2, $3)
         on conflict (tenant_id, display_name) do nothing",
    )
    .bind(tenant.uuid())
    .bind(fresh.uuid())
    .bind(name)
    .execute(&mut *connection)
    .await?;
    host(connection, tenant, name).await?.ok_or(Error::Unreadable("hosts"))
}

/// The host of this name, if there is one.
pub(crate) async fn host(
    connection: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<Option<HostId>, Error> {
    let id: Option<Uuid> =
        sqlx::query_scalar("select host_id from hosts where tenant_id = $1 and display_name = $2")
            .bind(tenant.uuid())
            .bind(name)
            .fetch_optional(connection)
            .await?;
    Ok(id.map(Into::into))
}

/// The names of these hosts.
pub(crate) async fn host_names(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[HostId],
) -> Result<HashMap<HostId, String>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let statement =
        "select host_id, display_name from hosts where tenant_id = $1 and host_id = any ($2)";
    let rows: Vec<(Uuid, String)> =
        sqlx::query_as(statement).bind(tenant.uuid()).bind(ids).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, name)| (id.into(), name)).collect())
}

/// A table of ids that hosts assert.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Directory {
    /// People.
    Users,
    /// MCP servers.
    Servers,
}

/// Adds a user or a server.
pub(crate) async fn add_external(
    connection: &mut PgConnection,
    directory: Directory,
    tenant: TenantId,
    (id, external): (Uuid, &str),
) -> Result<(), Error> {
    let statement = match directory {
        Directory::Users => {
            "insert into users (tenant_id, user_id, external_id) values ($1, $2, $3)"
        }
        Directory::Servers => {
            "insert into servers (tenant_id, server_id, external_id) values ($1, $2, $3)"
        }
    };
    sqlx::query(statement).bind(tenant.uuid()).bind(id).bind(external).execute(connection).await?;
    Ok(())
}

/// Users or servers after `after`, by id: our id and the one that hosts assert.
pub(crate) async fn externals(
    connection: &mut PgConnection,
    directory: Directory,
    tenant: TenantId,
    (after, most): (Option<Uuid>, i64),
) -> Result<Vec<(Uuid, String)>, Error> {
    let statement = match directory {
        Directory::Users => {
            "select user_id, external_id from users
             where tenant_id = $1 and ($2::uuid is null or user_id > $2) order by user_id limit $3"
        }
        Directory::Servers => {
            "select server_id, external_id from servers
             where tenant_id = $1 and ($2::uuid is null or server_id > $2) order by server_id limit $3"
        }
    };
    Ok(sqlx::query_as(statement)
        .bind(tenant.uuid())
        .bind(after)
        .bind(most)
        .fetch_all(connection)
        .await?)
}

/// The user that hosts call `external`.
pub(crate) async fn user(
    connection: &mut PgConnection,
    tenant: TenantId,
    external: &str,
) -> Result<Option<UserId>, Error> {
    let id: Option<Uuid> =
        sqlx::query_scalar("select user_id from users where tenant_id = $1 and external_id = $2")
            .bind(tenant.uuid())
            .bind(external)
            .fetch_optional(connection)
            .await?;
    Ok(id.map(Into::into))
}

/// The server that hosts call `external`.
pub(crate) async fn server(
    connection: &mut PgConnection,
    tenant: TenantId,
    external: &str,
) -> Result<Option<ServerId>, Error> {
    let id: Option<Uuid> = sqlx::query_scalar(
        "select server_id from servers where tenant_id = $1 and external_id = $2",
    )
    .bind(tenant.uuid())
    .bind(external)
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// What hosts call these users.
pub(crate) async fn user_names(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[UserId],
) -> Result<HashMap<UserId, String>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let statement =
        "select user_id, external_id from users where tenant_id = $1 and user_id = any ($2)";
    let rows: Vec<(Uuid, String)> =
        sqlx::query_as(statement).bind(tenant.uuid()).bind(ids).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, name)| (id.into(), name)).collect())
}

/// What hosts call these servers.
pub(crate) async fn server_names(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[ServerId],
) -> Result<HashMap<ServerId, String>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let statement =
        "select server_id, external_id from servers where tenant_id = $1 and server_id = any ($2)";
    let rows: Vec<(Uuid, String)> =
        sqlx::query_as(statement).bind(tenant.uuid()).bind(ids).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, name)| (id.into(), name)).collect())
}
