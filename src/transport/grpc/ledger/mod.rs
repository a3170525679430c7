//! `LedgerService`.

pub mod finance;
mod report;

use tonic::{Request, Response, Status, async_trait};

use super::{
    auth::right,
    convert::{envelope, label, money, name, page},
    pages,
    state::Services,
};
use crate::{
    domain::{
        entry::{EntryKind, postings},
        fault::Fault,
        ids::{CallId, EntryId, EnvelopeId},
        money::{Amount, Currency},
        period::to_the_second,
    },
    identity::FinanceCaller,
    ledger::{self, Entry, Reader, Wanted, export::Month},
    proto::{self, ledger_service_server::LedgerService},
};

/// Pico-USD in a nano-USD.
const PICOS_PER_NANO: i128 = 1_000;

/// The service.
#[derive(Clone)]
pub struct Ledger {
    services: Services,
}

impl Ledger {
    /// On these.
    pub const fn new(services: Services) -> Self {
        Self { services }
    }
}

#[async_trait]
impl LedgerService for Ledger {
    async fn list_entries(
        &self,
        request: Request<proto::ListEntriesRequest>,
    ) -> Result<Response<proto::ListEntriesResponse>, Status> {
        let reader: Reader = right(&self.services, request.metadata()).await?;
        let it = request.into_inner();
        let page = page::page(it.page_size, &it.page_token)?;
        let entries = match wanted(&it, &reader)? {
            Some(wanted) => {
                let slice = pages::slice(page);
                ledger::entries(&self.services.store, &reader, &wanted, slice).await?
            }
            None => Vec::new(),
        };
        let (entries, next_page_token) = pages::cut(entries, page, |it| it.id.uuid());
        let entries = entries.iter().map(|it| to_wire(it, &reader)).collect();
        Ok(Response::new(proto::ListEntriesResponse { entries, next_page_token }))
    }

    async fn verify_ledger(
        &self,
        request: Request<proto::VerifyLedgerRequest>,
    ) -> Result<Response<proto::VerifyLedgerResponse>, Status> {
        let FinanceCaller { tenant } = right(&self.services, request.metadata()).await?;
        let verified = ledger::verify(&self.services.store, tenant.id).await?;
        let ok = verified.is_ok();
        let ledger::Verification { entries, problems } = verified;
        Ok(Response::new(proto::VerifyLedgerResponse { ok, entries, problems }))
    }

    async fn report_entries(
        &self,
        request: Request<proto::ReportEntriesRequest>,
    ) -> Result<Response<proto::ReportEntriesResponse>, Status> {
        let FinanceCaller { tenant } = right(&self.services, request.metadata()).await?;
        let now = self.services.clock.now();
        let Some(asked) = report::asked(request.get_ref(), tenant.id, now)? else {
            return Ok(Response::new(proto::ReportEntriesResponse::default()));
        };
        let slice = (asked.after, asked.size.saturating_add(1));
        let store = &self.services.store;
        let found = ledger::report::report(store, tenant.id, &asked.wanted, slice).await?;
        Ok(Response::new(report::to_wire(found, &asked, &tenant)))
    }

    type ExportLedgerStream = finance::Pieces;

    async fn export_ledger(
        &self,
        request: Request<proto::ExportLedgerRequest>,
    ) -> Result<Response<finance::Pieces>, Status> {
        let FinanceCaller { tenant } = right(&self.services, request.metadata()).await?;
        let pieces = finance::export(&self.services.store, &tenant, request.get_ref()).await?;
        Ok(Response::new(pieces))
    }

    async fn explain_entry(
        &self,
        request: Request<proto::ExplainEntryRequest>,
    ) -> Result<Response<proto::ExplainEntryResponse>, Status> {
        let FinanceCaller { tenant } = right(&self.services, request.metadata()).await?;
        let name = name::parse::<EntryId>("name", &request.get_ref().name)?;
        let id = name.of(tenant.id, "entry")?;
        let found = ledger::explain::explain(&self.services.store, &tenant, id).await?;
        Ok(Response::new(finance::explained(&found, &tenant)))
    }

    async fn close_month(
        &self,
        request: Request<proto::CloseMonthRequest>,
    ) -> Result<Response<proto::CloseMonthResponse>, Status> {
        let FinanceCaller { tenant } = right(&self.services, request.metadata()).await?;
        let proto::CloseMonthRequest { month, validate_only } = request.into_inner();
        let month = Month::parse("month", &month)?;
        let store = &self.services.store;
        let closing = ledger::close::close(store, tenant.id, month, validate_only).await?;
        Ok(Response::new(finance::closing(closing, &tenant)))
    }
}

/// Reads the filters; none when they name another tenant's envelope, of which
/// nothing is found.
fn wanted(it: &proto::ListEntriesRequest, reader: &Reader) -> Result<Option<Wanted>, Fault> {
    let mut wanted = Wanted {
        user: label("user", &it.user)?,
        server: label("server", &it.server)?,
        envelope: None,
        call: None,
    };
    if !it.call.is_empty() {
        let problem = "must be a call's id such as a reply names it";
        let call: CallId = it.call.parse().map_err(|_| Fault::invalid("call", problem))?;
        wanted.call = Some(call);
    }
    if !it.envelope.is_empty() {
        let name = name::parse::<EnvelopeId>("envelope", &it.envelope)?;
        let Ok(id) = name.of(reader.tenant, "envelope") else { return Ok(None) };
        wanted.envelope = Some(id);
    }
    Ok(Some(wanted))
}

/// An entry for the wire.
fn to_wire(it: &Entry, reader: &Reader) -> proto::Entry {
    let Reader { tenant, currency, host: _ } = *reader;
    let money = |it| Some(money::to_wire(it, currency));
    proto::Entry {
        name: name::format(tenant, &it.id),
        kind: kind(it.kind).into(),
        incurred_at: to_the_second(it.incurred_at),
        booked_at: to_the_second(it.booked_at),
        call: it.call.to_string(),
        attempt: i32::from(it.attempt),
        envelope: name::format(tenant, &it.envelope),
        user: it.user.clone(),
        server: it.server.clone(),
        host: it.host.clone(),
        model: it.model.clone(),
        backend: it.backend.clone(),
        price_version: it.price_version.map_or_else(String::new, |it| it.to_string()),
        fx_rate: name::format(tenant, &it.fx_rate),
        usage: Some(envelope::usage_to_wire(&it.usage)),
        hold: money(it.hold),
        charge: money(Amount::from_nanos(it.money.charge)),
        overrun: money(Amount::from_nanos(it.money.overrun)),
        provider_usd: usd(it.pico_usd),
        estimated: it.estimated,
        reported: it.by_host,
        cut: envelope::cut(it.cut).into(),
        corrects: it.corrects.map_or_else(String::new, |it| name::format(tenant, &it)),
        postings: sides(it, currency),
        root: it.root.clone(),
        route: it.route.clone(),
    }
}

/// Pico-USD to the nano; none where it is more than an amount can say.
fn usd(pico: i128) -> Option<proto::Money> {
    let nanos = pico.saturating_add(PICOS_PER_NANO / 2).div_euclid(PICOS_PER_NANO);
    Amount::try_from(nanos).ok().map(|it| money::to_wire(it, Currency::USD))
}

fn sides(it: &Entry, currency: Currency) -> Vec<proto::Posting> {
    let sides = postings(&it.cost, it.money).into_iter().filter(|(_, amount)| !amount.is_zero());
    let posting = |(account, amount): (&str, Amount)| proto::Posting {
        account: account.to_owned(),
        amount: Some(money::to_wire(amount, currency)),
    };
    sides.map(posting).collect()
}

const fn kind(it: EntryKind) -> proto::EntryKind {
    match it {
        EntryKind::Settle => proto::EntryKind::Settle,
        EntryKind::Void => proto::EntryKind::Void,
        EntryKind::Expire => proto::EntryKind::Expire,
        EntryKind::LateSettle => proto::EntryKind::LateSettle,
        EntryKind::Correction => proto::EntryKind::Correction,
    }
}
