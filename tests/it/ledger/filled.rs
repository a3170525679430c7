//! A ledger with thousands of entries over three months, written behind the budget
//! engine's back but as it would.

use bursar::domain::ids::TenantId;
use sqlx::PgConnection;

use crate::world::World;

pub(crate) const BATCHES: i32 = 900;

/// Fills the demonstration's tenant.
pub(crate) async fn fill(world: &World, batches: i32) -> TenantId {
    let tenant = world.demo().await.tenant;
    let mut sql = world.superuser().await;
    sqlx::query(include_str!("fill.sql"))
        .bind(tenant.uuid())
        .bind(batches)
        .execute(&mut sql)
        .await
        .unwrap();
    let last = "insert into batches (tenant_id, last_no) values ($1, $2)";
    sqlx::query(last).bind(tenant.uuid()).bind(i64::from(batches)).execute(&mut sql).await.unwrap();
    tenant
}

/// One number of the entries.
pub(crate) async fn number(sql: &mut PgConnection, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(sql).await.unwrap()
}
