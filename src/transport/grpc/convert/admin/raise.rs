//! Raises of budgets.

use std::time::Duration;

use super::budget::{CALLS_MAX, SECONDS_MAX, SECONDS_MIN};
use crate::{
    domain::{draft::BudgetRaise, envelope::TOKENS_MAX, fault::Fault, money::Currency},
    proto,
    transport::grpc::convert::{
        field::{count, id, within},
        money,
    },
};

/// Reads a raise.
pub fn budget_raise(
    it: &proto::RaiseBudgetRequest,
    currency: Currency,
) -> Result<BudgetRaise, Fault> {
    let calls = it.calls.map(|it| within("calls", it, 1..=CALLS_MAX)).transpose()?;
    let tokens = it.tokens.map(|it| within("tokens", it, 1..=TOKENS_MAX)).transpose()?;
    let money = it.money.as_ref().map(|it| money::positive("money", it, currency)).transpose()?;
    if calls.or(tokens).is_none() && money.is_none() {
        return Err(Fault::invalid("calls", "is required, or money or tokens is"));
    }
    let seconds = count("seconds", it.seconds, SECONDS_MIN..=SECONDS_MAX)?;
    let reason = id("reason", &it.reason)?;
    Ok(BudgetRaise { calls, money, tokens, reason, time: Duration::from_secs(seconds) })
}
