//! Operators' allowances.

use crate::{
    domain::{
        draft::{self, Scope},
        envelope::TOKENS_MAX,
        fault::Fault,
        money::Currency,
        period::{self, Period},
    },
    proto,
    transport::grpc::convert::{
        field::{At, label, optional, within, wrong},
        money,
        request::project_root,
    },
};

/// More than a tenant makes in a lifetime.
pub(super) const CALLS_MAX: i64 = 1_000_000_000_000;

/// How long a budget may be raised: from a minute to a week.
pub(super) const SECONDS_MIN: i64 = 60;
pub(super) const SECONDS_MAX: i64 = 7 * 24 * 3_600;

const ZONE_BYTES_MAX: usize = 64;

/// Reads a budget; what is for output only is ignored.
pub fn budget(it: Option<&proto::Budget>, currency: Currency) -> Result<draft::Budget, Fault> {
    let it = it.ok_or_else(|| Fault::invalid("budget", "is required"))?;
    read(it, currency).at("budget")
}

fn read(it: &proto::Budget, currency: Currency) -> Result<draft::Budget, Fault> {
    let (calls, tokens, concurrent_calls) = amounts(it)?;
    let money = it.money.as_ref().map(|it| money::positive("money", it, currency)).transpose()?;
    if calls.or(tokens).or(concurrent_calls).is_none() && money.is_none() {
        return Err(wrong("needs at least one of calls, money, tokens and concurrent_calls"));
    }
    Ok(draft::Budget {
        display_name: label("display_name", &it.display_name)?.unwrap_or_default(),
        scope: scope(it)?,
        period: period(it.period)?,
        time_zone: time_zone(&it.time_zone)?,
        calls,
        money,
        tokens,
        concurrent_calls,
        server_share_percent: share(it)?,
        observe_only: it.observe_only,
    })
}

/// Calls, tokens and calls at once.
type Counts = (Option<i64>, Option<i64>, Option<i64>);

pub(super) fn amounts(it: &proto::Budget) -> Result<Counts, Fault> {
    let number = |field: &'static str, value: Option<i64>, max| {
        value.map(|it| within(field, it, 1..=max)).transpose()
    };
    Ok((
        number("calls", it.calls, CALLS_MAX)?,
        number("tokens", it.tokens, TOKENS_MAX)?,
        number("concurrent_calls", it.concurrent_calls, CALLS_MAX)?,
    ))
}

fn scope(it: &proto::Budget) -> Result<Scope, Fault> {
    Ok(Scope {
        user: label("user", &it.user)?,
        server: label("server", &it.server)?,
        host: label("host", &it.host)?,
        root: project_root("root", &it.root)?,
    })
}

/// One server's part of the budget.
pub(super) fn share(it: &proto::Budget) -> Result<Option<u8>, Fault> {
    let field = "server_share_percent";
    let wrong = |problem: &str| Fault::invalid(field, problem);
    let percent = u8::try_from(it.server_share_percent).ok().filter(|it| *it < 100);
    let percent = percent.ok_or_else(|| wrong("must be from 1 to 99, or 0 for all of it"))?;
    if percent > 0 && !it.server.is_empty() {
        return Err(wrong("a budget of one server has nobody to share it with"));
    }
    Ok(Some(percent).filter(|it| *it > 0))
}

fn period(number: i32) -> Result<Period, Fault> {
    match proto::Period::try_from(number) {
        Ok(proto::Period::Minute) => Ok(Period::Minute),
        Ok(proto::Period::Hour) => Ok(Period::Hour),
        Ok(proto::Period::Day) => Ok(Period::Day),
        Ok(proto::Period::Week) => Ok(Period::Week),
        Ok(proto::Period::Month) => Ok(Period::Month),
        Ok(proto::Period::Quarter) => Ok(Period::Quarter),
        Ok(proto::Period::Year) => Ok(Period::Year),
        Ok(proto::Period::Lifetime) => Ok(Period::Lifetime),
        Ok(proto::Period::Unspecified) | Err(_) => Err(Fault::invalid(
            "period",
            "must be PERIOD_MINUTE, _HOUR, _DAY, _WEEK, _MONTH, _QUARTER, _YEAR or _LIFETIME",
        )),
    }
}

/// The zone's IANA name in its own spelling.
fn time_zone(text: &str) -> Result<String, Fault> {
    let name = optional("time_zone", text, ZONE_BYTES_MAX)?.unwrap_or_default();
    let zone = period::time_zone(&name);
    let zone = zone.map_err(|it| Fault::invalid("time_zone", it.to_string()))?;
    let known = zone.iana_name().filter(|_| !zone.is_unknown());
    let problem = period::NoWindow::TimeZone.to_string();
    known.map(ToOwned::to_owned).ok_or_else(|| Fault::invalid("time_zone", problem))
}
