//! Every path, in one table: the router is made of it, and so is the API's description.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::routing::{MethodRouter, delete, get, post};
use serde_json::Value;

use super::fields::Field;
use super::{
    Problem, Served, chaos, completions, concepts, events, fears, goals, hooks, layers, memory, metrics, observations,
    openapi, outbox, page, percepts, powers, preempt, prompt, safety, sessions, similar, socket, status, tools, why,
    working,
};

/// The kind of a body.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    None,
    /// An object of these fields.
    Object(&'static [Field]),
    /// JSON of this schema, for an interface that others have defined.
    Schema(fn() -> Value),
    /// JSON lines.
    Lines,
    /// A body that its provider has signed.
    Signed,
}

/// Who may use a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Callers that show the token or a session's key.
    Owner,
    /// Every program of this machine, and the owner from elsewhere.
    Stop,
    /// Pages that may use the door, and clients that are no pages.
    Page,
    /// Everybody.
    Probe,
    /// Providers, who sign what they post.
    Signed,
}

/// One thing that can be done.
pub struct Route {
    pub access: Access,
    pub method: &'static str,
    pub path: &'static str,
    pub summary: &'static str,
    pub query: &'static [Field],
    pub body: Body,
    /// Status codes beside those that every path may answer (401, 403, 404, 405, 429), with their meaning.
    pub answers: &'static [(u16, &'static str)],
    handler: fn() -> MethodRouter<Arc<Served>>,
}

const fn read(
    path: &'static str,
    summary: &'static str,
    query: &'static [Field],
    answers: &'static [(u16, &'static str)],
    handler: fn() -> MethodRouter<Arc<Served>>,
) -> Route {
    Route { access: Access::Owner, method: "get", path, summary, query, body: Body::None, answers, handler }
}

const fn act(
    path: &'static str,
    summary: &'static str,
    fields: &'static [Field],
    answers: &'static [(u16, &'static str)],
    handler: fn() -> MethodRouter<Arc<Served>>,
) -> Route {
    Route {
        access: Access::Owner,
        method: "post",
        path,
        summary,
        query: &[],
        body: Body::Object(fields),
        answers,
        handler,
    }
}

const fn open(access: Access, route: Route) -> Route {
    Route { access, ..route }
}

const OK: &[(u16, &str)] = &[(200, "done")];
const LATER: (u16, &str) = (503, "not now; Retry-After says when");
const CONFLICT: (u16, &str) = (409, "it is not in a state for that");

/// All routes.
pub const ROUTES: &[Route] = &[
    act(
        "/v1/percepts",
        "Say something to the agent",
        percepts::PERCEPT,
        &[
            (200, "the turn is over: {id, reply, actions}"),
            (202, "it is on disk: {id, durable}"),
            (413, "too long"),
            LATER,
        ],
        || post(percepts::perceive),
    ),
    act(
        "/v1/observations",
        "What the senses report: conflated per source",
        observations::OBSERVATION,
        &[(202, "taken: {id}"), LATER],
        || post(observations::observe),
    ),
    read("/v1/status", "The health of every part", &[], OK, || get(status::status)),
    open(
        Access::Stop,
        act(
            "/v1/stop",
            "Stop everything at once; latched until reset; needs no token from this machine",
            preempt::STOP,
            &[(200, "stopped: {latched, latency_us, durable, cancelled, processes_killed}")],
            || post(preempt::stop),
        ),
    ),
    act("/v1/reset", "Clear the stop; motion stays held", &[], &[(200, "done"), CONFLICT], || post(preempt::reset)),
    act("/v1/resume", "Let motion and held rooms go on", &[], &[(200, "done"), CONFLICT], || post(preempt::resume)),
    act("/v1/hold", "Let the loop cycle without proposing", preempt::HOLD, &[(200, "held"), LATER], || {
        post(preempt::hold)
    }),
    act("/v1/redirect", "Put another goal in front", preempt::REDIRECT, &[(200, "done"), LATER], || {
        post(preempt::redirect)
    }),
    read(
        "/v1/goals",
        "What is pursued, what waits, and what came of the rest",
        &[],
        &[(200, "{goals}"), LATER],
        || get(goals::goals),
    ),
    act("/v1/goals", "Give it a goal", goals::GOAL, &[(200, "{goals}"), LATER], || post(goals::propose)),
    act(
        "/v1/goals/{id}",
        "Resume a suspended goal, or give it up",
        goals::WISH,
        &[(200, "{goals}"), (404, "no such goal"), CONFLICT, LATER],
        || post(goals::decide),
    ),
    read("/v1/powers", "What the agent may do now", &[], &[(200, "{powers, lowered, names}"), LATER], || {
        get(powers::powers)
    }),
    act(
        "/v1/powers/restore",
        "Restore the powers that the agent has lowered",
        &[],
        &[(200, "{powers, lowered, names}"), LATER],
        || post(powers::restore),
    ),
    read(
        "/v1/events",
        "Server-sent events of the bus; resumed by Last-Event-ID",
        events::EVENTS,
        &[(200, "a stream of text/event-stream")],
        || get(events::events),
    ),
    read("/v1/memory/recall", "Episodes, best first", memory::RECALL, &[(200, "{results}"), LATER], || {
        get(memory::recall)
    }),
    read("/v1/memory/stats", "What each room holds", &[], &[(200, "{regions, missing}"), LATER], || get(memory::stats)),
    read(
        "/v1/memory/working",
        "What is on the mind, the newest last",
        working::WORKING,
        &[(200, "{results}"), LATER],
        || get(working::working),
    ),
    read("/v1/memory/predict", "What a tool would lead to", memory::PREDICT, &[(200, "the prediction"), LATER], || {
        get(memory::predict)
    }),
    read("/v1/memory/temporal", "What happens at such times", memory::TEMPORAL, &[(200, "the time"), LATER], || {
        get(memory::temporal)
    }),
    read("/v1/memory/concepts", "Concepts, best first", concepts::CONCEPTS, &[(200, "{results}"), LATER], || {
        get(concepts::concepts)
    }),
    read(
        "/v1/memory/associated",
        "What is associated with records, or with the results of a question",
        concepts::ASSOCIATED,
        &[(200, "{results, concepts, others, missing}"), LATER],
        || get(concepts::associated),
    ),
    act(
        "/v1/memory/ingest",
        "Learn from the text of a document; durable when answered",
        concepts::INGEST,
        &[(200, "{passages, created, reinforced, known, concepts, refused}"), (413, "too long"), LATER],
        || post(concepts::ingest),
    ),
    act("/v1/memory/pin", "Keep a record for good", concepts::PIN, &[(200, "{layer, id, found, what}"), LATER], || {
        post(concepts::pin)
    }),
    act(
        "/v1/memory/forget",
        "Delete a record for good, with its edges",
        concepts::FORGET,
        &[(200, "{layer, id, found, what}"), LATER],
        || post(concepts::forget),
    ),
    act(
        "/v1/memory/promote",
        "Make concepts from what repeats, now",
        &[],
        &[(200, "{offered, verdicts, sources, created, reinforced, …}"), LATER],
        || post(concepts::promote),
    ),
    act(
        "/v1/memory/relation-types",
        "Register a type of relation between concepts",
        concepts::RELATION,
        &[(200, "{name, accepted, reason}"), LATER],
        || post(concepts::relation_type),
    ),
    read("/v1/memory/similar", "Most similar situations", similar::SIMILAR, &[(200, "{results}"), LATER], || {
        get(similar::similar)
    }),
    read("/v1/memory/causal", "What led to what", memory::CAUSAL, &[(200, "{results, found}"), LATER], || {
        get(memory::causal)
    }),
    Route {
        access: Access::Owner,
        method: "post",
        path: "/v1/memory/import",
        summary: "Import episodes, or a whole export, as JSON lines; durable when answered",
        query: memory::IMPORT,
        body: Body::Lines,
        answers: &[
            (200, "{imported, merged, skipped: {known, unremarkable}, edges_left_out, errors: [{line, reason}]}"),
            (413, "too long"),
            LATER,
        ],
        handler: || post(memory::import),
    },
    read(
        "/v1/memory/export",
        "A page of all memory as it is stored",
        layers::EXPORT,
        &[(200, "{lines, next}: texts of JSON, and where to continue")],
        || get(layers::export),
    ),
    act(
        "/v1/memory/sleep",
        "Sleep now: score, promote, compress and prune what is remembered",
        &[],
        &[(200, "the report of the sleep"), LATER],
        || post(memory::sleep),
    ),
    act("/v1/memory/verify", "Read everything on disk", &[], &[(200, "{ok, bad, …}")], || post(memory::verify)),
    act(
        "/v1/memory/backup",
        "Copy the store while it runs",
        memory::BACKUP,
        &[(200, "{place, …}"), CONFLICT],
        || post(memory::backup),
    ),
    read("/v1/tools", "What the agent can do, and who offers it", &[], &[(200, "{tools, servers}")], || {
        get(tools::tools)
    }),
    act(
        "/v1/introspection/{tool}",
        "Ask the brain about itself, by one of its read-only tools",
        tools::QUESTION,
        &[(200, "what the tool gives"), LATER],
        || post(tools::inquire),
    ),
    read("/v1/why/{id}", "Why a turn, action or intent came about; `last` is the newest", &[], OK, || get(why::why)),
    read(
        "/v1/prompt",
        "The last prompt that a model was shown, and what was left out of it",
        &[],
        &[(200, "{system, user, tokens, budget, sections, tools, replies}"), (404, "no model was asked yet")],
        || get(prompt::prompt),
    ),
    read("/v1/dead-letters", "Messages that rooms failed on twice", &[], OK, || get(safety::dead_letters)),
    read(
        "/v1/fears",
        "What the gate has learned to fear",
        &[],
        &[(200, "{fears, veto_confidence, veto_value}"), LATER],
        || get(fears::fears),
    ),
    read(
        "/v1/fears/{tool}",
        "Why a tool is feared, or isn't",
        &[],
        &[(200, "{tool, fear, expected, veto}"), LATER],
        || get(fears::fear),
    ),
    act(
        "/v1/fears/{tool}",
        "Pin or forgive the fear of a tool",
        fears::WISH,
        &[(200, "{fears, veto_confidence, veto_value}"), CONFLICT, LATER],
        || post(fears::change),
    ),
    read("/v1/approvals", "What the gate asks a person", &[], OK, || get(safety::approvals)),
    read(
        "/v1/approvals/grants",
        "Standing grants, and what each of them covers",
        &[],
        &[(200, "{grants, most}"), LATER],
        || get(safety::grants),
    ),
    Route {
        access: Access::Owner,
        method: "delete",
        path: "/v1/approvals/grants/{id}",
        summary: "Revoke a standing grant",
        query: &[],
        body: Body::None,
        answers: &[(200, "it is on disk: {grants, most}"), (404, "there is no such grant"), LATER],
        handler: || delete(safety::revoke),
    },
    act(
        "/v1/approvals/{id}",
        "Answer the gate",
        safety::DECISION,
        &[
            (200, "it is on disk: {id, allow, always, granted}"),
            (404, "there is no such open question"),
            (409, "it can't be granted like this; the question is still open"),
            LATER,
        ],
        || post(safety::decide),
    ),
    Route {
        access: Access::Owner,
        method: "post",
        path: "/v1/chat/completions",
        summary: "Talk to it as to a language model: the last message of the user is said to the brain",
        query: &[],
        body: Body::Schema(completions::schema),
        answers: &[
            (200, "chat.completion, or its chunks as text/event-stream"),
            (413, "too long"),
            (504, "no end"),
            LATER,
        ],
        handler: || post(completions::complete),
    },
    read("/v1/models", "The one model that chat clients find here", &[], OK, || get(completions::models)),
    read("/v1/models/{id}", "The same, by its name", &[], OK, || get(completions::model)),
    read("/v1/outbox", "Messages to the outside, the newest last", outbox::OUTBOX, &[(200, "{entries}")], || {
        get(outbox::outbox)
    }),
    act(
        "/v1/outbox/{id}",
        "Send a message after all, or drop it",
        outbox::WISH,
        &[(200, "{id, state}"), CONFLICT, (404, "there is no such message"), LATER],
        || post(outbox::change),
    ),
    Route {
        access: Access::Signed,
        method: "post",
        path: "/hooks/{channel}",
        summary: "Where providers of slack, twilio and discord post; a signature takes the place of a token",
        query: &[],
        body: Body::Signed,
        answers: &[
            (200, "it is on disk; what the provider wants to read"),
            (400, "it can't be read"),
            (404, "this channel accepts no posts here"),
            (413, "too large"),
            (429, "too many; Retry-After says when"),
            LATER,
        ],
        handler: || post(hooks::hook),
    },
    read(socket::PATH, "The WebSocket channel", &[], &[(101, "switches to WebSocket")], || get(socket::websocket)),
    read("/v1/chaos", "What can be broken on purpose", &[], OK, || get(chaos::list)),
    act("/v1/chaos/panic", "A room panics", chaos::VICTIM, &[(200, "ordered"), CONFLICT], || post(chaos::panic)),
    act("/v1/chaos/hang", "A room blocks its thread for 5 s", chaos::VICTIM, &[(200, "ordered"), CONFLICT], || {
        post(chaos::hang)
    }),
    act("/v1/chaos/kill", "A room's actor ends", chaos::VICTIM, &[(200, "ordered"), CONFLICT], || post(chaos::kill)),
    act("/v1/chaos/fail-disk", "Writes to the disk fail from now on", &[], OK, || post(chaos::fail_disk)),
    act("/v1/chaos/restore-disk", "Writes to the disk work again", &[], OK, || post(chaos::restore_disk)),
    open(
        Access::Page,
        read("/", "The web page; it and its files need no token", &[], &[(200, "HTML")], || get(page::document)),
    ),
    open(Access::Page, read("/page.css", "How the page looks", &[], &[(200, "CSS")], || get(page::style))),
    open(Access::Page, read("/page.js", "What the page does", &[], &[(200, "JavaScript")], || get(page::script))),
    act(
        "/v1/session-keys",
        "A key that opens one session of the page, soon: /#key=…",
        sessions::KEY,
        &[(200, "{key, expires_s}")],
        || post(sessions::make_key),
    ),
    open(
        Access::Page,
        act(
            "/v1/session",
            "Exchange such a key, once, for the key that the page then shows in place of the token",
            sessions::EXCHANGE,
            &[(200, "{session, idle_s}"), (429, "too many wrong keys")],
            || post(sessions::begin),
        ),
    ),
    read("/metrics", "Figures for Prometheus (OpenMetrics text)", &[], OK, || get(metrics::metrics)),
    open(Access::Probe, read("/healthz", "The process lives; needs no token", &[], OK, || get(status::healthz))),
    open(
        Access::Probe,
        read("/readyz", "It can work, latched or not", &[], &[(200, "ready"), (503, "what is missing")], || {
            get(status::readyz)
        }),
    ),
    read("/v1/openapi.json", "This description", &[], OK, || get(openapi::openapi)),
];

/// Who may use a request's path. A path that isn't in the table is for the owner only.
pub fn access(method: &Method, path: &str) -> Access {
    let is_meant = |route: &&Route| match route.path.split_once('{') {
        None => route.path == path,
        // An open path accepts one more part after its head.
        Some((head, _)) => path.strip_prefix(head).is_some_and(|rest| !rest.is_empty() && !rest.contains('/')),
    };
    let answers = |route: &&Route| {
        method.as_str().eq_ignore_ascii_case(route.method) || (*method == Method::HEAD && route.method == "get")
    };
    let mut opened = ROUTES.iter().filter(|route| route.access != Access::Owner).filter(is_meant).filter(answers);
    opened.next().map_or(Access::Owner, |route| route.access)
}

/// The router over all routes, without the guard.
pub fn router() -> Router<Arc<Served>> {
    let all = ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.handler)()));
    all.fallback(unknown).method_not_allowed_fallback(wrong_method)
}

/// The lowest similarity at which a path is suggested, from 0 to 1.
const NEAR: f64 = 0.6;

async fn unknown(request: Request) -> Problem {
    let path = request.uri().path();
    let likely = ROUTES.iter().map(|route| (strsim::normalized_levenshtein(path, route.path), route.path));
    let likely = likely.filter(|(likeness, _)| *likeness >= NEAR).max_by(|a, b| a.0.total_cmp(&b.0));
    let fix = match likely {
        Some((_, near)) => format!("did you mean {near}?"),
        None => "see /v1/openapi.json for what there is".into(),
    };
    Problem::new(StatusCode::NOT_FOUND, format!("there is no path {path:?}"), fix)
}

async fn wrong_method(request: Request) -> Problem {
    let (method, path) = (request.method(), request.uri().path());
    let fits = |route: &&Route| {
        route.path == path
            || route.path.split('{').next().is_some_and(|head| head.len() < route.path.len() && path.starts_with(head))
    };
    let methods: Vec<String> = ROUTES.iter().filter(fits).map(|route| route.method.to_uppercase()).collect();
    let found = format!("{method} is not answered at {path}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, found, format!("use {}", methods.join(" or ")))
}
