//! The lists of `bursar admin`: what there is, a line each.

use super::{
    super::{allowance::Listing, describe, stop::Stop},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::{
        ListBackendsRequest, ListGrantsRequest, ListModelsRequest, ListServersRequest,
        ListUsersRequest, Model,
    },
};

const USERS: &[&str] = &["name", "user"];
const SERVERS: &[&str] = &["name", "server"];
const BACKENDS: &[&str] = &["name", "backend", "kind", "base_url", "key_env", "idle_seconds"];
const MODELS: &[&str] = &[
    "alias",
    "backend",
    "vendor_model",
    "price.input",
    "price.output",
    "context_tokens",
    "tools",
    "held_to_actual",
    "bound_failures",
    "suspended",
];
const GRANTS: &[&str] =
    &["name", "user", "server", "default_envelope", "models", "tools", "background", "revoke_time"];

pub(super) async fn users(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListUsersRequest { page_size, page_token };
            let page = admin.list_users(request).await.map_err(Error::from)?.into_inner();
            Ok((page.users, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::user).collect();
    Ok(Shown::Many { name: "users", records, columns: USERS })
}

pub(super) async fn servers(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListServersRequest { page_size, page_token };
            let page = admin.list_servers(request).await.map_err(Error::from)?.into_inner();
            Ok((page.servers, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::server).collect();
    Ok(Shown::Many { name: "servers", records, columns: SERVERS })
}

pub(super) async fn backends(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListBackendsRequest { page_size, page_token };
            let page = admin.list_backends(request).await.map_err(Error::from)?.into_inner();
            Ok((page.backends, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::backend).collect();
    Ok(Shown::Many { name: "backends", records, columns: BACKENDS })
}

pub(super) async fn models(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let records = all_models(client, listing).await?.iter().map(describe::model).collect();
    Ok(Shown::Many { name: "models", records, columns: MODELS })
}

/// The model of an alias, with all that is known of it.
pub(super) async fn one_model(client: &Client, alias: &str) -> Result<Shown, Stop> {
    let all = all_models(client, Listing::ALL).await?;
    let found = all.iter().find(|it| it.alias == alias);
    let missing = || Stop::new(format!("there is no model {alias}; see `bursar admin model list`"));
    Ok(Shown::One(describe::model(found.ok_or_else(missing)?)))
}

async fn all_models(client: &Client, listing: Listing) -> Result<Vec<Model>, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListModelsRequest { page_size, page_token };
            let page = admin.list_models(request).await.map_err(Error::from)?.into_inner();
            Ok((page.models, page.next_page_token))
        }
    };
    listing.collect(page).await
}

pub(super) async fn grants(client: &Client, listing: Listing) -> Result<Shown, Stop> {
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListGrantsRequest { page_size, page_token };
            let page = admin.list_grants(request).await.map_err(Error::from)?.into_inner();
            Ok((page.grants, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::grant).collect();
    Ok(Shown::Many { name: "grants", records, columns: GRANTS })
}
