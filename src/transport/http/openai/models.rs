//! The models that a key may use: aliases alone. Who serves them is nobody's business here.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{Door, problem::Problem};
use crate::domain::model::Trust;

#[derive(Serialize)]
struct List {
    object: &'static str,
    data: Vec<Model>,
}

#[derive(Serialize)]
struct Model {
    id: String,
    object: &'static str,
    created: i64,
    owned_by: &'static str,
}

pub(super) async fn list(State(door): State<Door>, headers: HeaderMap) -> Response {
    match door.listed(&headers).await {
        Ok(data) => Json(List { object: "list", data }).into_response(),
        Err(it) => it.into_response(),
    }
}

pub(super) async fn one(
    State(door): State<Door>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let found = door
        .listed(&headers)
        .await
        .and_then(|all| all.into_iter().find(|it| it.id == id).ok_or_else(Problem::no_such_model));
    found.map_or_else(IntoResponse::into_response, |it| Json(it).into_response())
}

impl Door {
    /// Those that have a price and can be used, by name.
    async fn listed(&self, headers: &HeaderMap) -> Result<Vec<Model>, Problem> {
        let bearer = self.bearer(headers).await?;
        let (services, token) = (&self.services, &bearer.token);
        let known = services.catalogue.of(&services.store, &services.clock, token.tenant).await?;
        let usable = known.models.iter().map(|it| &it.model).filter(|it| {
            it.price.is_some() && it.bound.trust != Trust::Suspended && bearer.allows(&it.alias)
        });
        let aliases: BTreeSet<&str> = usable.map(|it| it.alias.as_str()).collect();
        let created = token.created_at.as_second();
        let model =
            |id: &str| Model { id: id.to_owned(), object: "model", created, owned_by: "bursar" };
        Ok(aliases.into_iter().map(model).collect())
    }
}
