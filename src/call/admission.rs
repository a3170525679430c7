//! Is it allowed, and what does it stand on?

use super::{Broker, End, Request};
use crate::{
    domain::{outcome::Refusal, request::Origin},
    envelope::{Names, Standing, stand},
};

/// A request with a grant, an envelope and the limits that apply.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) request: Request,
    pub(super) standing: Standing,
}

pub(super) async fn admit(broker: &Broker, request: Request) -> Result<Admitted, End> {
    let standing = look_up(broker, &request).await?;
    let grant = &standing.grant;
    if request.sampling.origin == Origin::Background && !grant.background {
        return Err(Refusal::BackgroundNotGranted.into());
    }
    let params = &request.sampling.params;
    if !(params.tools.is_empty() || grant.tools) {
        return Err(Refusal::ToolsNotGranted.into());
    }
    Ok(Admitted { request, standing })
}

/// What the request stands on now.
pub(super) async fn look_up(broker: &Broker, request: &Request) -> Result<Standing, End> {
    let Request { caller, sampling, .. } = request;
    let names =
        Names { user: &sampling.user, server: &sampling.server, root: sampling.root.as_deref() };
    Ok(stand(&broker.store, &broker.clock, caller, names, &sampling.envelope).await?)
}
