//! FOCUS, the FinOps Open Cost and Usage Specification, 1.2 and 1.4.
//!
//! A row is one day of one sub-account (the MCP server), user, model, price and token
//! class. Its unit price in the tenant's currency has 18 decimals, and its cost is that
//! times its quantity, exactly. What the ledger has rounded call by call is then off by
//! nano-units, which one row of the category Adjustment at the end makes up for. What is
//! booked at a bound of ours and not by tokens is a row of one unit at its price.

use std::fmt::Write;

use jiff::{ToSpan, civil::Date};

use super::{Format, Month, manifest::Totals};
use crate::{
    domain::{csv, entry::EntryKind, fault::Fault, tenant::Tenant},
    store::{self, Store, focus::Group, rollups},
};

/// Groups that a day may have; each is up to six rows.
const GROUPS_MAX: i64 = 200_000;

/// Decimals of costs and unit prices in the tenant's currency and in USD.
const SCALE: usize = 18;

/// 1e-18 units in a nano-unit, and in a pico-USD.
const ATTOS_PER_NANO: i128 = 1_000_000_000;
const ATTOS_PER_PICO: i128 = 1_000_000;

/// The token classes by which a group is parted, and the fee for requests.
const CLASSES: [&str; 5] = ["input", "cache_read", "cache_write", "output", "reasoning"];

/// The columns that 1.2 and 1.4 share, in the order of writing; before them stand those
/// of providers.
const SHARED: [&str; 51] = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingAccountType",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "CommitmentDiscountStatus",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "ContractedUnitPrice",
    "EffectiveCost",
    "InvoiceId",
    "InvoiceIssuerName",
    "ListCost",
    "ListUnitPrice",
    "PricingCategory",
    "PricingCurrency",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost",
    "PricingCurrencyListUnitPrice",
    "PricingQuantity",
    "PricingUnit",
    "ServiceCategory",
    "ServiceName",
    "ServiceSubcategory",
    "SkuId",
    "SkuMeter",
    "SkuPriceDetails",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "SubAccountType",
    "Tags",
    "x_EntryKind",
    "x_Entries",
    "x_Estimated",
    "x_FxRate",
    "x_Host",
    "x_ModelId",
    "x_PrincipalId",
    "x_ProjectRoot",
    "x_TokenClass",
    "x_CorrectedMonth",
];

/// An amount of 1e-18 units as a plain decimal, such as `1200.0`.
pub fn decimal(attos: i128) -> String {
    let one = 10_u128.pow(18);
    let (whole, rest) = (attos.unsigned_abs() / one, attos.unsigned_abs() % one);
    let all = format!("{rest:0SCALE$}");
    let kept = all.trim_end_matches('0').len().max(1);
    let sign = if attos < 0 { "-" } else { "" };
    format!("{sign}{whole}.{}", all.get(..kept).unwrap_or(&all))
}

/// A price in pico-USD as 1e-18 units of the tenant's currency, the buffer on top; rounded
/// half-up once. None: out of range.
pub fn unit_price(pico: i128, usd_nanos_per_unit: i64, fx_buffer_bp: i32) -> Option<i128> {
    let numerator = pico
        .checked_mul(ATTOS_PER_PICO)?
        .checked_mul(i128::from(10_000_i64.checked_add(fx_buffer_bp.into())?))?
        .checked_mul(1_000_000_000)?;
    let denominator = i128::from(usd_nanos_per_unit.max(1)) * 10_000;
    Some(numerator.checked_add(denominator / 2)?.div_euclid(denominator))
}

/// One charge, before it is written.
struct Charge {
    class: &'static str,
    unit: &'static str,
    quantity: i64,
    /// In 1e-18 of the tenant's currency.
    price: i128,
    /// In pico-USD.
    price_pico: i128,
}

pub(super) struct Focus {
    tenant: Tenant,
    format: Format,
    month: Month,
    /// The next day; none before the heading.
    day: Option<Date>,
    /// What the rows add up to, in 1e-18.
    written: i128,
    has_adjustment: bool,
}

impl Focus {
    pub(super) fn begin(tenant: &Tenant, format: Format, month: Month) -> Self {
        let tenant = tenant.clone();
        Self { tenant, format, month, day: None, written: 0, has_adjustment: false }
    }

    pub(super) async fn next(
        &mut self,
        store: &Store,
        (totals, through): (&mut Totals, &mut i64),
    ) -> Result<Option<String>, Fault> {
        let Some(day) = self.day else {
            self.day = Some(self.month.first());
            return Ok(Some(format!("{}\r\n", columns(self.format).join(","))));
        };
        let range = |_| Fault::invalid("month", "is outside the calendar");
        let next = day.checked_add(1.day()).map_err(range)?;
        if day.month() != self.month.first().month() {
            return Ok(self.adjustment(totals));
        }
        let mut tx = store.snapshot_tx(self.tenant.id).await?;
        let wanted = (day, GROUPS_MAX + 1);
        let groups = store::focus::day(&mut tx, self.tenant.id, wanted).await?;
        *through = rollups::progress(&mut tx, self.tenant.id).await?.rolled_to;
        store::commit(tx).await?;
        if groups.len() > usize::try_from(GROUPS_MAX).unwrap_or(usize::MAX) {
            return Err(Fault::Precondition {
                reason: "EXPORT_TOO_LARGE",
                problem: format!("{day} has more than {GROUPS_MAX} groups; use the journal"),
            });
        }
        let mut out = String::new();
        for group in &groups {
            self.group(group, (day, next), (&mut out, totals))?;
        }
        self.day = Some(next);
        Ok(Some(out))
    }

    fn group(
        &mut self,
        group: &Group,
        days: (Date, Date),
        (out, totals): (&mut String, &mut Totals),
    ) -> Result<(), Fault> {
        totals.add(group.entries, group.money);
        for charge in charges(group).ok_or(Fault::Internal)? {
            let cost = charge.price.checked_mul(i128::from(charge.quantity));
            let cost = cost.ok_or(Fault::Internal)?;
            self.written = self.written.checked_add(cost).ok_or(Fault::Internal)?;
            let values = usage(group, &charge, (cost, days));
            self.row(&values, out);
            totals.rows += 1;
        }
        Ok(())
    }

    /// What makes the rows add up to the ledger, to the nano-unit.
    fn adjustment(&mut self, totals: &mut Totals) -> Option<String> {
        if std::mem::replace(&mut self.has_adjustment, true) {
            return None;
        }
        let cost = totals.cost().checked_mul(ATTOS_PER_NANO)?.checked_sub(self.written)?;
        if cost == 0 {
            return None;
        }
        totals.rows += 1;
        let next = self.day.unwrap_or(self.month.first());
        let amount = decimal(cost);
        let mut values: Values = vec![
            ("ChargeCategory", plain("Adjustment")),
            ("ChargeDescription", plain("Rounding of single calls to nano-units")),
            ("ChargeFrequency", plain("One-Time")),
            ("ChargePeriodStart", day(self.month.first())),
            ("ChargePeriodEnd", day(next)),
            ("InvoiceIssuerName", plain("Bursar")),
            ("ProviderName", plain("Bursar")),
            ("PublisherName", plain("Bursar")),
            ("ServiceProviderName", plain("Bursar")),
            ("HostProviderName", plain("Bursar")),
            ("ServiceName", plain("Bursar")),
        ];
        values.extend(COSTS.map(|it| (it, amount.clone())));
        let mut out = String::new();
        self.row(&values, &mut out);
        Some(out)
    }

    fn row(&self, values: &Values, out: &mut String) {
        let common: Values = vec![
            ("BillingAccountId", plain(&self.tenant.id.to_string())),
            ("BillingAccountName", csv::text(&self.tenant.display_name)),
            ("BillingAccountType", plain("Tenant")),
            ("BillingCurrency", plain(self.tenant.currency.code())),
            ("BillingPeriodStart", format!("{}-01T00:00:00Z", self.month)),
            ("BillingPeriodEnd", self.month.end.to_string()),
            ("ServiceCategory", plain("AI and Machine Learning")),
            ("ServiceSubcategory", plain("Generative AI")),
            ("PricingCurrency", plain("USD")),
        ];
        let of = |name: &str| values.iter().chain(&common).find(|(it, _)| *it == name);
        for (at, name) in columns(self.format).into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let value = of(name).map(|(_, it)| it.as_str()).unwrap_or_default();
            let _infallible = write!(out, "{comma}{value}");
        }
        out.push_str("\r\n");
    }
}

/// Columns and their values, which are fields already.
type Values = Vec<(&'static str, String)>;

/// The columns that are costs in the billing currency.
const COSTS: [&str; 4] = ["BilledCost", "EffectiveCost", "ListCost", "ContractedCost"];

/// The columns of a version, in order.
pub fn columns(format: Format) -> Vec<&'static str> {
    let own: [&str; 2] = match format {
        Format::Focus14 => ["HostProviderName", "ServiceProviderName"],
        Format::Focus12 | Format::Journal => ["ProviderName", "PublisherName"],
    };
    own.into_iter().chain(SHARED).collect()
}

/// A word of ours.
fn plain(it: &str) -> String {
    csv::quoted(it)
}

fn day(it: Date) -> String {
    format!("{it}T00:00:00Z")
}

/// What a group is charged for. None: a price out of range.
fn charges(group: &Group) -> Option<Vec<Charge>> {
    let total = i128::from(group.money[0]) + i128::from(group.money[1]);
    let Some((_, prices)) = group.prices.filter(|_| group.priced) else {
        let other = Charge {
            class: "other",
            unit: "Units",
            quantity: 1,
            price: total.checked_mul(ATTOS_PER_NANO)?,
            price_pico: group.pico_usd,
        };
        return Some(if total == 0 { Vec::new() } else { vec![other] });
    };
    // What dearer tiers add is in the adjustment.
    let base = prices.base;
    let of = [base.input, base.cache_read, base.cache_write, base.output, base.reasoning];
    let of = of.map(|it| i128::from(it.pico_usd()));
    let tokens = CLASSES.into_iter().zip(group.tokens).zip(of);
    let tokens = tokens.map(|((class, quantity), pico)| (class, "Tokens", quantity, pico));
    let fee = ("request", "Requests", group.entries, i128::from(prices.request));
    let all = tokens.chain((prices.request > 0).then_some(fee));
    let charge = |(class, unit, quantity, price_pico)| {
        let price = unit_price(price_pico, group.usd_nanos_per_unit, group.fx_buffer_bp)?;
        Some(Charge { class, unit, quantity, price, price_pico })
    };
    all.filter(|(_, _, quantity, _)| *quantity != 0).map(charge).collect()
}

fn usage(group: &Group, charge: &Charge, (cost, days): (i128, (Date, Date))) -> Values {
    let Charge { class, unit, quantity, price, price_pico } = charge;
    let version = group.prices.map_or_else(|| "none".to_owned(), |(it, _)| it.to_string());
    let model = group.model.map_or_else(|| "own".to_owned(), |it| it.to_string());
    let provider = if group.backend_name.is_empty() {
        format!("host {}", group.host_name)
    } else {
        group.backend_name.clone()
    };
    let name = if group.alias.is_empty() { "The host's own model" } else { &group.alias };
    let is_correction = group.corrected_month.is_some();
    let usd = |pico: i128| decimal(pico.saturating_mul(ATTOS_PER_PICO));
    let mut values: Values = vec![
        ("ChargeCategory", plain("Usage")),
        ("ChargeDescription", csv::text(&describe(group, class))),
        ("ChargeFrequency", plain("Usage-Based")),
        ("ChargePeriodStart", day(days.0)),
        ("ChargePeriodEnd", day(days.1)),
        ("ConsumedQuantity", format!("{quantity}.0")),
        ("ConsumedUnit", plain(unit)),
        ("PricingQuantity", format!("{quantity}.0")),
        ("PricingUnit", plain(unit)),
        ("PricingCategory", plain("Standard")),
        ("ListUnitPrice", decimal(*price)),
        ("ContractedUnitPrice", decimal(*price)),
        ("PricingCurrencyListUnitPrice", usd(*price_pico)),
        ("PricingCurrencyContractedUnitPrice", usd(*price_pico)),
        ("PricingCurrencyEffectiveCost", usd(price_pico.saturating_mul(i128::from(*quantity)))),
        ("SkuId", format!("{model}/{class}")),
        ("SkuMeter", format!("{class} {}", unit.to_lowercase())),
        ("SkuPriceId", format!("{version}/{class}/{}/{}", group.fx_rate, group.fx_buffer_bp)),
        ("SkuPriceDetails", plain(&serde_json::json!({ "x_TokenClass": class }).to_string())),
        ("SubAccountId", plain(&group.server.to_string())),
        ("SubAccountName", csv::text(&group.server_name)),
        ("SubAccountType", plain("MCP server")),
        ("Tags", plain(&tags(group))),
        ("ServiceName", csv::text(name)),
        ("x_EntryKind", plain(kind(group.kind))),
        ("x_Entries", group.entries.to_string()),
        ("x_Estimated", group.estimated.to_string()),
        ("x_FxRate", group.fx_rate.to_string()),
        ("x_Host", csv::text(&group.host_name)),
        ("x_ModelId", csv::text(&group.vendor_model)),
        ("x_PrincipalId", csv::text(&group.user_name)),
        ("x_ProjectRoot", csv::text(&group.root)),
        ("x_TokenClass", plain(class)),
    ];
    for name in ["InvoiceIssuerName", "ProviderName", "PublisherName"] {
        values.push((name, csv::text(&provider)));
    }
    for name in ["HostProviderName", "ServiceProviderName"] {
        values.push((name, csv::text(&provider)));
    }
    values.extend(COSTS.map(|it| (it, decimal(cost))));
    if let Some(month) = group.corrected_month.filter(|_| is_correction) {
        let month = format!("{:04}-{:02}", month.year(), month.month());
        // Within one month nothing was invoiced that could be corrected.
        if !day(days.0).starts_with(&month) {
            values.push(("ChargeClass", plain("Correction")));
        }
        values.push(("x_CorrectedMonth", month));
    }
    values
}

fn describe(group: &Group, class: &str) -> String {
    let name = if group.alias.is_empty() { "the host's own model" } else { &group.alias };
    match class {
        "other" => format!("{name}: {} not counted by tokens", kind(group.kind)),
        "request" => format!("{name}: requests"),
        class => format!("{name}: {} tokens", class.replace('_', " ")),
    }
}

const fn kind(it: EntryKind) -> &'static str {
    match it {
        EntryKind::Settle => "settle",
        EntryKind::Void => "void",
        EntryKind::Expire => "expire",
        EntryKind::LateSettle => "late_settle",
        EntryKind::Correction => "correction",
    }
}

/// A JSON object of scalars.
fn tags(group: &Group) -> String {
    let said = [("user", &group.user_name), ("host", &group.host_name), ("root", &group.root)];
    let said = said.into_iter().filter(|(_, it)| !it.is_empty());
    let said = said.map(|(name, it)| (name.to_owned(), serde_json::Value::from(it.as_str())));
    serde_json::Value::Object(said.collect()).to_string()
}
