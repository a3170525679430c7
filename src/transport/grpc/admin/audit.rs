//! The audit for the wire.

use crate::{
    domain::{
        audit::{AuditEntry, AuditFilter, Subject},
        fault::Fault,
        ids::{
            BackendId, BudgetId, CredentialId, FxRateId, GrantId, ModelId, ServerId, StopId,
            TenantId, UserId,
        },
        period::to_the_second,
    },
    proto,
    transport::grpc::convert::{
        label,
        name::{self, Resource},
        timestamp,
    },
};

/// Which entries are wanted.
pub(super) fn read(
    it: &proto::ListAuditEntriesRequest,
    tenant: TenantId,
) -> Result<AuditFilter, Fault> {
    let credential = Some(&it.credential)
        .filter(|it| !it.is_empty())
        .map(|it| name::parse::<CredentialId>("credential", it)?.of(tenant, "credential"));
    Ok(AuditFilter {
        subject: if it.resource.is_empty() { None } else { Some(subject(&it.resource, tenant)?) },
        credential: credential.transpose()?,
        method: label("method", &it.method)?,
        from: timestamp("start_time", &it.start_time)?,
        until: timestamp("end_time", &it.end_time)?,
    })
}

/// What a full name names.
fn subject(text: &str, tenant: TenantId) -> Result<Subject, Fault> {
    const FIELD: &str = "resource";
    if text == name::of_tenant(tenant) {
        return Ok(Subject::Tenant(tenant));
    }
    let collection = text.split('/').nth(2).unwrap_or_default();
    macro_rules! named {
        ($($subject:ident($id:ident),)*) => {
            $(if collection == $id::COLLECTION {
                let id = name::parse::<$id>(FIELD, text)?.of(tenant, "resource")?;
                return Ok(Subject::$subject(id));
            })*
        };
    }
    named![
        Credential(CredentialId),
        User(UserId),
        Server(ServerId),
        Grant(GrantId),
        Budget(BudgetId),
        Backend(BackendId),
        Model(ModelId),
        FxRate(FxRateId),
        Stop(StopId),
    ];
    Err(Fault::invalid(FIELD, "must be a full name, such as tenants/TENANT/budgets/ID"))
}

pub(super) fn wire(it: &AuditEntry, tenant: TenantId) -> proto::AuditEntry {
    let AuditEntry { id, at, credential, credential_name, peer, method, subject, old, new } = it;
    proto::AuditEntry {
        name: name::format(tenant, id),
        time: to_the_second(*at),
        credential: name::format(tenant, credential),
        credential_display_name: credential_name.clone(),
        peer: peer.map_or_else(String::new, |it| it.to_string()),
        method: method.clone(),
        resource: resource(*subject, tenant),
        old: old.clone().unwrap_or_default(),
        new: new.clone().unwrap_or_default(),
    }
}

fn resource(it: Subject, tenant: TenantId) -> String {
    match it {
        Subject::Tenant(it) => name::of_tenant(it),
        Subject::Credential(it) => name::format(tenant, &it),
        Subject::User(it) => name::format(tenant, &it),
        Subject::Server(it) => name::format(tenant, &it),
        Subject::Grant(it) => name::format(tenant, &it),
        Subject::Budget(it) => name::format(tenant, &it),
        Subject::Backend(it) => name::format(tenant, &it),
        Subject::Model(it) => name::format(tenant, &it),
        Subject::FxRate(it) => name::format(tenant, &it),
        Subject::Stop(it) => name::format(tenant, &it),
    }
}
