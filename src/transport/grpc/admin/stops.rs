//! Kill switches for the wire.

use crate::{
    admin::NewStop,
    domain::{fault::Fault, halt::Halt, ids::TenantId, period::to_the_second},
    proto,
    transport::grpc::convert::{label, name},
};

/// Whom to stop. The whole tenant is only stopped where that is said.
pub(super) fn read(it: &proto::StopSamplingRequest) -> Result<NewStop, Fault> {
    let (user, server) = (label("user", &it.user)?, label("server", &it.server)?);
    let is_narrow = user.is_some() || server.is_some();
    if is_narrow == it.whole_tenant {
        let problem = "must be set where neither user nor server is, and only there";
        return Err(Fault::invalid("whole_tenant", problem));
    }
    let reason = label("reason", &it.reason)?.unwrap_or_default();
    Ok(NewStop { user, server, reason })
}

pub(super) fn wire(it: &Halt, tenant: TenantId) -> proto::Stop {
    let Halt { id, scope: _, user, server, reason, stopped, lifted } = it;
    proto::Stop {
        name: name::format(tenant, id),
        user: user.clone(),
        server: server.clone(),
        reason: reason.clone(),
        stop_time: to_the_second(stopped.1),
        stopped_by: name::format(tenant, &stopped.0),
        lift_time: lifted.map_or_else(String::new, |(_, at)| to_the_second(at)),
        lifted_by: lifted.map_or_else(String::new, |(by, _)| name::format(tenant, &by)),
    }
}
