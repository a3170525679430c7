//! Rows of project roots, by the URI that hosts name them by.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use super::Error;
use crate::domain::ids::{RootId, TenantId};

/// The root of this URI, made with the id `fresh` when there is none.
pub(crate) async fn ensure(
    connection: &mut PgConnection,
    tenant: TenantId,
    (fresh, uri): (RootId, &str),
) -> Result<RootId, Error> {
    if let Some(known) = find(connection, tenant, uri).await? {
        return Ok(known);
    }
    sqlx::query(
        "insert into roots (tenant_id, root_id, uri) values ($1, $2, $3)
         on conflict (tenant_id, uri) do nothing",
    )
    .bind(tenant.uuid())
    .bind(fresh.uuid())
    .bind(uri)
    .execute(&mut *connection)
    .await?;
    // Somebody else may have made it meanwhile.
    find(connection, tenant, uri).await?.ok_or(Error::Unreadable("roots"))
}

async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    uri: &str,
) -> Result<Option<RootId>, Error> {
    let id: Option<Uuid> =
        sqlx::query_scalar("select root_id from roots where tenant_id = $1 and uri = $2")
            .bind(tenant.uuid())
            .bind(uri)
            .fetch_optional(connection)
            .await?;
    Ok(id.map(Into::into))
}

/// The URIs of these roots.
pub(crate) async fn uris(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[RootId],
) -> Result<HashMap<RootId, String>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let rows: Vec<(Uuid, String)> = sqlx::query_as(
        "select root_id, uri from roots where tenant_id = $1 and root_id = any ($2)",
    )
    .bind(tenant.uuid())
    .bind(ids)
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|(id, uri)| (id.into(), uri)).collect())
}
