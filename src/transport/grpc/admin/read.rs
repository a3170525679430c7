//! What operators ask for that needs no file of its own.

use crate::{
    admin::NewCredential,
    domain::{credential::Role, fault::Fault, money::Currency},
    proto,
    transport::grpc::convert::{id, label, timestamp},
};

/// A tenant's display name and currency.
pub(super) fn tenant(it: &proto::CreateTenantRequest) -> Result<(String, Currency), Fault> {
    let display_name = id("display_name", &it.display_name)?;
    let wrong = |it: crate::domain::money::NotACurrency| it.to_string();
    let currency = it.currency_code.parse();
    let currency = currency.map_err(|it| Fault::invalid("currency_code", wrong(it)))?;
    Ok((display_name, currency))
}

/// A key to be made.
pub(super) fn credential(it: &proto::CreateCredentialRequest) -> Result<NewCredential, Fault> {
    Ok(NewCredential {
        display_name: label("display_name", &it.display_name)?.unwrap_or_default(),
        role: role(it.role)?,
        host: label("host", &it.host)?,
        expires_at: timestamp("expire_time", &it.expire_time)?,
    })
}

/// No tenant gives the role platform: its own operators would make tenants.
fn role(number: i32) -> Result<Role, Fault> {
    match proto::CredentialRole::try_from(number) {
        Ok(proto::CredentialRole::Host) => Ok(Role::Host),
        Ok(proto::CredentialRole::Operator) => Ok(Role::Operator),
        Ok(proto::CredentialRole::Finance) => Ok(Role::Finance),
        Ok(proto::CredentialRole::Platform | proto::CredentialRole::Unspecified) | Err(_) => {
            let problem = "must be CREDENTIAL_ROLE_HOST, _OPERATOR or _FINANCE";
            Err(Fault::invalid("role", problem))
        }
    }
}
