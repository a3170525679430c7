//! A backend that plays what the last user message scripts, so that any host can
//! provoke any behaviour from outside. Never part of a production configuration.
//!
//! The message holds `@script` and one JSON object, with any text around both.
//! Without it comes a short fixed reply. A script that cannot be read is answered
//! as a vendor answers a bad request: with status 400.

mod plan;
mod script;

use std::{sync::Arc, vec};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};

use self::plan::Step;
use super::{Backend, Cause, Error, Event, Events, Prompt};
use crate::domain::model::Profile;

/// The scripted backend. It keeps nothing between calls.
#[derive(Debug, Clone, Default)]
pub struct Scripted {
    profile: Profile,
}

// === impl Scripted ===

impl Scripted {
    /// One with the default profile.
    pub fn new() -> Self {
        Self::default()
    }

    /// One with these ways, such as an end of billing on disconnect.
    pub fn with_profile(profile: Profile) -> Self {
        Self { profile }
    }
}

#[async_trait]
impl Backend for Scripted {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn start(&self, prompt: Arc<Prompt>) -> Result<Events, Error> {
        let script = script::find(&prompt).map_err(|script::Malformed| Cause::Status(400))?;
        if let Some(refusal) = plan::refusal(&script) {
            tokio::time::sleep(script.first_delay).await;
            return Err(refusal);
        }
        Ok(play(plan::steps(&script, &prompt).into_iter()))
    }
}

/// Plays the steps as they are asked for: no task runs ahead of the reader.
fn play(steps: vec::IntoIter<Step>) -> Events {
    stream::unfold(steps, |mut steps| async move {
        let event = next_event(&mut steps).await?;
        Some((event, steps))
    })
    .boxed()
}

async fn next_event(steps: &mut vec::IntoIter<Step>) -> Option<Result<Event, Error>> {
    loop {
        match steps.next()? {
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Emit(event) => return Some(Ok(event)),
            Step::Fail(cause) => return Some(Err(cause.into())),
            Step::Stall => std::future::pending().await,
        }
    }
}
