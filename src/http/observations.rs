//! What the senses report, by `POST /v1/observations`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::effectors::channels::Submission;
use maxim_bus::Trust;
use maxim_bus::bounds::{self, Bound};
use maxim_bus::signals::percept::PainKind;
use maxim_bus::signals::scene::{Detection, Observed, Pose, READINGS};
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::units::{Confidence, Intensity};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::{Field, Given, Kind, object, query_fields, whole_body};
use super::percepts::{accepted, checked_text};
use super::problem::{Answer, json_answer};
use super::retries::Known;
use super::{Problem, Served};

pub const OBSERVATION: &[Field] = &[
    Field::optional(
        "objects",
        Kind::Any,
        "what is seen: [{name, confidence, box: [left, top, right, bottom] as shares}]",
    ),
    Field::optional("people", Kind::Any, "who is seen, in the same form; a bare name has confidence 1"),
    Field::optional("pose", Kind::Any, "how the body stands: readings by joint or axis, e.g. {\"yaw\": 30, \"z\": -5}"),
    Field::optional("sound", Kind::Any, "a sound that was recognised: {name, confidence}"),
    Field::optional("speech", Kind::Any, "words that were recognised: {text, confidence}"),
    Field::optional("pain", Kind::Any, "what hurts or threatens: {place, intensity, reason}, intensity from 0 to 1"),
    Field::optional(
        "source",
        Kind::Words(&bounds::SOURCE),
        "which sense; a newer report replaces an older one that waits",
    ),
];

/// Detections in one report at most.
const MOST: usize = 64;
/// Recognised words below this confidence are ignored.
const HEARD: f64 = 0.5;

/// Pain that a sense reports. From an intensity of 0.8 on it interrupts what is pursued.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pain {
    place: String,
    intensity: Intensity,
    #[serde(default)]
    reason: String,
}

/// Recognised speech.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Speech {
    text: String,
    confidence: Confidence,
}

/// `POST /v1/observations`. Speech becomes a percept that may stop the agent, but can't command it.
pub async fn observe(State(served): State<Arc<Served>>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    query_fields(&request, &[])?;
    let (head, body) = request.into_parts();
    let bytes = whole_body(body, served.body_max).await?;
    let given = Given::check(object(&bytes)?, OBSERVATION)?;
    let source = given.text("source").unwrap_or("senses").to_owned();
    let (objects, people) = (detections(&given, "objects")?, detections(&given, "people")?);
    let sound = given.0.get("sound").map(|sound| detection("sound", sound)).transpose()?;
    let speech = given.0.get("speech").map(speech).transpose()?;
    let pose = given.0.get("pose").map(pose).transpose()?;
    let pain = given.0.get("pain").map(pain).transpose()?;
    let door = &served.agent.outside.door;
    let id = door.fresh_id();
    let says_more = speech.is_some() || pain.is_some();
    if let Some(Pain { place, intensity, reason }) = pain {
        let (kind, intensity) = (PainKind::External, Some(intensity));
        let strained = BodyStrained { action: None, kind, intensity, place, reason };
        door.put("door", door.fresh_id(), Trust::Sensor, strained);
    }
    if !objects.is_empty() || !people.is_empty() || sound.is_some() || pose.is_some() || !says_more {
        let source = source.clone();
        door.put("door", id, Trust::Sensor, Observed { source, objects, people, sound, pose });
    }
    let mut answer = json!({ "id": id });
    // A stop counts at any confidence.
    if let Some(Speech { text, confidence }) = speech
        && (confidence.get() >= HEARD || door.is_stop(&text))
    {
        let body = checked_text(&served, "speech.text", &text)?;
        let (channel, sender) = ("http".to_owned(), format!("speech:{source}"));
        let Known { provider_id, retry } = Known::of("observation", &head.headers, &bytes)?;
        let submission = Submission { channel, sender, body, provider_id, trust: Trust::Sensor };
        let told = served.agent.outside.http.submit_once(submission, Some(confidence), retry);
        answer["speech"] = json!(accepted(told).await?.percept);
    }
    Ok(json_answer(StatusCode::ACCEPTED, &answer))
}

/// A name within a field that is a structure.
fn within(bound: &Bound, field: &str, text: &str) -> Result<(), Problem> {
    match bound.take(text) {
        Ok(_) => Ok(()),
        Err(much) => Err(Problem::too_much(format!("the field {field:?}: {much}"), field, much.limit)),
    }
}

fn speech(given: &Value) -> Result<Speech, Problem> {
    serde_json::from_value(given.clone()).map_err(|error| {
        Problem::bad(
            format!("the field \"speech\": {error}"),
            "give {\"text\", \"confidence\"}, confidence from 0 to 1",
        )
    })
}

fn pose(given: &Value) -> Result<Pose, Problem> {
    let fix = format!("give numbers by joint or axis, at most {READINGS}, such as {{\"yaw\": 30, \"z\": -5}}");
    let read = serde_json::from_value::<Pose>(given.clone());
    let pose = read.map_err(|error| Problem::bad(format!("the field \"pose\": {error}"), fix.as_str()))?;
    if pose.len() > READINGS || pose.keys().any(|joint| joint.trim().is_empty()) {
        return Err(Problem::bad("the field \"pose\" has too many readings, or a name that is empty", fix));
    }
    pose.keys().try_for_each(|joint| within(&bounds::JOINT, "pose", joint))?;
    Ok(pose)
}

fn pain(given: &Value) -> Result<Pain, Problem> {
    let fix = "give {\"place\", \"intensity\", \"reason\"?}, intensity from 0 to 1, place such as front.bumper";
    let pain: Pain = serde_json::from_value(given.clone())
        .map_err(|error| Problem::bad(format!("the field \"pain\": {error}"), fix))?;
    if pain.place.trim().is_empty() {
        return Err(Problem::bad("the field \"pain\" has no place", fix));
    }
    within(&bounds::PLACE, "pain.place", &pain.place)?;
    within(&bounds::PAIN_REASON, "pain.reason", &pain.reason)?;
    Ok(pain)
}

fn detections(given: &Given, field: &str) -> Result<Vec<Detection>, Problem> {
    let Some(list) = given.0.get(field) else { return Ok(Vec::new()) };
    let Some(list) = list.as_array().filter(|list| list.len() <= MOST) else {
        let fix = format!("give a list of at most {MOST} detections");
        return Err(Problem::bad(format!("the field {field:?} is no such list"), fix));
    };
    list.iter().map(|one| detection(field, one)).collect()
}

fn detection(field: &str, given: &Value) -> Result<Detection, Problem> {
    let fix = "give {\"name\", \"confidence\", \"box\"?}; confidence and the four sides of the box are from 0 to 1";
    if let Some(name) = given.as_str().filter(|name| !name.trim().is_empty()) {
        within(&bounds::OBJECT, field, name)?;
        return Ok(Detection { name: name.to_owned(), confidence: Confidence::clamped(1.0), frame: None });
    }
    let seen: Detection = serde_json::from_value(given.clone())
        .map_err(|error| Problem::bad(format!("a detection in {field:?}: {error}"), fix))?;
    within(&bounds::OBJECT, field, &seen.name)?;
    let in_picture = |frame: [f64; 4]| frame.iter().all(|side| (0.0..=1.0).contains(side));
    if seen.name.trim().is_empty() || !seen.frame.is_none_or(in_picture) {
        return Err(Problem::bad(
            format!("a detection in {field:?} has no name, or a box outside of the picture"),
            fix,
        ));
    }
    Ok(seen)
}
