//! Tools that regions answer by signals. This file holds only their descriptions.

use serde_json::{Value, json};

use super::hands::Mode;
use super::spec::{Door, EffectClass, FollowUp, ToolSpec};

/// The longest message, in characters.
pub const LONGEST_MESSAGE: u64 = 20_000;

/// The descriptions of all of them.
pub fn specs() -> Vec<ToolSpec> {
    vec![
        respond(),
        memory_recall(),
        similarity_search(),
        concept_query(),
        predict_outcome(),
        causal_links(),
        pain_history(),
        temporal_patterns(),
        scene_summary(),
        sense_presence(),
        discover_tools(),
        sense(),
        energy_status(),
        system_stats(),
        math(),
    ]
}

/// `limit` as all introspection tools have it.
fn limit() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 20, "default": 5, "description": "how many results at most"})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn introspection(name: &str, description: &str) -> ToolSpec {
    ToolSpec { door: Door::Introspection, ..ToolSpec::new(name, description) }
}

fn respond() -> ToolSpec {
    let spec = ToolSpec::new("respond", "Says something to the person you are talking with.")
        .with_parameters(
            json!({"message": {
                "type": "string", "minLength": 1, "maxLength": LONGEST_MESSAGE, "description": "what to say",
            }}),
            &["message"],
        )
        .with_aliases(&[("text", "message"), ("phrase", "message"), ("response", "message"), ("content", "message")])
        .with_example(json!({"message": "The tests pass."}))
        .with_speech(
            &["say", "tell me", "reply", "respond", "answer", "repeat after me", "echo"],
            &["{verb} [with|that|to me] {message:quoted}"],
        )
        .with_speech(
            &["say", "reply with", "respond with", "answer with", "repeat after me"],
            &["{verb} {message:rest}"],
        );
    ToolSpec {
        effect: EffectClass::Irreversible,
        idempotent: false,
        required_mode: Mode::Passive,
        follow_up: FollowUp::Engage,
        ..spec
    }
}

fn memory_recall() -> ToolSpec {
    introspection("memory_recall", "Looks in your episodic memory for what happened, was said or was learnt.")
        .with_parameters(
            json!({
                "query": text("words or a question to look for"),
                "goal": text("only what served this goal"),
                "tool_name": text("only episodes in which this tool was used"),
                "success": {"type": "boolean", "description": "only episodes that went well (true) or badly (false)"},
                "object": text("only episodes with this object"),
                "person": text("only episodes with this person"),
                "mode": {"enum": ["passive", "active", "singularity"], "description": "only episodes in this mode"},
                "time_after": text("only episodes after this time, RFC 3339 such as 2026-01-31T08:00:00Z"),
                "time_before": text("only episodes before this time, RFC 3339"),
                "expand": {"type": "boolean", "default": false, "description": "also what is linked to the results"},
                "limit": limit(),
            }),
            &[],
        )
        .with_aliases(&[("keyword", "query"), ("tool", "tool_name")])
        .with_example(json!({"query": "where the red cup is", "limit": 3}))
        .with_speech(
            &["remember", "recall", "know"],
            &[
                "what do you {verb} (about|of|from) {query:rest}",
                "do you {verb} {query:rest}",
                "what can you {verb} about {query:rest}",
            ],
        )
        .with_speech(
            &["recall", "look up", "search memory for", "search your memory for", "search your memories for"],
            &["{verb} {query:rest}"],
        )
        .with_speech(
            &[],
            &[
                "what (happened|was going on) (when|while|after|before|with|to|at|on|in) {query:rest}",
                "what happened {query:rest}",
                "(what|whatever) did (you|we|i) (say|talk about|learn|see) {query:rest}",
                "when did (we|i) [last] {query:rest}",
                "have you [ever] (seen|met|heard of|heard about) {query:rest}",
                "(tell me|say) (what you (know|remember)|everything you know) (about|of) {query:rest}",
                "(is there|do you have) (anything|something) in [your] memory about {query:rest}",
            ],
        )
}

fn concept_query() -> ToolSpec {
    introspection("concept_query", "Looks up what you know in general: concepts with their properties and relations.")
        .with_parameters(
            json!({
                "name": text("the concept, e.g. mug"),
                "category": text("only what is of this kind, over any number of steps, e.g. container"),
                "concept_id": text("the concept's id, e.g. concept-12"),
                "relationship_type": text(
                    "only concepts with such a relation, e.g. IS_A; with name, those that stand in it to the named one",
                ),
                "limit": limit(),
            }),
            &[],
        )
        .with_aliases(&[("concept", "name"), ("kind", "category"), ("relation", "relationship_type")])
        .with_example(json!({"category": "container", "limit": 5}))
        .with_phrase(
            &[],
            "(what|which) [kind of|kinds of|type of|types of|sort of|sorts of] {category:word} do you know [of|about]",
            &[("limit", json!(20))],
        )
        .with_phrase(
            &[],
            "(what|which) [kind of|kinds of|type of|types of|sort of|sorts of] {category:word} are there",
            &[("limit", json!(20))],
        )
        .with_speech(&["define", "explain the concept"], &["{verb} {name:rest}"])
}

fn similarity_search() -> ToolSpec {
    introspection(
        "similarity_search",
        "Finds situations in your memory that are like a given one, with how alike they are.",
    )
    .with_parameters(
        json!({
            "tool_name": text("like uses of this tool"),
            "memory_id": text("like this memory, by the id that memory_recall gave"),
            "context": text("like these circumstances, in words"),
            "time_after": text("only situations after this time, RFC 3339 such as 2026-01-31T08:00:00Z"),
            "time_before": text("only situations before this time, RFC 3339"),
            "limit": limit(),
        }),
        &[],
    )
    .with_aliases(&[("tool", "tool_name"), ("query", "context")])
    .with_example(json!({"context": "the arm lost its grip on a wet cup", "limit": 3}))
    .with_speech(&[], &["(find|look for|search for) (memories|situations|moments) (similar to|like) {context:rest}"])
}

fn predict_outcome() -> ToolSpec {
    introspection("predict_outcome", "Says what you expect to come of using a tool, from experience, without using it.")
        .with_parameters(
            json!({
                "tool_name": text("the tool, or in an utterance what would be done"),
                "context": text("the circumstances, in words"),
                "include_all_outcomes": {
                    "type": "boolean", "default": false, "description": "all outcomes known, not only the likeliest",
                },
            }),
            &["tool_name"],
        )
        .with_aliases(&[("tool", "tool_name"), ("action", "tool_name")])
        .with_example(json!({"tool_name": "bash", "context": "deleting the build folder"}))
        .with_speech(
            &[],
            &[
                "what (would|will|might|could) happen if (you|i|we) {tool_name:rest}",
                "what do you (expect|think will happen|think would happen) if (you|i|we) {tool_name:rest}",
                "(would|will) it work if (you|i|we) {tool_name:rest}",
                "how (likely|probable) is it that {tool_name:word} (works|succeeds|fails) [(when|if|with|in) {context:rest}]",
            ],
        )
        .with_speech(
            &["predict", "foresee", "forecast"],
            &[
                "{verb} [the] (outcome|result|effect) of {tool_name:word} (when|if|with|in|for) {context:rest}",
                "{verb} [the] (outcome|result|effect) of {tool_name:rest}",
                "{verb} what (happens|will happen|would happen) if (you|i|we) {tool_name:rest}",
            ],
        )
}

fn causal_links() -> ToolSpec {
    introspection(
        "causal_links",
        "Lists what you learned to lead to what: events, their outcomes, how surely and how soon.",
    )
    .with_parameters(
        json!({
            "event": text("only events whose name holds this, e.g. a tool"),
            "outcome": text("only outcomes whose name holds this, e.g. timeout"),
            "memory_id": text("only what was learned from this episode"),
            "valence": {"enum": ["positive", "neutral", "negative"], "description": "only events of this worth"},
            "time_after": text("only what was met last after this time, RFC 3339 such as 2026-01-31T08:00:00Z"),
            "time_before": text("only what was met last before this time, RFC 3339"),
            "limit": limit(),
        }),
        &[],
    )
    .with_aliases(&[("cause", "event"), ("tool_name", "event"), ("effect", "outcome"), ("episode", "memory_id")])
    .with_example(json!({"event": "bash", "valence": "negative"}))
    .with_speech(
        &[],
        &[
            "what does {event:word} lead to",
            "(show|list|what are) [me] [the|your] causal links [(of|for|about) {event:rest}]",
        ],
    )
}

fn pain_history() -> ToolSpec {
    introspection(
        "pain_history",
        "Tells what hurt: counts by kind, recent pains, and what fear would say to an action, without doing it.",
    )
    .with_parameters(
        json!({
            "check_action": text("a tool; also what fear would decide about it"),
            "action_params": {"type": "object", "default": {}, "description": "the parameters it would have"},
            "limit": limit(),
        }),
        &[],
    )
    .with_aliases(&[("action", "check_action"), ("tool_name", "check_action"), ("params", "action_params")])
    .with_example(json!({"check_action": "bash", "action_params": {"command": "make"}}))
    .with_speech(
        &[],
        &[
            "what (hurt|hurts|has hurt) [you] [lately|recently|so far]",
            "what (are|were) you [most|still] (afraid|scared|frightened) of",
            "what (do you fear|scares you|frightens you) [most]",
            "(show|list|what is|what's) [me] [your|the] pain history [(of|for|with) {check_action:word}]",
            "(would|will) (fear|the gate|you) (allow|block|ask about|be afraid of) {check_action:word}",
        ],
    )
}

fn temporal_patterns() -> ToolSpec {
    introspection("temporal_patterns", "Tells what time it is like, what happened at such times, and what recurs.")
        .with_parameters(
            json!({
                "hour": {"type": "integer", "minimum": 0, "maximum": 23, "description": "hour of the day instead of now"},
                "day": {"type": "integer", "minimum": 0, "maximum": 6, "description": "day of the week, 0 is Monday"},
                "time_after": text("only episodes after this time, RFC 3339 such as 2026-01-31T08:00:00Z"),
                "time_before": text("only episodes before this time, RFC 3339"),
                "discover_rhythms": {"type": "boolean", "default": false, "description": "also what comes at certain times more often than by chance"},
                "limit": limit(),
            }),
            &[],
        )
        .with_aliases(&[("weekday", "day"), ("rhythms", "discover_rhythms")])
        .with_example(json!({"hour": 9, "day": 0}))
        .with_phrase(
            &[],
            "(what|which) (rhythms|habits|routines) (have you|did you|do you) (found|find|noticed|notice|see|seen|know)",
            &[("discover_rhythms", json!(true))],
        )
        .with_speech(&[], &["what (usually|normally|typically) happens (now|at this time|at this hour)"])
        .with_speech(&[], &["what (usually|normally|typically) happens at {hour:number} [o'clock]"])
}

fn scene_summary() -> ToolSpec {
    introspection("scene_summary", "Sums up what is around you: the most salient objects, gaze and attention.")
        .with_parameters(
            json!({
                "top_n": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5, "description": "how many objects"},
                "include_attention": {"type": "boolean", "default": false, "description": "also gaze focus and dwell time"},
            }),
            &[],
        )
        .with_aliases(&[("limit", "top_n")])
        .with_speech(&[], &["what (is|do you see) around you", "(describe|sum up) the scene", "(what|who) do you see [right] [now]", "who is (around|in the room|there) [with you]"])
}

fn sense_presence() -> ToolSpec {
    introspection(
        "sense_presence",
        "Tells what exists here: you with what you can do, and the scene with what is only observed.",
    )
    .with_speech(&[], &["(who|what) is (here|present) [with you]", "what exists here"])
}

fn discover_tools() -> ToolSpec {
    introspection("discover_tools", "Finds the tools that fit what you want to do, with their parameters.")
        .with_parameters(json!({"query": text("what you want to do"), "limit": limit()}), &["query"])
        .with_aliases(&[("goal", "query"), ("task", "query"), ("search", "query")])
        .with_example(json!({"query": "look for text in files"}))
        .with_speech(
            &[],
            &[
                "(what|which) (tool|tools) (can|could|do|would) (you|i) (use|have|need) (to|for) {query:rest}",
                "(do you have|is there) a tool (to|for) {query:rest}",
                "find [me] (a tool|tools) (to|for) {query:rest}",
            ],
        )
}

fn sense() -> ToolSpec {
    introspection("sense", "Reads all sensors of one entity.")
        .with_parameters(json!({"entity": text("its name, as sense_presence gives it")}), &["entity"])
        .with_aliases(&[("name", "entity"), ("target", "entity")])
        .with_example(json!({"entity": "lamp"}))
        .with_speech(&["sense"], &["{verb} [the] {entity:word}"])
        .with_speech(&[], &["read the sensors of [the] {entity:word}"])
}

fn energy_status() -> ToolSpec {
    let spec = introspection(
        "energy_status",
        "Tells what thinking cost lately, what is left of each budget, and how the battery is where there is one.",
    )
    .with_parameters(
        json!({"window_seconds": {
            "type": "integer", "minimum": 1, "maximum": 86_400, "default": 3_600,
            "description": "how far back to count, in seconds",
        }}),
        &[],
    )
    .with_example(json!({"window_seconds": 600}))
    .with_speech(
        &[],
        &[
            "[what is|what's|show|show me] [your|the] (energy|battery|energy status|battery status|token budget)",
            "how much (energy|battery|budget) [do you have|have you|is] left",
            "how many tokens (did|have) you (use|used|spend|spent) [so far|today|lately]",
        ],
    );
    ToolSpec { follow_up: FollowUp::Respond, ..spec }
}

fn system_stats() -> ToolSpec {
    let spec = introspection(
        "system_stats",
        "Counts of your episodes, links, signatures, concepts and pain signals, energy totals, significance weights and the health of your regions.",
    )
    .with_speech(
        &[],
        &[
            "[system|your|show|show me|give me|what is your|what's your] (status|stats|statistics|health) [report]",
            "[show|show me] [the] system (status|stats|statistics|health)",
            "how are you [doing|feeling] [today]",
            "are you (ok|okay|well|healthy|all right|alright)",
            "how (many|much) (memories|episodes|concepts|memory) do you have",
        ],
    );
    ToolSpec { follow_up: FollowUp::Respond, ..spec }
}

/// Rows of numbers.
fn rows(description: &str) -> Value {
    json!({
        "type": "array", "minItems": 1, "maxItems": 64, "description": description,
        "items": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"type": "number"}},
    })
}

fn numbers(description: &str) -> Value {
    json!({"type": "array", "maxItems": 10_000, "items": {"type": "number"}, "description": description})
}

fn math() -> ToolSpec {
    introspection(
        "math",
        "Computes exactly, describes and fits numbers, and looks up constants, methods and the patterns that you found in how things go.",
    )
    .with_parameters(
        json!({
            "operation": {
                "enum": ["calculate", "statistics", "percentile", "correlation", "regression", "matrix", "series", "recall"],
                "default": "calculate", "description": "what to do; recall looks up what is known about topic",
            },
            "expression": text("for calculate, e.g. 15% of 80, sqrt(2)/2 or 2 * pi * 3"),
            "values": numbers("for statistics, percentile and series"),
            "x": numbers("for correlation and regression"),
            "y": numbers("for correlation and regression"),
            "percentile": {"type": "number", "minimum": 0, "maximum": 100, "description": "which percentile"},
            "degree": {"type": "integer", "minimum": 1, "maximum": 2, "description": "1 for a line, 2 for a parabola"},
            "matrix": {
                "enum": ["add", "multiply", "transpose", "determinant", "inverse", "solve", "eigenvalues"],
                "description": "what to do with a, or with a and b",
            },
            "a": rows("a matrix by its rows"),
            "b": rows("the second matrix, or the right side to solve for"),
            "topic": text("for recall: a tool, a person, or anything that was measured"),
            "category": {
                "enum": ["fact", "method", "pattern", "constant", "relationship"],
                "description": "for recall: only this kind of knowledge",
            },
            "limit": limit(),
        }),
        &[],
    )
    .with_example(json!({"expression": "15% of 80"}))
    .with_speech(&["calculate", "compute", "work out", "evaluate"], &["{verb} {expression:rest}"])
    .with_phrase(
        &[],
        "how (reliable|dependable|predictable|fast|slow|quick) (is|are) [the] [tool] {topic:rest}",
        &[("operation", json!("recall")), ("category", json!("pattern"))],
    )
    .with_phrase(
        &[],
        "what (pattern|patterns) (have you|did you|do you) (found|find|noticed|notice|see|seen|know) [(in|about|of|for|with) {topic:rest}]",
        &[("operation", json!("recall")), ("category", json!("pattern"))],
    )
}
