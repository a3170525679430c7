//! The shapes of load.

use bursar::config::LaneTenants;

/// Who calls, and on what.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Callers that hold and settle one after the other, at once.
    pub(crate) callers: usize,
    /// Tenants, and envelopes of each.
    pub(crate) tenants: usize,
    pub(crate) envelopes: usize,
    /// Whether the tenant as a whole has a limit too.
    pub(crate) tenant_limit: bool,
    /// Engines that work on the same database.
    pub(crate) engines: usize,
    /// Whether one transaction of a lane may write for several tenants.
    pub(crate) lane_tenants: LaneTenants,
}

const HOT: Case = Case {
    name: "hot",
    callers: 64,
    tenants: 1,
    envelopes: 1,
    tenant_limit: true,
    engines: 1,
    lane_tenants: LaneTenants::Many,
};

const TENANTS: Case = Case { name: "tenants", tenants: 1_000, ..HOT };

pub(crate) const CASES: [Case; 8] = [
    HOT,
    Case { name: "hot256", callers: 256, ..HOT },
    Case { name: "spread", envelopes: 10_000, ..HOT },
    Case { name: "spread_no_tenant_limit", envelopes: 10_000, tenant_limit: false, ..HOT },
    TENANTS,
    Case { name: "tenants_one_each", lane_tenants: LaneTenants::One, ..TENANTS },
    Case { name: "two_replicas", engines: 2, ..HOT },
    Case { name: "single", callers: 1, ..HOT },
];
