//! Concepts over HTTP: what is known in general, what is associated, and the upkeep of both.

use std::sync::Arc;

use axum::extract::{Request, State};
use maxim_actors::memory::angular_gyrus::AngularGyrus;
use maxim_actors::memory::anterior_temporal_lobe::AnteriorTemporalLobe;
use maxim_actors::memory::anterior_temporal_lobe::model::concept_number;
use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::region::Region;
use maxim_actors::sleep::semantic_promoter::SemanticPromoter;
use maxim_bus::bounds;
use maxim_bus::signals::concepts::{
    DocumentIngested, ForgetRecord, IngestDocument, PinRecord, ProposeRelationType, RecordChanged,
};
use maxim_bus::signals::promotion::Promote;
use maxim_bus::{Query, RegionName};
use serde_json::{Value, json};

use super::fields::{Field, Kind, body_fields, query_fields};
use super::memory::{TIME_AFTER, TIME_BEFORE, read_times};
use super::problem::{Answer, ok};
use super::{Problem, Served};

const LIMIT: Field = Field::optional("limit", Kind::Whole(1, 1000), "at most this many; default 5");

pub const CONCEPTS: &[Field] = &[
    Field::optional("query", Kind::Text, "words to look for"),
    Field::optional("name", Kind::Text, "the concept's name, in any spelling"),
    Field::optional("category", Kind::Text, "only concepts of this kind, over any number of steps"),
    Field::optional("concept_id", Kind::Text, "the concept's id, like concept-12"),
    Field::optional("relationship_type", Kind::Text, "only concepts with such a relation, like IS_A"),
    Field::optional("property", Kind::Text, "only concepts with this property"),
    Field::optional("value", Kind::Text, "only where the property has this value"),
    LIMIT,
];
/// Fields that give the start of the activation. Without the first three, it starts at the newest matching episodes.
const STARTS: [&str; 9] =
    ["query", "memory_id", "concept_id", "goal", "tool_name", "success", "object", "person", "mode"];
pub const ASSOCIATED: &[Field] = &[
    Field::optional("query", Kind::Text, "words to start from"),
    Field::optional("memory_id", Kind::Text, "an episode to start from"),
    Field::optional("concept_id", Kind::Text, "a concept to start from"),
    Field::optional("depth", Kind::Whole(1, 6), "hops; default 3"),
    Field::optional("goal", Kind::Text, "only episodes with this goal"),
    Field::optional("tool_name", Kind::Text, "only episodes where this tool was used"),
    Field::optional("success", Kind::Flag, "only episodes that succeeded, or failed"),
    Field::optional("object", Kind::Text, "only episodes with this object"),
    Field::optional("person", Kind::Text, "only episodes with this person"),
    Field::optional("mode", Kind::Text, "only episodes in this mode"),
    Field { meaning: "only episodes from this time on, RFC 3339, or the start of a date", ..TIME_AFTER },
    Field { meaning: "only episodes up to this time, RFC 3339, or the start of a date", ..TIME_BEFORE },
    Field::optional("limit", Kind::Whole(1, 100), "at most this many of each layer; default 5"),
];
pub const INGEST: &[Field] = &[
    Field::needed("document", Kind::Text, "the document's name, as it will be cited"),
    Field::needed("text", Kind::Words(&bounds::DOCUMENT), "its text, or a part of it"),
    Field::optional("markdown", Kind::Flag, "the text is Markdown"),
    Field::optional("passages_before", Kind::Whole(0, 4_000_000_000), "passages that earlier parts had"),
    Field::optional(
        "more",
        Kind::Flag,
        "further parts follow; without it, what is known of the document beyond this \
    part is removed",
    ),
];
const RECORD: Field = Field::needed("id", Kind::Text, "the id of an episode, a concept or a record of numbers");
const FORGETTABLE: Field = Field {
    meaning: "the id of an episode, a concept or a record of numbers, or the name of a document, as it is cited",
    ..RECORD
};
pub const PIN: &[Field] = &[RECORD, Field::optional("pinned", Kind::Flag, "false undoes the pin; default true")];
pub const FORGET: &[Field] = &[FORGETTABLE];
pub const RELATION: &[Field] = &[
    Field::needed("name", Kind::Text, "the type's name, like WORKS_FOR"),
    Field::optional("symmetric", Kind::Flag, "it says the same from both sides"),
    Field::optional("inverse", Kind::Text, "the type that says it from the other side"),
];

/// `GET /v1/memory/concepts`.
pub async fn concepts(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = query_fields(&request, CONCEPTS)?;
    ok(&served.agent.outside.door.inquire("concept_query", Value::Object(given.0)).await?)
}

/// `GET /v1/memory/associated`.
pub async fn associated(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let mut given = query_fields(&request, ASSOCIATED)?;
    read_times(&mut given, &served.zone)?;
    if !STARTS.iter().any(|name| given.0.contains_key(*name)) {
        return Err(Problem::bad("no starting point is given", "give query, memory_id, concept_id or a filter"));
    }
    ok(&served.agent.outside.door.inquire("memory_associated", Value::Object(given.0)).await?)
}

/// `POST /v1/memory/ingest`.
pub async fn ingest(State(served): State<Arc<Served>>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    let given = body_fields(&served, request, INGEST).await?;
    let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
    let mut part = IngestDocument {
        document: text("document"),
        markdown: given.flag("markdown").unwrap_or(false),
        text: text("text"),
        passages_before: given.0.get("passages_before").and_then(Value::as_u64).map_or(0, |n| n as u32),
        lessons_before: 0,
        more: given.flag("more").unwrap_or(false),
    };
    let mut told = DocumentIngested::default();
    loop {
        let answer = served.agent.outside.door.ask(AnteriorTemporalLobe::NAME, part.clone()).await?;
        let learned = answer.created + answer.reinforced + answer.known + answer.changed;
        part.lessons_before += learned + answer.refused.len() as u32;
        told.passages = answer.passages;
        told.created += answer.created;
        told.reinforced += answer.reinforced;
        told.known += answer.known;
        told.changed += answer.changed;
        told.dropped += answer.dropped;
        told.concepts.extend(answer.concepts);
        told.refused.extend(answer.refused);
        if answer.lessons_left == 0 {
            break;
        }
    }
    told.concepts.sort_unstable();
    told.concepts.dedup();
    ok(&json!(told))
}

/// Sends the change to the layer that holds this id. A concept's id shows its layer. Ids of episodes and of records of
/// numbers have the same form, and a document may have any name. So the layers are asked one after the other.
async fn change(served: &Served, id: &str, wish: impl Query<Answer = RecordChanged> + Clone) -> Answer {
    let layers: &[RegionName] = match concept_number(id) {
        Some(_) => &[AnteriorTemporalLobe::NAME],
        None => &[Hippocampus::NAME, AngularGyrus::NAME, AnteriorTemporalLobe::NAME],
    };
    for layer in layers {
        let done = served.agent.outside.door.ask(layer, wish.clone()).await?;
        if done.found {
            return ok(&json!(done));
        }
    }
    Err(Problem::new(
        axum::http::StatusCode::NOT_FOUND,
        format!("there is no record {id:?} in the {}", layers.join(" or the ")),
        "take an id from a recall, from concepts, or from what `maxim memory associated` shows; a document's id is the \
        name under which it was read",
    ))
}

/// `POST /v1/memory/pin`.
pub async fn pin(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = body_fields(&served, request, PIN).await?;
    let id = given.text("id").unwrap_or_default().to_owned();
    let wish = PinRecord { pinned: given.flag("pinned").unwrap_or(true), id };
    change(&served, &wish.id.clone(), wish).await
}

/// `POST /v1/memory/forget`.
pub async fn forget(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = body_fields(&served, request, FORGET).await?;
    let wish = ForgetRecord { id: given.text("id").unwrap_or_default().to_owned() };
    change(&served, &wish.id.clone(), wish).await
}

/// `POST /v1/memory/promote`.
pub async fn promote(State(served): State<Arc<Served>>, request: Request) -> Answer {
    body_fields(&served, request, &[]).await?;
    let wish = Promote { by: "http".into() };
    ok(&json!(served.agent.outside.door.ask(SemanticPromoter::NAME, wish).await?))
}

/// `POST /v1/memory/relation-types`.
pub async fn relation_type(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = body_fields(&served, request, RELATION).await?;
    let proposal = ProposeRelationType {
        name: given.text("name").unwrap_or_default().to_owned(),
        symmetric: given.flag("symmetric").unwrap_or(false),
        inverse: given.text("inverse").map(str::to_owned),
        by: "http".into(),
    };
    ok(&json!(served.agent.outside.door.ask(AnteriorTemporalLobe::NAME, proposal).await?))
}
