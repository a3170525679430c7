//! The shapes of load.

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
}

const HOT: Case =
    Case { name: "hot", callers: 64, tenants: 1, envelopes: 1, tenant_limit: true, engines: 1 };

pub(crate) const CASES: [Case; 7] = [
    HOT,
    Case { name: "hot256", callers: 256, ..HOT },
    Case { name: "spread", envelopes: 10_000, ..HOT },
    Case { name: "spread_no_tenant_limit", envelopes: 10_000, tenant_limit: false, ..HOT },
    Case { name: "tenants", tenants: 1_000, ..HOT },
    Case { name: "two_replicas", engines: 2, ..HOT },
    Case { name: "single", callers: 1, ..HOT },
];
