//! Holds of hosts that run their own model: the same envelope, the same budgets,
//! with the host's word for what was used.

use std::time::Duration;

use super::{Made, Names, Standing, Stop, left, stand};
use crate::{
    budget::{
        Ended, Engine, Order, Verdict,
        decide::Ask,
        late::{self, Late},
        offer::{Offer, Size},
    },
    catalogue::Catalogue,
    clock::Clock,
    domain::{
        charge::Split,
        entry::{Booking, Certainty, EntryKind, Truth},
        envelope::Left,
        fault::Fault,
        fx::FxQuote,
        hold::{Hold, Terms},
        ids::{EnvelopeId, HoldId, PriceVersionId},
        limit::{Limit, LimitKind},
        money::Amount,
        outcome::{LimitStatus, Refusal},
        price::Prices,
        request::EnvelopeChoice,
        usage::Usage,
    },
    identity::HostCaller,
    store::{self, Store, entries, holds, limits},
};

/// How often the limits are looked up again because a window ended meanwhile.
const WINDOWS_MAX: usize = 3;

/// What a host's own call needs from its surroundings. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Desk {
    /// Rows.
    pub store: Store,
    /// Holds and settlements.
    pub engine: Engine,
    /// Time and ids.
    pub clock: Clock,
    /// Models and prices.
    pub catalogue: Catalogue,
}

/// A hold that a host wants.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The person, as the host knows them.
    pub user: String,
    /// The server, as the host knows it.
    pub server: String,
    /// The project root in use.
    pub root: Option<String>,
    /// Which allowance it counts against.
    pub envelope: EnvelopeChoice,
    /// The most it may use.
    pub most: Most,
    /// How long the hold stands.
    pub time: Duration,
}

/// The most that a host's own call may use.
#[derive(Debug, Clone)]
pub enum Most {
    /// So much money, and so many tokens.
    Money(Amount, u64),
    /// What so many tokens cost on a priced model, named by its alias.
    Model {
        /// The alias.
        alias: String,
        /// Tokens in.
        input: u64,
        /// Tokens out.
        output: u64,
    },
}

/// What came of a wish.
#[derive(Debug, Clone)]
pub struct Reserved {
    /// The hold, or the limit that had no room for it.
    pub held: Result<Hold, LimitStatus>,
    /// What is left of the envelope.
    pub left: Left,
    /// The envelope.
    pub envelope: EnvelopeId,
    /// Whether it is the envelope's last call, out of what it keeps for that.
    pub is_landing: bool,
}

/// What came of a settlement.
#[derive(Debug, Clone, Copy)]
pub struct Settlement {
    /// Charged to the user, and beyond every limit, in nano-units.
    pub money: Split,
    /// What is left of the envelope.
    pub left: Left,
    /// It had been settled before; nothing was booked now.
    pub replayed: bool,
}

impl Most {
    /// Refuses a wish that some limit could not count: tokens that nobody names would pass
    /// an allowance of tokens that is used up.
    fn is_bound_by(&self, limits: &[Limit]) -> Result<(), Fault> {
        let counts = limits.iter().any(|it| it.enforcing && it.kind == LimitKind::Tokens);
        match self {
            Self::Money(_, 0) if counts => {
                let problem = "is required, or max_output_tokens is, where tokens are limited";
                Err(Fault::invalid("input_tokens", problem))
            }
            Self::Money(..) | Self::Model { .. } => Ok(()),
        }
    }
}

impl Desk {
    /// Takes a hold for a host that runs its own model.
    pub async fn reserve(&self, host: &HostCaller, wish: &Wish) -> Result<Reserved, Stop> {
        let (user, server, root) = (&wish.user, &wish.server, wish.root.as_deref());
        let names = Names { user, server, root };
        for _ in 0..WINDOWS_MAX {
            let desk = (&self.store, &self.clock);
            let standing = stand(desk, host, names, &wish.envelope, Made::Kept).await?;
            let over = super::seconds(&standing.envelope, standing.now);
            if standing.now >= standing.envelope.life.closes_at {
                return Ok(self.reserved(&standing, Err(over), &standing.limits));
            }
            wish.most.is_bound_by(&standing.limits)?;
            let offer = self.offer(host, wish, &standing).await?;
            let order = self.order(wish, &standing, offer);
            match self.engine.hold(order).await.map_err(Fault::from)? {
                Verdict::Held(it) => {
                    let reserved = self.reserved(&standing, Ok(it.hold), &it.limits);
                    return Ok(Reserved { is_landing: it.is_landing, ..reserved });
                }
                Verdict::Short(it) => {
                    return Ok(self.reserved(&standing, Err(it), &standing.limits_as(&it)));
                }
                Verdict::Stopped => return Err(Refusal::Stopped.into()),
                // A window ended or the envelope was closed meanwhile: look again.
                Verdict::Closed(_) | Verdict::Late => {}
            }
        }
        Err(Fault::Shed { retry_after: Duration::from_millis(200) }.into())
    }

    fn order(&self, wish: &Wish, standing: &Standing, offer: Offer) -> Order {
        Order {
            id: self.clock.id(),
            call: self.clock.id(),
            attempt: 1,
            parties: standing.parties,
            ask: Ask {
                calls: 1,
                offers: vec![offer],
                limits: standing.limits.iter().map(|it| it.key).collect(),
                reserve: standing.reserve(),
                kept: standing.kept(),
                not_after: None,
            },
            ttl: wish.time,
            by_host: true,
        }
    }

    fn reserved(
        &self,
        standing: &Standing,
        held: Result<Hold, LimitStatus>,
        limits: &[Limit],
    ) -> Reserved {
        let left = left(&standing.envelope.life, limits, self.clock.now());
        let envelope = standing.envelope.parties.envelope;
        Reserved { held, left, envelope, is_landing: false }
    }

    async fn offer(
        &self,
        host: &HostCaller,
        wish: &Wish,
        standing: &Standing,
    ) -> Result<Offer, Fault> {
        let catalogue = self.catalogue.of(&self.store, &self.clock, host.tenant).await?;
        let fx = catalogue.quote(host.currency, &self.clock).ok_or_else(no_rate)?;
        let (alias, input, output) = match &wish.most {
            Most::Money(money, tokens) => {
                // The host speaks in the tenant's own currency: no rate, no buffer.
                let fx = FxQuote { buffer_basis_points: 0, ..fx };
                let terms =
                    Terms { model: None, backend: None, price_version: None, prices: None, fx };
                let size = Size::Fixed { money: *money, tokens: *tokens };
                return Ok(Offer { terms, route: None, size });
            }
            Most::Model { alias, input, output } => (alias, *input, *output),
        };
        let allowed = &standing.grant.models;
        let model = catalogue
            .models
            .iter()
            .map(|it| &it.model)
            .find(|it| &it.alias == alias && (allowed.is_empty() || allowed.contains(alias)));
        let unknown = || Fault::invalid("model", "is not a priced model that the grant allows");
        let model = model.ok_or_else(unknown)?;
        let (version, prices) = model.price.ok_or_else(unknown)?;
        let money = fx
            .bound(prices.ceiling(input, output))
            .map_err(|it| Fault::invalid("max_output_tokens", it.to_string()))?;
        let terms = Terms {
            model: Some(model.id),
            backend: Some(model.backend),
            price_version: Some(version),
            prices: Some(prices),
            fx,
        };
        let size = Size::Fixed { money, tokens: input.saturating_add(output) };
        Ok(Offer { terms, route: None, size })
    }

    /// Books what the host says was used. Repeating it books nothing, and with another
    /// amount is refused. Without a usage the tokens are those that were held, as an estimate.
    pub async fn settle(
        &self,
        host: &HostCaller,
        id: HoldId,
        used: (Option<Usage>, Option<Amount>),
    ) -> Result<Settlement, Fault> {
        let found = self.find(host, id).await?;
        let truth = self.truth(host, &found, used).await?;
        if let Some(hold) = found.open {
            let ended = self.engine.end(hold, EntryKind::Settle, truth, None).await?;
            if let Ended::Booked { booking, .. } = ended {
                return self.settlement(host, found.envelope, booking, false).await;
            }
        }
        let key = (host.tenant, id);
        match late::settle(&self.store, &self.clock, key, &truth).await? {
            Late::Booked { booking, .. } => {
                self.settlement(host, found.envelope, booking, false).await
            }
            Late::Settled(booking) if booking.calls > 0 => {
                is_the_same(&booking, &truth)?;
                self.settlement(host, found.envelope, booking, true).await
            }
            Late::Settled(_) => Err(ended("HOLD_VOIDED", "the hold was given back before")),
            Late::Unknown => Err(missing()),
        }
    }

    /// Gives back a hold of which nothing was used. Repeating it changes nothing.
    pub async fn void(&self, host: &HostCaller, id: HoldId) -> Result<Settlement, Fault> {
        let found = self.find(host, id).await?;
        if let Some(hold) = found.open {
            let nothing = Truth::nothing(None);
            let ended = self.engine.end(hold, EntryKind::Void, nothing, None).await?;
            if let Ended::Booked { booking, .. } = ended {
                return self.settlement(host, found.envelope, booking, false).await;
            }
        }
        let found = self.find(host, id).await?;
        if found.kind == Some(EntryKind::Void) {
            return self.settlement(host, found.envelope, Booking::default(), true).await;
        }
        Err(ended("HOLD_SETTLED", "the hold was settled before; a correction is needed"))
    }

    /// A hold that this host has taken for a model of its own; any other looks missing.
    async fn find(&self, host: &HostCaller, id: HoldId) -> Result<Found, Fault> {
        let mut tx = self.store.call_tx(host.tenant).await?;
        let open = holds::find(&mut tx, &[(host.tenant, id)]).await?.pop();
        let resolved = entries::resolution(&mut tx, host.tenant, id).await?;
        store::commit(tx).await?;
        if let Some(hold) = open {
            let is_own = hold.reserved_by_host && hold.parties.host == host.host;
            return if is_own { Ok(Found::open(hold)) } else { Err(missing()) };
        }
        let resolved = resolved.filter(|it| it.by_host && it.host == host.host);
        let resolved = resolved.ok_or_else(missing)?;
        Ok(Found {
            open: None,
            kind: Some(resolved.kind),
            envelope: resolved.envelope,
            tokens: resolved.held_tokens,
            fx: resolved.fx,
            price_version: resolved.price_version,
        })
    }

    /// The host's word as a truth: its own amount, or its usage at the hold's prices.
    async fn truth(
        &self,
        host: &HostCaller,
        found: &Found,
        (used, money): (Option<Usage>, Option<Amount>),
    ) -> Result<Truth, Fault> {
        let too_large =
            |it: crate::domain::money::OutOfRange| Fault::invalid("usage", it.to_string());
        let usage = used.unwrap_or_default();
        let (tokens, certainty) = match used {
            None if found.tokens > 0 => (found.tokens, Certainty::Estimated),
            _ => (i64::try_from(usage.total()).map_err(|_| too_large_count())?, Certainty::Exact),
        };
        let (pico_usd, cost) = match (money, self.prices(host, found).await?) {
            (Some(it), _) => (found.fx.affords(it), found.fx.split(it).map_err(too_large)?),
            (None, Some(prices)) => {
                let pico_usd = prices.cost(&usage);
                (pico_usd, found.fx.cost(pico_usd).map_err(too_large)?)
            }
            (None, None) => {
                return Err(Fault::invalid("money", "is required: the hold names no priced model"));
            }
        };
        Ok(Truth { usage, tokens, cost, pico_usd, certainty, cut: None })
    }

    async fn prices(&self, host: &HostCaller, found: &Found) -> Result<Option<Prices>, Fault> {
        let Some(version) = found.price_version else { return Ok(None) };
        let mut tx = self.store.call_tx(host.tenant).await?;
        let prices = store::prices::price_version(&mut tx, host.tenant, version).await?;
        store::commit(tx).await?;
        Ok(prices)
    }

    async fn settlement(
        &self,
        host: &HostCaller,
        envelope: EnvelopeId,
        booking: Booking,
        replayed: bool,
    ) -> Result<Settlement, Fault> {
        let mut tx = self.store.call_tx(host.tenant).await?;
        let found = store::envelopes::find(&mut tx, host.tenant, envelope).await?;
        let found = found.ok_or_else(missing)?;
        let limits = limits::of_envelope(&mut tx, host.tenant, envelope).await?;
        store::commit(tx).await?;
        let left = left(&found.life, &limits, self.clock.now());
        Ok(Settlement { money: booking.money, left, replayed })
    }
}

/// What is known of a host's hold.
struct Found {
    open: Option<Hold>,
    kind: Option<EntryKind>,
    envelope: EnvelopeId,
    /// Tokens that were held.
    tokens: i64,
    fx: FxQuote,
    price_version: Option<PriceVersionId>,
}

impl Found {
    fn open(hold: Hold) -> Self {
        Self {
            kind: None,
            envelope: hold.parties.envelope,
            tokens: hold.need.tokens,
            fx: hold.terms.fx,
            price_version: hold.terms.price_version,
            open: Some(hold),
        }
    }
}

/// A repeated settlement says what the first one did.
fn is_the_same(booked: &Booking, truth: &Truth) -> Result<(), Fault> {
    let all = |it: Split| it.charge.saturating_add(it.overrun);
    if all(booked.money) == truth.cost.total.nanos() && all(booked.tokens) == truth.tokens {
        return Ok(());
    }
    let problem = "the hold was settled before with another amount, which stands; an operator \
                   can correct it";
    let (reason, problem) = ("HOLD_SETTLED_OTHERWISE", problem.to_owned());
    Err(Fault::Aborted { reason, problem, retry_after: None })
}

fn too_large_count() -> Fault {
    Fault::invalid("usage", "is too large")
}

fn missing() -> Fault {
    Fault::NotFound { what: "hold" }
}

fn ended(reason: &'static str, problem: &str) -> Fault {
    Fault::Precondition { reason, problem: problem.to_owned() }
}

fn no_rate() -> Fault {
    ended("NO_FX_RATE", "the tenant has no exchange rate; an operator can set one")
}
