//! `bursar envelope`: the allowances themselves.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{
    allowance::{Allowance, Listing},
    describe,
    output::Output,
    stop::Stop,
    target::{Common, Role},
    token, words,
};
use crate::{
    client::{Client, Error},
    proto::{
        CloseEnvelopeRequest, GetEnvelopeRequest, Landing, ListEnvelopesRequest, Money,
        OpenEnvelopeRequest,
    },
};

const COLUMNS: &[&str] = &["name", "state", "user", "server", "left", "closes_at"];

/// The arguments of `envelope`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  bursar envelope open --calls 5 --seconds 60 --money 0.10
  bursar envelope list
  bursar envelope close tenants/T/envelopes/E
  export OPENAI_API_KEY=$(bursar envelope token tenants/T/envelopes/E)")]
pub struct Envelope {
    /// Where to, and how to print.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with envelopes.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Open one inside a user's grant for a server
    Open(Open),
    /// Show one: its bounds, what is left, what stands against each limit
    Show {
        /// Its resource name
        name: String,
    },
    /// List them, newest first
    List {
        /// Only this user's
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        /// Only this server's
        #[arg(long, value_name = "ID")]
        server: Option<String>,
        /// Only those that stand in this envelope
        #[arg(long, value_name = "NAME")]
        parent: Option<String>,
        /// How many.
        #[command(flatten)]
        listing: Listing,
    },
    /// End one and all that stand in it: running calls settle, new ones are refused
    Close {
        /// Its resource name
        name: String,
    },
    /// Print a key that is this envelope, for a server that calls an LLM API directly
    Token(token::Mint),
    /// List such keys, newest first
    Tokens(token::List),
    /// Let such a key last longer
    Refresh(token::Refresh),
    /// End such a key at once
    Revoke(token::Revoke),
}

/// The arguments of `open`.
#[derive(Debug, Clone, Args)]
pub struct Open {
    /// On whose behalf, as the host knows the person
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// For which MCP server, as the host knows it
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Inside this envelope, which it shares what is left of
    #[arg(long, value_name = "NAME")]
    parent: Option<String>,
    /// The bounds.
    #[command(flatten)]
    allowance: Allowance,
    /// Keep this much for a last call that concludes
    #[arg(long, value_name = "AMOUNT", value_parser = words::money)]
    landing_reserve: Option<Money>,
    /// Let the last call generate at least this many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    landing_tokens: Option<i64>,
    /// Makes a retry safe: the same id opens no second envelope
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

pub(super) async fn run(args: Envelope, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let (client, resolved) = args.common.target.connect(Role::Host).await?;
    let mut envelopes = client.envelopes();
    let envelope = match args.action {
        Action::List { user, server, parent, listing } => {
            let found = list(&client, [user, server, parent], listing).await?;
            let records = found.iter().map(describe::envelope).collect();
            output.records("envelopes", records, (args.common.json, COLUMNS))?;
            return Ok(ExitCode::SUCCESS);
        }
        Action::Open(open) => {
            let user = resolved.user(open.user.as_deref())?;
            let server = resolved.server(open.server.as_deref())?;
            envelopes.open_envelope(open.request(user, server)).await
        }
        Action::Show { name } => envelopes.get_envelope(GetEnvelopeRequest { name }).await,
        Action::Close { name } => envelopes.close_envelope(CloseEnvelopeRequest { name }).await,
        Action::Token(it) => return token::mint(envelopes, it, (output, args.common.json)).await,
        Action::Tokens(it) => return token::list(client, it, (output, args.common.json)).await,
        Action::Refresh(it) => {
            return token::refresh(envelopes, it, (output, args.common.json)).await;
        }
        Action::Revoke(it) => {
            return token::revoke(envelopes, it, (output, args.common.json)).await;
        }
    };
    let envelope = envelope.map_err(Error::from)?.into_inner();
    output.record(&describe::envelope(&envelope), args.common.json)?;
    Ok(ExitCode::SUCCESS)
}

async fn list(
    client: &Client,
    filters: [Option<String>; 3],
    listing: Listing,
) -> Result<Vec<crate::proto::Envelope>, Stop> {
    let [user, server, parent] = filters.map(Option::unwrap_or_default);
    let page = |page_size, page_token| {
        let mut envelopes = client.envelopes();
        let (user, server, parent) = (user.clone(), server.clone(), parent.clone());
        let request = ListEnvelopesRequest { page_size, page_token, user, server, parent };
        async move {
            let page = envelopes.list_envelopes(request).await.map_err(Error::from)?.into_inner();
            Ok((page.envelopes, page.next_page_token))
        }
    };
    listing.collect(page).await
}

impl Open {
    fn request(self, user: String, server: String) -> OpenEnvelopeRequest {
        let mut limits = self.allowance.limits();
        if self.landing_reserve.is_some() || self.landing_tokens.is_some() {
            limits.get_or_insert_default().landing = Some(Landing {
                reserve: self.landing_reserve,
                tokens: self.landing_tokens.unwrap_or_default(),
            });
        }
        let request_id = self.request_id.unwrap_or_default();
        let parent = self.parent.unwrap_or_default();
        OpenEnvelopeRequest { user, server, limits, request_id, parent }
    }
}
