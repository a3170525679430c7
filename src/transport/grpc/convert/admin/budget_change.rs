//! Changes of budgets: which fields, and to what.

use super::budget::{amounts, share};
use crate::{
    domain::{draft::BudgetChange, fault::Fault, money::Currency},
    proto,
    transport::grpc::convert::{
        field::{At, label},
        money,
    },
};

/// The fields that may change.
const FIELDS: [&str; 7] = [
    "display_name",
    "calls",
    "money",
    "tokens",
    "concurrent_calls",
    "server_share_percent",
    "observe_only",
];

/// Reads a change. Without a mask, or with `*`, every field that may change does.
pub fn budget_change(
    it: &proto::UpdateBudgetRequest,
    currency: Currency,
) -> Result<BudgetChange, Fault> {
    let budget = it.budget.as_ref().ok_or_else(|| Fault::invalid("budget", "is required"))?;
    let paths = it.update_mask.as_ref().map(|it| it.paths.as_slice()).unwrap_or_default();
    let is_all = paths.is_empty() || paths == ["*"];
    let unknown = |it: &&String| !is_all && !FIELDS.contains(&it.as_str());
    if paths.iter().any(|it| unknown(&it)) {
        let problem = format!("may name {}; anything else cannot be changed", FIELDS.join(", "));
        return Err(Fault::invalid("update_mask", problem));
    }
    let named = |field: &str| is_all || paths.iter().any(|it| it == field);
    read(budget, named, currency)
        .at("budget")
        .map(|change| BudgetChange { validate_only: it.validate_only, ..change })
}

fn read(
    it: &proto::Budget,
    named: impl Fn(&str) -> bool,
    currency: Currency,
) -> Result<BudgetChange, Fault> {
    let (calls, tokens, concurrent_calls) = amounts(it)?;
    let money = it.money.as_ref().map(|it| money::positive("money", it, currency)).transpose()?;
    let display_name = label("display_name", &it.display_name)?.unwrap_or_default();
    let share = share(it)?;
    Ok(BudgetChange {
        etag: Some(it.etag.clone()).filter(|it| !it.is_empty()),
        display_name: named("display_name").then_some(display_name),
        calls: named("calls").then_some(calls),
        money: named("money").then_some(money),
        tokens: named("tokens").then_some(tokens),
        concurrent_calls: named("concurrent_calls").then_some(concurrent_calls),
        server_share_percent: named("server_share_percent").then_some(share),
        observe_only: named("observe_only").then_some(it.observe_only),
        validate_only: false,
    })
}
