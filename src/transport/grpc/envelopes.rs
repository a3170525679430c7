//! `EnvelopeService`: envelopes, and holds of hosts that run their own model.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::{auth, convert, once, sampling::shutting_down, state::Services, tokens};
use crate::{
    call::replay::{Asked, Requests},
    domain::{
        credential::Role,
        fault::Fault,
        ids::{EnvelopeId, HoldId, TenantId},
        money::{Amount, Currency},
        outcome::{LimitStatus, Outcome},
        period::to_the_second,
        request::{EnvelopeChoice, Scope},
        usage::Usage,
    },
    envelope::{
        self, Stop, View, Viewer,
        reserve::{Desk, Most, Reserved, Settlement, Wish},
    },
    identity::{Caller, HostCaller},
    proto::{self, envelope_service_server::EnvelopeService},
    tasks::Tasks,
};

/// How long a host's hold may stand, in seconds, and does unless it says otherwise.
const HOLD_SECONDS_MAX: i64 = 3_600;
const HOLD_SECONDS: i64 = 120;

/// How long opening an envelope may take at most.
const OPENING: Duration = Duration::from_secs(10);

/// The most tokens a host may reserve on either side.
const TOKENS_MAX: i64 = 1_000_000_000;

/// See the module.
#[derive(Clone)]
pub struct Envelopes {
    pub(super) services: Services,
    pub(super) requests: Requests,
    pub(super) tasks: Tasks,
}

#[tonic::async_trait]
impl EnvelopeService for Envelopes {
    async fn open_envelope(
        &self,
        request: Request<proto::OpenEnvelopeRequest>,
    ) -> Result<Response<proto::Envelope>, Status> {
        let (metadata, _, mut body) = request.into_parts();
        let host = self.host(&metadata).await?;
        auth::parties_agree(&metadata, &body.user, &body.server)?;
        convert::label("request_id", &body.request_id)?;
        let user = convert::id("user", &body.user)?;
        let server = convert::id("server", &body.server)?;
        self.services.shed.server(host.tenant, &server)?;
        let limits = body.limits.as_ref();
        let allowance = convert::envelope::partial_allowance("limits", limits, host.currency)?;
        let parent = parent(&body.parent)?;
        let wish = envelope::Wish { user, server, allowance, parent };
        let gone = CancellationToken::new();
        let _gone = gone.clone().drop_guard();
        let Services { store, clock, .. } = self.services.clone();
        let asked = once::identified(&mut body).map(|(id, asks)| {
            let until = clock.monotonic() + OPENING;
            Asked::new(&host, (&id, &asks), clock.id(), (until, gone))
        });
        let opened = self.finish(asked, async move {
            let view = envelope::open(&store, &clock, &host, wish).await;
            Ok(to_wire(&view.map_err(unless_granted)?, host.tenant, host.currency))
        });
        Ok(Response::new(opened.await?))
    }

    async fn get_envelope(
        &self,
        request: Request<proto::GetEnvelopeRequest>,
    ) -> Result<Response<proto::Envelope>, Status> {
        let (metadata, _, body) = request.into_parts();
        let (viewer, currency) = self.viewer(&metadata).await?;
        let id = envelope_id(&body.name, viewer.tenant)?;
        let view = envelope::get(&self.services.store, viewer, id).await?;
        Ok(Response::new(to_wire(&view, viewer.tenant, currency)))
    }

    async fn list_envelopes(
        &self,
        request: Request<proto::ListEnvelopesRequest>,
    ) -> Result<Response<proto::ListEnvelopesResponse>, Status> {
        let (metadata, _, body) = request.into_parts();
        let (viewer, currency) = self.viewer(&metadata).await?;
        let page = convert::page::page(body.page_size, &body.page_token)?;
        let wanted = match parent(&body.parent)? {
            // Another tenant's: nothing stands in it here.
            Some((Some(tenant), _)) if tenant != viewer.tenant => {
                return Ok(Response::new(proto::ListEnvelopesResponse::default()));
            }
            parent => envelope::Wanted {
                user: convert::label("user", &body.user)?,
                server: convert::label("server", &body.server)?,
                parent: parent.map(|(_, id)| id),
            },
        };
        // One more than asked for tells whether there is another page.
        let slice = (page.after, page.size + 1);
        let mut views = envelope::list(&self.services.store, viewer, &wanted, slice).await?;
        let size = usize::try_from(page.size).unwrap_or(usize::MAX);
        let more = views.len() > size;
        views.truncate(size);
        let last = views.last().filter(|_| more).map(|it| it.envelope.life.id.uuid());
        Ok(Response::new(proto::ListEnvelopesResponse {
            envelopes: views.iter().map(|it| to_wire(it, viewer.tenant, currency)).collect(),
            next_page_token: convert::page::next_page_token(last),
        }))
    }

    async fn close_envelope(
        &self,
        request: Request<proto::CloseEnvelopeRequest>,
    ) -> Result<Response<proto::Envelope>, Status> {
        let (metadata, _, body) = request.into_parts();
        let (viewer, currency) = self.closer(&metadata).await?;
        let id = envelope_id(&body.name, viewer.tenant)?;
        let view = envelope::close(&self.services.store, viewer, id).await?;
        Ok(Response::new(to_wire(&view, viewer.tenant, currency)))
    }

    async fn reserve(
        &self,
        request: Request<proto::ReserveRequest>,
    ) -> Result<Response<proto::Reservation>, Status> {
        let (metadata, _, body) = request.into_parts();
        let host = self.host(&metadata).await?;
        auth::parties_agree(&metadata, &body.user, &body.server)?;
        let wish = wish(&body, host.currency)?;
        self.services.shed.server(host.tenant, &wish.server)?;
        let reserved = match self.desk().reserve(&host, &wish).await {
            Ok(it) => reservation(&it, host.tenant, host.currency),
            Err(Stop::Refused(it)) => proto::Reservation {
                outcome: proto::Outcome::Refused.into(),
                refusal: Some(convert::reply::refusal(it)),
                ..proto::Reservation::default()
            },
            Err(Stop::Fault(it)) => return Err(it.into()),
        };
        Ok(Response::new(reserved))
    }

    async fn settle(
        &self,
        request: Request<proto::SettleRequest>,
    ) -> Result<Response<proto::Settlement>, Status> {
        let (metadata, _, body) = request.into_parts();
        let host = self.host(&metadata).await?;
        let hold = hold_id(&body.hold)?;
        let usage = body.usage.as_ref().map(|it| convert::envelope::usage("usage", it));
        let usage: Option<Usage> = usage.transpose()?;
        let money =
            body.money.as_ref().map(|it| convert::money::amount("money", it, host.currency));
        let used = (usage, money.transpose()?);
        if body.usage.is_none() && used.1.is_none() {
            return Err(Fault::invalid("usage", "is required unless money is given").into());
        }
        let settled = self.desk().settle(&host, hold, used).await?;
        Ok(Response::new(settlement(hold, &settled, host.currency)))
    }

    async fn void(
        &self,
        request: Request<proto::VoidRequest>,
    ) -> Result<Response<proto::Settlement>, Status> {
        let (metadata, _, body) = request.into_parts();
        let host = self.host(&metadata).await?;
        let hold = hold_id(&body.hold)?;
        let settled = self.desk().void(&host, hold).await?;
        Ok(Response::new(settlement(hold, &settled, host.currency)))
    }

    async fn mint_token(
        &self,
        request: Request<proto::MintTokenRequest>,
    ) -> Result<Response<proto::Token>, Status> {
        let host = self.host(request.metadata()).await?;
        Ok(Response::new(tokens::mint(&self.services, &host, request.into_inner()).await?))
    }

    async fn list_tokens(
        &self,
        request: Request<proto::ListTokensRequest>,
    ) -> Result<Response<proto::ListTokensResponse>, Status> {
        let (viewer, _) = self.viewer(request.metadata()).await?;
        Ok(Response::new(tokens::list(&self.services, viewer, request.into_inner()).await?))
    }

    async fn refresh_token(
        &self,
        request: Request<proto::RefreshTokenRequest>,
    ) -> Result<Response<proto::Token>, Status> {
        let host = self.host(request.metadata()).await?;
        Ok(Response::new(tokens::refresh(&self.services, &host, request.get_ref()).await?))
    }

    async fn revoke_token(
        &self,
        request: Request<proto::RevokeTokenRequest>,
    ) -> Result<Response<proto::Token>, Status> {
        let (viewer, _) = self.closer(request.metadata()).await?;
        Ok(Response::new(tokens::revoke(&self.services, viewer, request.get_ref()).await?))
    }
}

impl Envelopes {
    async fn host(&self, metadata: &MetadataMap) -> Result<HostCaller, Status> {
        auth::right(&self.services, metadata).await
    }

    /// A host sees its own envelopes, operators and finance all of the tenant's.
    async fn viewer(&self, metadata: &MetadataMap) -> Result<(Viewer, Currency), Status> {
        viewer(auth::caller(&self.services, metadata).await?)
    }

    /// A host closes its own envelopes, operators any; finance only reads.
    async fn closer(&self, metadata: &MetadataMap) -> Result<(Viewer, Currency), Status> {
        let caller = auth::caller(&self.services, metadata).await?;
        if caller.credential.role == Role::Finance {
            return Err(Fault::WrongRole { needed: Role::Host.word() }.into());
        }
        viewer(caller)
    }

    /// Does `work`, once if it bears an id, in a task that outlives a caller who goes
    /// away: a claim that nobody ends would be in the way of the next try.
    async fn finish(
        &self,
        asked: Option<Asked>,
        work: impl Future<Output = Result<proto::Envelope, Fault>> + Send + 'static,
    ) -> Result<proto::Envelope, Fault> {
        let (sender, reply) = oneshot::channel();
        let requests = self.requests.clone();
        let accepted = self.tasks.spawn(async move {
            // A caller that is gone finds it under its request's id.
            let _ = sender.send(requests.once(asked.as_ref(), work).await);
        });
        if !accepted {
            return Err(shutting_down());
        }
        Ok(reply.await.map_err(|_| Fault::Internal)??.into_inner())
    }

    fn desk(&self) -> Desk {
        let Services { store, clock, engine, catalogue, .. } = self.services.clone();
        Desk { store, engine, clock, catalogue }
    }
}

fn viewer(caller: Caller) -> Result<(Viewer, Currency), Status> {
    let (tenant, currency) = (caller.tenant.id, caller.tenant.currency);
    let host = match caller.credential.role {
        Role::Host => Some(HostCaller::try_from(caller)?.host),
        Role::Operator | Role::Finance => None,
        Role::Platform => return Err(Fault::WrongRole { needed: Role::Host.word() }.into()),
    };
    Ok((Viewer { tenant, host }, currency))
}

/// Opening without a grant is a precondition that is not met: there is no reply in
/// which a refusal could stand.
fn unless_granted(stop: Stop) -> Fault {
    match stop {
        Stop::Fault(it) => it,
        Stop::Refused(it) => {
            Fault::Precondition { reason: it.reason(), problem: it.message().to_owned() }
        }
    }
}

fn envelope_id(name: &str, tenant: TenantId) -> Result<EnvelopeId, Fault> {
    convert::name::parse::<EnvelopeId>("name", name)?.of(tenant, "envelope")
}

/// An envelope that may be left out, with the tenant that its name tells.
fn parent(name: &str) -> Result<Option<(Option<TenantId>, EnvelopeId)>, Fault> {
    if name.is_empty() {
        return Ok(None);
    }
    let name = convert::name::parse::<EnvelopeId>("parent", name)?;
    Ok(Some((name.tenant, name.id)))
}

fn hold_id(text: &str) -> Result<HoldId, Fault> {
    text.parse().map_err(|it| Fault::invalid("hold", format!("{it}")))
}

fn to_wire(view: &View, tenant: TenantId, currency: Currency) -> proto::Envelope {
    let life = view.envelope.life;
    let mut status: Vec<LimitStatus> = view.limits.iter().map(LimitStatus::from).collect();
    status.push(envelope::seconds(&view.envelope, view.now));
    let extensions = view.extensions.iter();
    let extensions = extensions.map(|it| convert::envelope::extension(it, currency)).collect();
    let wire = convert::envelope::to_wire(&convert::envelope::View {
        tenant,
        currency,
        user: &view.user,
        server: &view.server,
        parent: view.envelope.ancestors.first().copied(),
        lifetime: life,
        allowance: view.envelope.allowance,
        left: envelope::left(&life, &view.limits, view.now),
        status: &status,
        now: view.now,
    });
    proto::Envelope { extensions, ..wire }
}

fn wish(body: &proto::ReserveRequest, currency: Currency) -> Result<Wish, Fault> {
    let within = |field: &str, value: i64, max: i64| {
        let fine = u64::try_from(value).ok().filter(|_| value <= max);
        fine.ok_or_else(|| Fault::invalid(field, format!("must be from 0 to {max}")))
    };
    let input = within("input_tokens", body.input_tokens, TOKENS_MAX)?;
    let output = within("max_output_tokens", body.max_output_tokens, TOKENS_MAX)?;
    let most = match (&body.money, convert::label("model", &body.model)?) {
        (Some(_), Some(_)) => return Err(Fault::invalid("model", "give either model or money")),
        (None, None) => return Err(Fault::invalid("money", "is required unless model is given")),
        (None, Some(alias)) => Most::Model { alias, input, output },
        (Some(it), None) => {
            let money: Amount = convert::money::positive("money", it, currency)?;
            Most::Money(money, input.saturating_add(output))
        }
    };
    Ok(Wish {
        user: convert::id("user", &body.user)?,
        server: convert::id("server", &body.server)?,
        root: convert::request::project_root("root", &body.root)?,
        envelope: match body.envelope.as_str() {
            "" => EnvelopeChoice::Scoped(Scope::Default),
            name => {
                let name = convert::name::parse::<EnvelopeId>("envelope", name)?;
                EnvelopeChoice::Named { tenant: name.tenant, id: name.id }
            }
        },
        most,
        time: Duration::from_secs(hold_seconds(body.seconds)?),
    })
}

/// How long a hold is to stand; 0 leaves it to us.
fn hold_seconds(wanted: i64) -> Result<u64, Fault> {
    let seconds = if wanted == 0 { HOLD_SECONDS } else { wanted };
    let fine = u64::try_from(seconds).ok().filter(|_| seconds <= HOLD_SECONDS_MAX);
    let problem = || format!("must be from 1 to {HOLD_SECONDS_MAX}, or 0 for {HOLD_SECONDS}");
    fine.ok_or_else(|| Fault::invalid("seconds", problem()))
}

fn reservation(it: &Reserved, tenant: TenantId, currency: Currency) -> proto::Reservation {
    let envelope = convert::name::format(tenant, &it.envelope);
    let left = Some(convert::envelope::left_to_wire(&it.left, currency));
    match &it.held {
        Ok(hold) => proto::Reservation {
            outcome: convert::envelope::outcome(Outcome::Complete).into(),
            hold: hold.id.to_string(),
            money: Some(convert::money::to_wire(hold.need.money, currency)),
            expires_at: to_the_second(hold.expires_at),
            limit: None,
            left,
            envelope,
            refusal: None,
            landing: it.is_landing,
        },
        Err(limit) => proto::Reservation {
            outcome: convert::envelope::outcome(Outcome::Exhausted).into(),
            limit: Some(convert::envelope::limit_status(limit, tenant)),
            left,
            envelope,
            ..proto::Reservation::default()
        },
    }
}

fn settlement(hold: HoldId, it: &Settlement, currency: Currency) -> proto::Settlement {
    let amount = |nanos| Some(convert::money::to_wire(Amount::from_nanos(nanos), currency));
    proto::Settlement {
        hold: hold.to_string(),
        charge: Some(proto::Charge {
            amount: amount(it.money.charge),
            // The host has said what was used.
            estimated: false,
            overrun: amount(it.money.overrun),
        }),
        left: Some(convert::envelope::left_to_wire(&it.left, currency)),
        replayed: it.replayed,
    }
}
