//! The lists of `bursar admin`: what there is, a line each.

use super::{
    super::{allowance::Listing, describe, stop::Stop},
    Shown,
};
use crate::{
    client::{Client, Error},
    proto::{
        ListBackendsRequest, ListGrantsRequest, ListModelsRequest, ListServersRequest,
        ListUsersRequest,
    },
};

const USERS: &[&str] = &["name", "user"];
const SERVERS: &[&str] = &["name", "server"];
const BACKENDS: &[&str] = &["name", "backend", "kind", "base_url", "key_env", "idle_seconds"];
const MODELS: &[&str] =
    &["alias", "backend", "vendor_model", "price.input", "price.output", "context_tokens", "tools"];
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
    let page = |page_size, page_token| {
        let mut admin = client.admin();
        async move {
            let request = ListModelsRequest { page_size, page_token };
            let page = admin.list_models(request).await.map_err(Error::from)?.into_inner();
            Ok((page.models, page.next_page_token))
        }
    };
    let records = listing.collect(page).await?.iter().map(describe::model).collect();
    Ok(Shown::Many { name: "models", records, columns: MODELS })
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
