//! `bursar admin user` and `server`.

use super::{
    super::{describe, stop::Stop},
    Server, Shown, User, list,
};
use crate::{
    client::{Client, Error},
    proto::{CreateServerRequest, CreateUserRequest},
};

pub(super) async fn user(client: &Client, it: User) -> Result<Shown, Stop> {
    let user = match it {
        User::Create { user } => user,
        User::List(listing) => return list::users(client, listing).await,
    };
    let made = client.admin().create_user(CreateUserRequest { user }).await;
    Ok(Shown::One(describe::user(&made.map_err(Error::from)?.into_inner())))
}

pub(super) async fn server(client: &Client, it: Server) -> Result<Shown, Stop> {
    let server = match it {
        Server::Create { server } => server,
        Server::List(listing) => return list::servers(client, listing).await,
    };
    let made = client.admin().create_server(CreateServerRequest { server }).await;
    Ok(Shown::One(describe::server(&made.map_err(Error::from)?.into_inner())))
}
