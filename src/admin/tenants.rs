//! Organisations, and the key that makes them.

use jiff::tz::TimeZone;

use super::{Desk, access::fresh, audit::Trail};
use crate::{
    clock::Clock,
    domain::{
        audit::Subject,
        credential::Role,
        fault::Fault,
        ids::TenantId,
        money::{Currency, NANOS_PER_UNIT},
        tenant::Tenant,
    },
    identity::{Key, PlatformCaller, issue},
    store::{
        self, Store, Tx,
        catalogue::{self, FxRate},
        identity,
    },
};

/// Makes a tenant and its first operator key, which is returned this once.
///
/// Provider prices are in USD: a tenant that pays in USD gets the rate 1, any other
/// has none, and no call is made for it before an operator has set one.
pub async fn create_tenant(
    desk: Desk<'_>,
    right: PlatformCaller,
    (display_name, currency): (String, Currency),
) -> Result<(Tenant, Key), Fault> {
    let tenant = Tenant { id: desk.clock.id(), display_name, currency };
    let mut tx = desk.store.report_tx(tenant.id).await?;
    identity::add_tenant(&mut tx, &tenant).await?;
    if currency == Currency::USD {
        let rate = FxRate {
            id: desk.clock.id(),
            usd_nanos_per_unit: NANOS_PER_UNIT.unsigned_abs(),
            fixing_date: desk.clock.now().to_zoned(TimeZone::UTC).date(),
        };
        catalogue::add_fx_rate(&mut tx, tenant.id, &rate).await?;
    }
    let first = fresh(desk.clock, Role::Operator, "first operator");
    let key = issue(&mut tx, tenant.id, &first).await?;
    for subject in [Subject::Tenant(tenant.id), Subject::Credential(first.id)] {
        let trail = Trail::fresh((tenant.id, right.actor), "CreateTenant", subject);
        trail.end(&mut tx, desk).await?;
    }
    store::commit(tx).await?;
    Ok((tenant, key))
}

/// A fresh key of the role platform, for whoever runs the service. No rpc makes one.
pub async fn platform_key(store: &Store, clock: &Clock) -> Result<Key, Fault> {
    let id = TenantId::PLATFORM;
    let mut tx = store.report_tx(id).await?;
    ensure_platform(&mut tx).await?;
    let key = issue(&mut tx, id, &fresh(clock, Role::Platform, "platform")).await?;
    store::commit(tx).await?;
    Ok(key)
}

/// Makes the tenant of the platform where there is none.
pub(super) async fn ensure_platform(tx: &mut Tx) -> Result<(), Fault> {
    let id = TenantId::PLATFORM;
    if identity::tenant(tx, id).await?.is_none() {
        let platform = Tenant { id, display_name: "Platform".to_owned(), currency: Currency::USD };
        identity::add_tenant(tx, &platform).await?;
    }
    Ok(())
}
