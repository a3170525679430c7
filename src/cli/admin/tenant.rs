//! `bursar admin credential` and `tenant`.

use clap::{Args, Subcommand, ValueEnum};

use super::{
    super::{allowance::Listing, describe, stop::Stop, words::need},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::{
        CreateCredentialRequest, CreateTenantRequest, CredentialRole, GetTenantRequest,
        ListCredentialsRequest, RevokeCredentialRequest,
    },
};

const COLUMNS: &[&str] =
    &["name", "display_name", "role", "host", "create_time", "expire_time", "revoke_time"];

/// What can be done with credentials.
#[derive(Debug, Clone, Subcommand)]
pub enum CredentialAction {
    /// Make a key; it is shown this once
    Create(CreateCredential),
    /// List them, without the keys
    List(Listing),
    /// Make a key worthless
    Revoke {
        /// The credential's resource name
        name: String,
    },
}

/// The arguments of `credential create`.
#[derive(Debug, Clone, Args)]
pub struct CreateCredential {
    /// What the key may do
    #[arg(long)]
    role: KeyRole,
    /// The host that speaks with the key
    #[arg(long, value_name = "ID", required_if_eq("role", "host"))]
    host: Option<String>,
    /// What people call it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// When it ends, as RFC 3339 [default: never]
    #[arg(long, value_name = "TIME")]
    expire_time: Option<String>,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyRole {
    /// Sample and open envelopes
    Host,
    /// Administer the tenant
    Operator,
    /// Read the ledger
    Finance,
    /// Create tenants
    Platform,
}

/// What can be done with tenants.
#[derive(Debug, Clone, Subcommand)]
pub enum TenantAction {
    /// Show the key's own
    Get,
    /// Create one and its first operator key, which is shown this once; needs a platform key
    Create {
        /// What people call it
        #[arg(long, value_name = "TEXT")]
        display_name: String,
        /// Its currency for good, such as EUR
        #[arg(long, value_name = "CODE")]
        currency: String,
    },
}

pub(super) async fn credential(client: &Client, it: CredentialAction) -> Result<Shown, Stop> {
    let mut admin = client.admin();
    match it {
        CredentialAction::Create(it) => {
            let request = CreateCredentialRequest {
                display_name: it.display_name.unwrap_or_default(),
                role: CredentialRole::from(it.role).into(),
                host: it.host.unwrap_or_default(),
                expire_time: it.expire_time.unwrap_or_default(),
            };
            let made = admin.create_credential(request).await.map_err(Error::from)?.into_inner();
            let record = describe::credential(&need(made.credential)?);
            Ok(Shown::One(record.with("key", made.key)))
        }
        CredentialAction::List(listing) => list(client, listing).await,
        CredentialAction::Revoke { name } => {
            let request = RevokeCredentialRequest { name };
            let revoked = admin.revoke_credential(request).await.map_err(Error::from)?;
            Ok(Shown::One(describe::credential(&revoked.into_inner())))
        }
    }
}

async fn list(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListCredentialsRequest { page_size, page_token };
            let page = admin.list_credentials(request).await.map_err(Error::from)?.into_inner();
            Ok((page.credentials, page.next_page_token))
        }
    };
    let credentials = listing.collect(page).await?;
    let records = credentials.iter().map(describe::credential).collect();
    Ok(Shown::Many { name: "credentials", records, columns: COLUMNS })
}

pub(super) async fn tenant(client: &Client, it: TenantAction) -> Result<Shown, Stop> {
    let mut admin = client.admin();
    match it {
        TenantAction::Get => {
            let found = admin.get_tenant(GetTenantRequest {}).await.map_err(Error::from)?;
            Ok(Shown::One(describe::tenant(&found.into_inner())))
        }
        TenantAction::Create { display_name, currency } => {
            let request = CreateTenantRequest { display_name, currency_code: currency };
            let made = admin.create_tenant(request).await.map_err(Error::from)?.into_inner();
            let record = describe::tenant(&need(made.tenant)?);
            Ok(Shown::One(record.with("operator_key", made.operator_key)))
        }
    }
}

impl From<KeyRole> for CredentialRole {
    fn from(it: KeyRole) -> Self {
        match it {
            KeyRole::Host => Self::Host,
            KeyRole::Operator => Self::Operator,
            KeyRole::Finance => Self::Finance,
            KeyRole::Platform => Self::Platform,
        }
    }
}
