//! `POST /hooks/{channel}`: posts of providers. The channel checks the signature. A valid post is answered once it is
//! on disk, so that its provider redelivers what was lost.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maxim_actors::effectors::channels::outside::{HookAnswer, HookRefused, HookRequest, Hooked, Inlet, Taken};
use maxim_bus::bounds::HOOK;

use super::fields::whole_body;
use super::{Problem, Served};
use crate::standard_error;

/// Largest body, in bytes: far more than any provider sends.
const LARGEST: usize = HOOK.limit;

/// `POST /hooks/{channel}`.
pub async fn hook(
    State(served): State<Arc<Served>>,
    Path(channel): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    served.refuse_while_draining()?;
    let nothing = |why: String| Problem::new(StatusCode::NOT_FOUND, why, to_be_called(&channel));
    let Some(line) = served.channels.line(&channel) else {
        return Err(nothing(format!("there is no channel {channel:?}")));
    };
    let (parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let headers: Vec<(String, String)> = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let body = whole_body(body, LARGEST.min(served.body_max)).await?;
    let request = HookRequest { headers: &headers, target: &target, body: &body };
    let now = served.agent.outside.door.now();
    let Hooked { messages, answer } = line.hook(&request, now).map_err(|refused| match refused {
        HookRefused::NotHere => nothing(format!("the channel {channel} accepts no posts here")),
        HookRefused::Forged(why) => {
            let fix = "nothing was accepted; deploy/guide/src/channels.md says how the channel is set up";
            Problem::new(StatusCode::FORBIDDEN, why, fix)
        }
        HookRefused::Stale(why) => Problem::new(StatusCode::FORBIDDEN, why, "nothing was accepted; send it again"),
        HookRefused::Malformed(why) => Problem::bad(why, "nothing was accepted; correct the request"),
    })?;
    if let Some(desk) = served.agent.outside.desk(&channel) {
        let tell = Arc::new(|text: String| standard_error::tell(text));
        let inlet = Inlet::new(Arc::clone(line), desk, tell);
        for message in messages {
            match inlet.take(message).await {
                Ok(Taken::Durable(_) | Taken::Repeated) => {}
                Ok(Taken::Limited { retry_after_s, .. }) => {
                    line.count("limited");
                    return Err(too_many(&channel, retry_after_s));
                }
                Err(why) => {
                    let fix = "send it again; see \"disk\" and the rooms in `maxim status`";
                    return Err(Problem::later(format!("it could not be made durable: {why}"), fix));
                }
            }
        }
    }
    let HookAnswer { content_type, body } = answer;
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, content_type)], body).into_response())
}

/// The fix for a channel that accepts no posts.
fn to_be_called(channel: &str) -> &'static str {
    match channel {
        "slack" => "set channels.slack.signing_secret_file",
        "twilio" => "set channels.twilio.account_sid, auth_token_file, from and public_url",
        "discord" => "set channels.discord.public_key",
        "mqtt" | "telegram" | "email" => "its messages are fetched from the provider, so it needs no posts",
        _ => "the channels with posts are slack, twilio and discord",
    }
}

fn too_many(channel: &str, retry_after_s: u64) -> Problem {
    let found = format!("more messages came on {channel} than are accepted in a minute");
    let fix = format!("send it again later, or raise channels.{channel}.per_sender and per_channel");
    let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, found, fix);
    problem.retry_after = Some(u32::try_from(retry_after_s).unwrap_or(u32::MAX));
    problem
}
