//! A call of an HTTP door, run as that of every other.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::{
    call::{
        self, Broker,
        replay::{Asked, Once, Requests},
    },
    domain::fault::Fault,
    proto::CreateMessageResponse,
    tasks::Tasks,
    telemetry::measured,
    transport::grpc::{convert, sampling::shutting_down},
};

/// Runs calls. Cheap to clone.
#[derive(Clone)]
pub(super) struct Runner {
    pub(super) broker: Broker,
    pub(super) requests: Requests,
    pub(super) tasks: Tasks,
}

/// Where a call's reply comes from.
pub(super) struct Started(oneshot::Receiver<Result<Once<CreateMessageResponse>, Fault>>);

impl Runner {
    /// Runs the call in a task of its own, which outlives a caller that goes away: its hold
    /// has to be settled all the same. `kept` is let go of once it has ended; `read` is the
    /// own time that reading the request took.
    pub(super) fn start(
        &self,
        (request, read): (call::Request, Duration),
        once: Option<Asked>,
        kept: impl Send + 'static,
    ) -> Result<Started, Fault> {
        let (sender, reply) = oneshot::channel();
        let (broker, requests) = (self.broker.clone(), self.requests.clone());
        let accepted = self.tasks.spawn(async move {
            let (tenant, currency) = (request.caller.tenant, request.caller.currency);
            let work = Box::pin(async {
                let reply = call::sample(&broker, request).await?;
                Ok(convert::reply::to_wire(reply, tenant, currency))
            });
            let answered = requests.once(once.as_ref(), work);
            let (reply, own) = measured(&broker.clock, answered).await;
            broker.metrics.own(read.saturating_add(own));
            drop(kept);
            // A caller that is gone misses the reply; the ledger has it.
            let _ = sender.send(reply);
        });
        if accepted { Ok(Started(reply)) } else { Err(shutting_down()) }
    }
}

impl Started {
    pub(super) async fn reply(self) -> Result<CreateMessageResponse, Fault> {
        Ok(self.0.await.map_err(|_| Fault::Internal)??.into_inner())
    }
}
