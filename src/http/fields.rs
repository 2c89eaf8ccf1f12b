//! The fields that callers may send, by name and kind. Bodies and query strings are read by the same tables. The API's
//! description shows these tables too.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use futures_util::StreamExt;
use maxim_bus::bounds::{self, BODY_PAUSE, BODY_TIME, Bound, Excess, LIST, VALUE};
use serde_json::{Map, Value, json};

use super::{Problem, Served};

/// How many bytes of a too large body are still read, so that its sender can read the refusal.
const DRAIN: usize = 32 << 20;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// As [`Kind::Words`], with the bound of fields that have none of their own.
    Text,
    /// Text within a bound.
    Words(&'static Bound),
    /// Text that the handler checks against a configured bound, such as `gateway.text_max`.
    Spoken,
    Flag,
    /// Lowest and highest value.
    Number(f64, f64),
    /// Lowest and highest value.
    Whole(u64, u64),
    Object,
    /// Some whole numbers, each between a lowest and a highest value; in a query string, separated by commas.
    Wholes(u64, u64),
    Any,
}

/// A field of a body or a parameter of a query string.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub is_required: bool,
    pub meaning: &'static str,
}

impl Field {
    pub const fn needed(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self { name, kind, is_required: true, meaning }
    }

    pub const fn optional(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self { name, kind, is_required: false, meaning }
    }

    /// Its JSON schema.
    pub fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text | Kind::Words(_) | Kind::Spoken => json!({"type": "string"}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Number(low, high) => json!({"type": "number", "minimum": low, "maximum": high}),
            Kind::Whole(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
            Kind::Object => json!({"type": "object"}),
            Kind::Wholes(low, high) => {
                json!({"type": "array", "items": {"type": "integer", "minimum": low, "maximum": high}, "minItems": 1})
            }
            Kind::Any => json!({}),
        };
        // The schema counts characters, and each has at least one byte: a longer text is refused in any case.
        if let Some(bound) = self.bound().filter(|bound| bound.excess == Excess::Refused) {
            schema["maxLength"] = bound.limit.into();
        }
        schema["description"] = self.meaning.into();
        schema
    }

    /// What bounds its text.
    fn bound(&self) -> Option<&'static Bound> {
        match self.kind {
            Kind::Text => Some(&bounds::FIELD),
            Kind::Words(bound) => Some(bound),
            _ => None,
        }
    }

    /// Cuts or refuses what is beyond its bound, as the table of bounds says.
    fn take(&self, value: &mut Value) -> Result<(), Problem> {
        let too_much = |found: usize, limit: usize| {
            let found = format!("the field {:?} has {found} bytes; at most {limit} are taken", self.name);
            Problem::too_much(found, self.name, limit)
        };
        if let (Some(bound), Some(text)) = (self.bound(), value.as_str()) {
            let taken = bound.take(text).map_err(|much| too_much(much.found, much.limit))?;
            if let Cow::Owned(taken) = taken {
                *value = taken.into();
            }
        }
        if matches!(self.kind, Kind::Object | Kind::Any) {
            let size = value.to_string().len();
            if size > VALUE.limit {
                return Err(too_much(size, VALUE.limit));
            }
        }
        Ok(())
    }

    pub(super) fn expected(&self) -> String {
        match self.kind {
            Kind::Text | Kind::Words(_) | Kind::Spoken => "text".into(),
            Kind::Flag => "true or false".into(),
            Kind::Number(low, high) => format!("a number from {low} to {high}"),
            Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Object => "a JSON object, like {\"x\": 1}".into(),
            Kind::Wholes(low, high) => format!("whole numbers from {low} to {high}, with commas between them"),
            Kind::Any => "anything".into(),
        }
    }

    fn accepts(&self, value: &Value) -> bool {
        match self.kind {
            Kind::Text | Kind::Words(_) | Kind::Spoken => value.is_string(),
            Kind::Flag => value.is_boolean(),
            Kind::Number(low, high) => value.as_f64().is_some_and(|number| (low..=high).contains(&number)),
            Kind::Whole(low, high) => value.as_u64().is_some_and(|number| (low..=high).contains(&number)),
            Kind::Object => value.is_object(),
            Kind::Wholes(low, high) => {
                let fits = |one: &Value| one.as_u64().is_some_and(|number| (low..=high).contains(&number));
                value.as_array().is_some_and(|all| (1..=LIST.limit).contains(&all.len()) && all.iter().all(fits))
            }
            Kind::Any => true,
        }
    }

    /// A word of a query string as this kind; what doesn't fit stays text and is refused by the check.
    fn read(&self, word: &str) -> Value {
        match self.kind {
            Kind::Text | Kind::Words(_) | Kind::Spoken => Value::from(word),
            Kind::Wholes(..) => {
                let numbers: Option<Vec<u64>> = word.split(',').map(|one| one.trim().parse().ok()).collect();
                numbers.map_or_else(|| Value::from(word), Value::from)
            }
            _ => serde_json::from_str(word).unwrap_or_else(|_| Value::from(word)),
        }
    }
}

/// The checked fields of a request.
#[derive(Clone, Debug, Default)]
pub struct Given(pub Map<String, Value>);

impl Given {
    /// Checks names, kinds and what is required; null is absent.
    pub fn check(mut given: Map<String, Value>, fields: &[Field]) -> Result<Self, Problem> {
        given.retain(|_, value| !value.is_null());
        for (name, value) in &mut given {
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                return Err(unknown(name, fields));
            };
            if !field.accepts(value) {
                let found = format!("the field {name:?} is {}", shortened(value));
                return Err(Problem::bad(found, format!("give {}", field.expected())));
            }
            field.take(value)?;
        }
        match fields.iter().find(|field| field.is_required && !given.contains_key(field.name)) {
            Some(field) => {
                let fix = format!("give {:?}: {} ({})", field.name, field.meaning, field.expected());
                Err(Problem::bad(format!("the field {:?} is missing", field.name), fix))
            }
            None => Ok(Self(given)),
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }
}

fn unknown(name: &str, fields: &[Field]) -> Problem {
    let found = format!("the field {:?} is unknown", clipped(name));
    let names = fields.iter().map(|field| field.name);
    let fix = match nearest(&clipped(name), names) {
        Some(near) => format!("did you mean {near:?}?"),
        None if fields.is_empty() => "give no fields".into(),
        None => format!("known are {}", fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")),
    };
    Problem::bad(found, fix)
}

/// The known name that is most like what was given, unless none is.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likely = known.map(|name| (strsim::jaro_winkler(given, name), name)).filter(|(likeness, _)| *likeness >= 0.7);
    // The first of equals, so that the order of the table decides.
    likely
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, name)| name)
}

fn shortened(value: &Value) -> String {
    clipped(&value.to_string())
}

/// As much of a sent text as an error message shows.
fn clipped(text: &str) -> String {
    if text.chars().nth(60).is_none() { text.to_owned() } else { text.chars().take(60).collect::<String>() + "…" }
}

/// The body of a request as a JSON object of these fields. No body is an empty object.
pub async fn body_fields(served: &Arc<Served>, request: Request, fields: &[Field]) -> Result<Given, Problem> {
    query_fields(&request, &[])?;
    let bytes = whole_body(request.into_body(), served.body_max).await?;
    object(&bytes).and_then(|given| Given::check(given, fields))
}

/// The text of a JSON object as its members.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(other) => Err(Problem::bad(format!("the body is {}, not an object", shortened(&other)), "send {…}")),
        // The error names line and column.
        Err(error) => Err(Problem::bad(format!("the body is not JSON: {error}"), "send one JSON object as UTF-8")),
    }
}

/// The query string, typed by its fields.
pub fn query_fields(request: &Request, fields: &[Field]) -> Result<Given, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let mut given = Map::new();
    for (name, word) in reqwest::Url::parse(&format!("http://query/?{query}")).iter().flat_map(|url| url.query_pairs())
    {
        let value =
            fields.iter().find(|field| field.name == name).map_or(Value::from(&*word), |field| field.read(&word));
        if given.insert(name.to_string(), value).is_some() {
            return Err(Problem::bad(format!("the parameter {:?} is given twice", clipped(&name)), "give it once"));
        }
    }
    Given::check(given, fields)
}

/// Reads a body up to `limit` bytes, as long as it keeps coming.
pub async fn whole_body(body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let mut stream = body.into_data_stream();
    let (mut bytes, mut total) = (Vec::new(), 0);
    let (pause, end) = (Duration::from_secs(BODY_PAUSE.limit as u64), Duration::from_secs(BODY_TIME.limit as u64));
    let end = tokio::time::Instant::now() + end;
    loop {
        let next = tokio::time::timeout_at(end.min(tokio::time::Instant::now() + pause), stream.next()).await;
        let Some(chunk) = next.map_err(|_| late_body())? else { break };
        let chunk = chunk.map_err(|error| Problem::bad(format!("the body broke off: {error}"), "send it again"))?;
        total += chunk.len();
        if total <= limit {
            bytes.extend_from_slice(&chunk);
        } else if total > limit + DRAIN {
            break;
        }
    }
    if total > limit {
        let found = format!("the body is larger than {limit} bytes");
        let fix = "send less at once, or raise http.body_max";
        let mut problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, found, fix);
        problem.more.insert("limit_bytes".into(), limit.into());
        return Err(problem);
    }
    Ok(bytes)
}

fn late_body() -> Problem {
    let found = format!(
        "the body didn't arrive: nothing for {} s, or not all of it within {} \
        s",
        BODY_PAUSE.limit, BODY_TIME.limit
    );
    Problem::new(StatusCode::REQUEST_TIMEOUT, found, "send it at once")
}
