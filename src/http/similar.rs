//! Similarity search over HTTP, the same as the tool similarity_search.

use std::sync::Arc;

use axum::extract::{Request, State};

use super::fields::{Field, Kind, query_fields};
use super::memory::{LIMIT, TIME_AFTER, TIME_BEFORE, ask, read_times};
use super::problem::Answer;
use super::{Problem, Served};

/// Fields to compare with. The others only filter the memories.
const CUES: [&str; 6] = ["memory_id", "context", "tool_name", "goal", "object", "person"];
pub const SIMILAR: &[Field] = &[
    Field::optional("memory_id", Kind::Text, "similar to this memory"),
    Field::optional("context", Kind::Text, "similar to these circumstances, in words"),
    Field::optional("tool_name", Kind::Text, "similar to uses of this tool"),
    Field::optional("goal", Kind::Text, "with a similar goal"),
    Field::optional("object", Kind::Text, "with this object"),
    Field::optional("person", Kind::Text, "with this person"),
    Field::optional("mode", Kind::Text, "only in this mode"),
    Field::optional("success", Kind::Flag, "only what succeeded, or failed"),
    Field::optional("layer", Kind::Text, "only of this layer of memory, such as hippocampus"),
    TIME_AFTER,
    TIME_BEFORE,
    LIMIT,
];

/// `GET /v1/memory/similar`.
pub async fn similar(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let mut given = query_fields(&request, SIMILAR)?;
    read_times(&mut given, &served.zone)?;
    if !CUES.iter().any(|name| given.0.contains_key(*name)) {
        let fix = "give memory_id, context, tool_name, goal, object or person";
        return Err(Problem::bad("nothing is given to compare with".to_owned(), fix));
    }
    ask(&served, "similarity_search", given).await
}
