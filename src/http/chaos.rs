//! Breaking parts on purpose, on a daemon that was started with `--chaos`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::region::{Order, WardState};
use serde_json::{Value, json};

use super::fields::{Field, Kind, body_fields, nearest, query_fields};
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// How long a hang blocks its thread.
const HANG: Duration = Duration::from_secs(5);

pub const VICTIM: &[Field] = &[Field::needed("region", Kind::Text, "the region or effector")];

fn allowed(served: &Served) -> Result<(), Problem> {
    if served.chaos {
        return Ok(());
    }
    let found = "this daemon was started without --chaos";
    Err(Problem::new(StatusCode::FORBIDDEN, found, "start it with `maxim run --chaos`, never where it matters"))
}

async fn order(served: Arc<Served>, request: Request, word: &str, order: Order) -> Answer {
    allowed(&served)?;
    let given = body_fields(&served, request, VICTIM).await?;
    let name = given.text("region").unwrap_or_default();
    let Some(heart) = served.agent.supervision.heart(name) else {
        let near = nearest(name, served.agent.parts.iter().map(|part| part.name));
        let fix = near.map_or("see GET /v1/chaos for the names".into(), |near| format!("did you mean {near:?}?"));
        return Err(Problem::new(StatusCode::NOT_FOUND, format!("the region {name:?} is unknown"), fix));
    };
    if heart.state() == WardState::Off {
        let found = format!("{name} is off");
        return Err(Problem::new(StatusCode::CONFLICT, found, "break one that runs; see GET /v1/chaos"));
    }
    let restarts = heart.restarts();
    heart.order(order);
    ok(&json!({"ordered": word, "region": heart.name(), "restarts_before": restarts}))
}

/// `POST /v1/chaos/panic`.
pub async fn panic(State(served): State<Arc<Served>>, request: Request) -> Answer {
    order(served, request, "panic", Order::Panic).await
}

/// `POST /v1/chaos/hang`.
pub async fn hang(State(served): State<Arc<Served>>, request: Request) -> Answer {
    order(served, request, "hang", Order::Hang(HANG)).await
}

/// `POST /v1/chaos/kill`.
pub async fn kill(State(served): State<Arc<Served>>, request: Request) -> Answer {
    order(served, request, "kill", Order::Kill).await
}

/// `POST /v1/chaos/fail-disk`.
pub async fn fail_disk(State(served): State<Arc<Served>>, request: Request) -> Answer {
    allowed(&served)?;
    body_fields(&served, request, &[]).await?;
    served.store.faults().fail();
    ok(&json!({"disk": "fails"}))
}

/// `POST /v1/chaos/restore-disk`.
pub async fn restore_disk(State(served): State<Arc<Served>>, request: Request) -> Answer {
    allowed(&served)?;
    body_fields(&served, request, &[]).await?;
    served.store.faults().restore();
    ok(&json!({"disk": "works"}))
}

/// `GET /v1/chaos`: what can be broken.
pub async fn list(State(served): State<Arc<Served>>, request: Request) -> Answer {
    allowed(&served)?;
    query_fields(&request, &[])?;
    let hearts = served.agent.supervision.hearts();
    let regions: Vec<Value> = hearts
        .iter()
        .filter(|heart| heart.state() != WardState::Off)
        .map(|heart| {
            let (kind, state) = (heart.kind(), heart.state());
            json!({"name": heart.name(), "kind": kind, "state": state, "restarts": heart.restarts()})
        })
        .collect();
    let disk = if served.store.faults().is_working() { "works" } else { "fails" };
    ok(&json!({"regions": regions, "disk": disk}))
}
