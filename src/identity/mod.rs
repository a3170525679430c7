//! Who asks: keys, what they may do, and how fast.

pub mod caller;
pub mod key;
pub mod shed;

pub use caller::{
    Actor, BookKeeper, BookReader, Caller, FinanceCaller, HostCaller, OperatorCaller,
    PlatformCaller,
};
pub use key::{Key, TokenKey};

use crate::{
    domain::{
        credential::{Credential, Role},
        fault::Fault,
        ids::{HostId, TenantId},
        token::Bearer,
    },
    store::{self, Store, identity, tokens},
};

/// Finds out who bears a key. Whatever is wrong with it, the answer is the same.
pub async fn authenticate(store: &Store, presented: Option<&str>) -> Result<Caller, Fault> {
    let key: Key = presented.and_then(|it| it.parse().ok()).ok_or(Fault::Unauthenticated)?;
    let mut tx = store.call_tx(key.tenant()).await?;
    let bearer = identity::bearer(&mut tx, key.tenant(), &key.digest()).await?;
    store::commit(tx).await?;
    let (tenant, credential) = bearer.ok_or(Fault::Unauthenticated)?;
    Ok(Caller { tenant, credential, peer: None })
}

/// Finds out whose envelope a token is. Whatever is wrong with it, the answer is the same.
/// It is asked anew for each request: revoked at one replica, it is over at all.
pub async fn bearer_of_token(store: &Store, presented: Option<&str>) -> Result<Bearer, Fault> {
    let key: TokenKey = presented.and_then(|it| it.parse().ok()).ok_or(Fault::Unauthenticated)?;
    let key = key.key();
    let mut tx = store.call_tx(key.tenant()).await?;
    let bearer = tokens::bearer(&mut tx, key.tenant(), &key.digest()).await?;
    store::commit(tx).await?;
    bearer.ok_or(Fault::Unauthenticated)
}

/// Makes a key and writes its digest down. The key is returned this once.
pub async fn issue(
    tx: &mut store::Tx,
    tenant: TenantId,
    credential: &Credential,
) -> Result<Key, store::Error> {
    let key = Key::generate(tenant);
    identity::add_credential(tx, tenant, credential, &key.digest()).await?;
    Ok(key)
}

/// The host of this name, made when there is none.
pub async fn ensure_host(
    tx: &mut store::Tx,
    tenant: TenantId,
    (fresh, name): (HostId, &str),
) -> Result<HostId, store::Error> {
    identity::ensure_host(tx, tenant, (fresh, name)).await
}

/// Refuses a caller of another role, naming the one that would do.
fn require(caller: &Caller, role: Role) -> Result<(), Fault> {
    if caller.credential.role == role {
        Ok(())
    } else {
        Err(Fault::WrongRole { needed: role.word() })
    }
}
