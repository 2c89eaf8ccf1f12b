//! http_fetch: a page of the web, as text.

use std::time::Duration;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::fetch::{Reach, get};
use super::text;
use crate::{ErrorKind, FollowUp, Hands, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Bytes taken of a page, at most.
const MOST: u64 = 4 * 1024 * 1024;
/// The longest a fetch may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Gets a page. Output: `url` (the final one), `status`, `content_type`, `title`, `text` (null if it isn't text),
/// `bytes`, `redirects`, and `cut` in words if something was left out. It succeeds on a status from 200 to 299.
pub struct HttpFetch {
    spec: ToolSpec,
    reach: Reach,
}

impl HttpFetch {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::within(Reach::public())
    }

    pub(super) fn within(reach: Reach) -> Self {
        let spec = ToolSpec::new(
            "http_fetch",
            "Reads a page of the public web and gives its text. It reads only: nothing is sent but the address.",
        )
        .with_parameters(
            json!({
                "url": {"type": "string", "minLength": 4, "maxLength": 4000, "description": "an address such as https://example.org/page"},
                "raw": {"type": "boolean", "default": false, "description": "the page's own source instead of its text"},
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "the first character of the text to show"},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 30, "description": "given up after this"},
            }),
            &["url"],
        )
        .with_aliases(&[("uri", "url"), ("address", "url"), ("link", "url"), ("href", "url"), ("timeout", "timeout_seconds")])
        .with_example(json!({"url": "https://example.org/"}))
        .with_speech(
            &["fetch", "get", "read", "open", "load", "download", "visit", "browse"],
            &["{verb} [me] [the] (page|web page|website|site|url|link|address) {url:path}"],
        )
        .with_speech(&["fetch", "visit", "browse", "browse to", "surf to"], &["{verb} {url:path}"])
        .with_speech(&[], &["what does [the] (page|web page|website|site) {url:path} say", "what (is|does it say) on [the] (page|web page|website|site) {url:path}"]);
        Self { spec: ToolSpec { follow_up: FollowUp::Process, brings_outside_text: true, ..spec }, reach }
    }
}

impl Tool for HttpFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        fetch(&self.reach, params, hands).into()
    }
}

fn fetch(reach: &Reach, params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    if !hands.web {
        let message = "reading the web is switched off; a person allows it by tools.web in the configuration, or gives it back with `maxim powers restore`";
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    let asked = params["timeout_seconds"].as_u64().map_or(PATIENCE, Duration::from_secs);
    let deadline = asked.min(PATIENCE).min(hands.deadline);
    let page = get(reach, params["url"].as_str().unwrap_or_default(), MOST, deadline)?;
    let raw = params["raw"].as_bool().unwrap_or(false);
    let kind = if raw { "text/plain".to_owned() } else { page.content_type.clone() };
    let whole = match text::of(&page.body, &page.content_type) {
        Some(_) if raw => text::of(&page.body, &kind),
        said => said,
    };
    let mut cut = Vec::new();
    if page.is_cut {
        cut.push(format!("only the first {MOST} bytes of the page were taken"));
    }
    let shown = whole.as_deref().map(|whole| {
        let offset = usize::try_from(params["offset"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
        let from = whole.char_indices().nth(offset).map_or(whole.len(), |(at, _)| at);
        let rest = &whole[from..];
        let end = rest.floor_char_boundary(hands.output_cap.min(rest.len()));
        if end < rest.len() {
            let next = offset + rest[..end].chars().count();
            cut.push(format!(
                "{} more characters are left out; read on with offset {next}",
                rest[end..].chars().count()
            ));
        }
        rest[..end].to_owned()
    });
    if shown.is_none() {
        cut.push("it is no text".into());
    }
    let mut output = json!({
        "url": page.url.as_str(),
        "status": page.status,
        "content_type": page.content_type,
        "title": text::title(&page.body, &page.content_type),
        "text": shown,
        "bytes": page.body.len(),
        "redirects": page.redirects,
    });
    if !cut.is_empty() {
        output["cut"] = cut.join("; ").into();
    }
    if (200..300).contains(&page.status) {
        return Ok(ToolOutcome::done(output));
    }
    let kind = if matches!(page.status, 404 | 410) { ErrorKind::NotFound } else { ErrorKind::Failed };
    let message = format!("{} answered with status {}", page.url, page.status);
    Ok(ToolOutcome::failed(ToolFailure::new(kind, message)).with_output(output))
}
