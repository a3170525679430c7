//! `bursar envelope token`, `tokens`, `refresh` and `revoke`: keys that are an envelope.

use std::process::ExitCode;

use clap::Args;

use super::{
    allowance::Listing,
    output::Output,
    record::{Record, Value},
    stop::Stop,
};
use crate::{
    client::{Authorized, Client, Error},
    proto::{
        self, ListTokensRequest, MintTokenRequest, RefreshTokenRequest, RevokeTokenRequest,
        envelope_service_client::EnvelopeServiceClient,
    },
};

const COLUMNS: &[&str] = &["name", "envelope", "user", "server", "expires_at", "revoked_at"];

/// The longest that a key lasts without being refreshed, in seconds.
const SECONDS_MAX: i64 = 86_400;

/// The arguments of `token`.
#[derive(Debug, Clone, Args)]
pub struct Mint {
    /// The envelope's resource name
    name: String,
    /// It lasts this long, and never longer than the envelope; an hour unless given
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..=SECONDS_MAX))]
    seconds: Option<i64>,
    /// Only this alias of those that the grant allows; may be repeated
    #[arg(long, value_name = "ALIAS")]
    model: Vec<String>,
    /// At most this many of its calls under way at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    concurrent_calls: Option<i64>,
}

/// The arguments of `tokens`.
#[derive(Debug, Clone, Args)]
pub struct List {
    /// Only those of this envelope
    #[arg(long, value_name = "NAME")]
    envelope: Option<String>,
    /// How many.
    #[command(flatten)]
    listing: Listing,
}

/// The arguments of `refresh`.
#[derive(Debug, Clone, Args)]
pub struct Refresh {
    /// Its resource name, not the key
    name: String,
    /// From now on, and never longer than the envelope; an hour unless given
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(i64).range(1..=SECONDS_MAX))]
    seconds: Option<i64>,
}

/// The arguments of `revoke`.
#[derive(Debug, Clone, Args)]
pub struct Revoke {
    /// Its resource name, not the key
    name: String,
}

type Envelopes = EnvelopeServiceClient<Authorized>;

/// Where a command writes, and whether as JSON.
type To<'a, 'b> = (&'a mut Output<'b>, bool);

/// Prints the key alone, for a shell to take; with `--json` all there is to it.
pub(super) async fn mint(
    mut envelopes: Envelopes,
    args: Mint,
    (output, json): To<'_, '_>,
) -> Result<ExitCode, Stop> {
    let Mint { name, seconds, model, concurrent_calls } = args;
    let request = MintTokenRequest {
        envelope: name,
        seconds: seconds.unwrap_or_default(),
        models: model,
        concurrent_calls,
    };
    let minted = envelopes.mint_token(request).await.map_err(Error::from)?.into_inner();
    if json {
        output.record(&record(&minted).with("key", minted.key), true)?;
    } else {
        output.write(&format!("{}\n", minted.key))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn list(
    client: Client,
    args: List,
    (output, json): To<'_, '_>,
) -> Result<ExitCode, Stop> {
    let envelope = args.envelope.unwrap_or_default();
    let page = |page_size, page_token| {
        let mut envelopes = client.envelopes();
        let request = ListTokensRequest { page_size, page_token, envelope: envelope.clone() };
        async move {
            let page = envelopes.list_tokens(request).await.map_err(Error::from)?.into_inner();
            Ok((page.tokens, page.next_page_token))
        }
    };
    let found = args.listing.collect(page).await?;
    output.records("tokens", found.iter().map(record).collect(), (json, COLUMNS))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn refresh(
    mut envelopes: Envelopes,
    args: Refresh,
    (output, json): To<'_, '_>,
) -> Result<ExitCode, Stop> {
    let Refresh { name, seconds } = args;
    let request = RefreshTokenRequest { name, seconds: seconds.unwrap_or_default() };
    let token = envelopes.refresh_token(request).await.map_err(Error::from)?.into_inner();
    output.record(&record(&token), json)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn revoke(
    mut envelopes: Envelopes,
    args: Revoke,
    (output, json): To<'_, '_>,
) -> Result<ExitCode, Stop> {
    let request = RevokeTokenRequest { name: args.name };
    let token = envelopes.revoke_token(request).await.map_err(Error::from)?.into_inner();
    output.record(&record(&token), json)?;
    Ok(ExitCode::SUCCESS)
}

/// A key without the key.
fn record(it: &proto::Token) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("envelope", it.envelope.clone())
        .with("user", it.user.clone())
        .with("server", it.server.clone())
        .with("models", it.models.iter().cloned().map(Value::from).collect::<Vec<_>>())
        .with("created_at", Value::text_or_null(&it.created_at))
        .with("expires_at", Value::text_or_null(&it.expires_at))
        .with("revoked_at", Value::text_or_null(&it.revoked_at))
}
