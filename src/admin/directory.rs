//! People and servers, by the ids that hosts assert.

use uuid::Uuid;

use super::{Desk, Slice, audit::made, exists};
use crate::{
    domain::{
        audit::Subject,
        fault::Fault,
        ids::{ServerId, UserId},
    },
    identity::OperatorCaller,
    store::{
        self,
        identity::{self, Directory},
    },
};

/// Our id and the one that hosts assert.
pub type Named<I> = (I, String);

/// Makes a user known.
pub async fn create_user(
    desk: Desk<'_>,
    right: &OperatorCaller,
    external: String,
) -> Result<Named<UserId>, Fault> {
    let id: UserId = desk.clock.id();
    let change = ("CreateUser", Subject::User(id));
    add(desk, right, (Directory::Users, "the user", &external), change).await?;
    Ok((id, external))
}

/// Makes a server known.
pub async fn create_server(
    desk: Desk<'_>,
    right: &OperatorCaller,
    external: String,
) -> Result<Named<ServerId>, Fault> {
    let id: ServerId = desk.clock.id();
    let change = ("CreateServer", Subject::Server(id));
    add(desk, right, (Directory::Servers, "the server", &external), change).await?;
    Ok((id, external))
}

/// The users.
pub async fn users(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
) -> Result<Vec<Named<UserId>>, Fault> {
    list(desk, right, Directory::Users, slice).await
}

/// The servers.
pub async fn servers(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
) -> Result<Vec<Named<ServerId>>, Fault> {
    list(desk, right, Directory::Servers, slice).await
}

async fn add(
    desk: Desk<'_>,
    right: &OperatorCaller,
    (directory, what, external): (Directory, &'static str, &str),
    (method, subject): (&'static str, Subject),
) -> Result<(), Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let named = (subject.id(), external);
    identity::add_external(&mut tx, directory, tenant, named).await.map_err(exists(what))?;
    made(&mut tx, desk, right, (method, subject)).await?;
    store::commit(tx).await?;
    Ok(())
}

async fn list<I: From<Uuid>>(
    desk: Desk<'_>,
    right: &OperatorCaller,
    directory: Directory,
    slice: Slice,
) -> Result<Vec<Named<I>>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = identity::externals(&mut tx, directory, tenant, slice).await?;
    store::commit(tx).await?;
    Ok(found.into_iter().map(|(id, external)| (id.into(), external)).collect())
}
