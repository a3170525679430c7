//! Shows a streamed reply as it comes.

use super::{
    super::{
        output::{Output, plain_lines},
        record::Record,
        stop::Stop,
        words::need,
    },
    report,
};
use crate::{
    client::{Client, Error},
    proto::{
        CreateMessageRequest, CreateMessageResponse, StreamMessageRequest,
        stream_message_response::Event,
    },
};

/// One line of JSON an event; the reply is left to the caller.
pub(super) async fn as_json(
    client: &Client,
    request: CreateMessageRequest,
    output: &mut Output<'_>,
) -> Result<CreateMessageResponse, Stop> {
    let show = |event: &Event| match event {
        Event::Started(it) => output.json(
            &Record::new()
                .with("event", "started".to_owned())
                .with("call", it.call.clone())
                .with("attempt", it.attempt)
                .with("envelope", it.envelope.clone())
                .with("max_tokens", it.max_tokens),
        ),
        Event::Text(it) => output
            .json(&Record::new().with("event", "text".to_owned()).with("text", it.text.clone())),
        Event::Done(_) => Ok(()),
    };
    follow(client, request, show).await
}

/// The text itself, and what of it only the reply holds (as in a replayed one).
pub(super) async fn as_text(
    client: &Client,
    request: CreateMessageRequest,
    output: &mut Output<'_>,
) -> Result<CreateMessageResponse, Stop> {
    let (mut shown_bytes, mut ends_line) = (0, true);
    let show = |event: &Event| match event {
        Event::Started(_) | Event::Done(_) => Ok(()),
        Event::Text(it) => {
            shown_bytes += it.text.len();
            ends_line = if it.text.is_empty() { ends_line } else { it.text.ends_with('\n') };
            output.write(&plain_lines(&it.text))
        }
    };
    let followed = follow(client, request, show).await;
    let text = followed.as_ref().ok().and_then(report::text_of).unwrap_or_default();
    let rest = text.get(shown_bytes..).unwrap_or_default();
    output.write(&plain_lines(rest))?;
    if !(if rest.is_empty() { ends_line } else { rest.ends_with('\n') }) {
        output.write("\n")?;
    }
    if shown_bytes + rest.len() > 0 {
        output.write("\n")?;
    }
    followed
}

async fn follow(
    client: &Client,
    request: CreateMessageRequest,
    mut show: impl FnMut(&Event) -> Result<(), Stop>,
) -> Result<CreateMessageResponse, Stop> {
    let request = StreamMessageRequest { request: Some(request) };
    let mut sampling = client.sampling();
    let mut events = sampling.stream_message(request).await.map_err(Error::from)?.into_inner();
    while let Some(message) = events.message().await.map_err(Error::from)? {
        match message.event {
            Some(Event::Done(reply)) => return Ok(reply),
            Some(event) => show(&event)?,
            // An event of a later version of the service.
            None => {}
        }
    }
    need(None)
}
