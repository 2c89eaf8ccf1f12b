//! Tools of the robot group. The body carries them out ([`Limbs`]); without a body they say so.

use maxim_bus::MessageId;
use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::{EffectClass, FollowUp, Hands, Mode, Reversal, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Moves head, trunk and antennas.
pub const MOVE: &str = "move";
/// Keeps the gaze on one thing.
pub const TRACK_TARGET: &str = "track_target";
/// Looks at what interests the agent.
pub const FOCUS_INTERESTS: &str = "focus_interests";
/// Looks at what is new.
pub const NOVELTY_TRACK: &str = "novelty_track";

/// The tools of the group.
pub const ALL: [&str; 4] = [MOVE, TRACK_TARGET, FOCUS_INTERESTS, NOVELTY_TRACK];

/// Whether a tool moves a body.
pub fn moves(tool: &str) -> bool {
    tool == super::UNDO || ALL.contains(&tool)
}

/// A body, as its tools know it.
pub trait Limbs: Send + Sync + std::fmt::Debug {
    /// Carries out a call of a robot tool.
    fn carry_out(&self, tool: &str, params: &Value, action: Option<MessageId>) -> ToolOutcome;

    /// The body's present place, for [`Limbs::back_to`]; `None` if it isn't known.
    fn place(&self) -> Option<Value>;

    /// Moves back to an earlier place. The output's `reversal` moves it here again.
    fn back_to(&self, place: &Value, action: Option<MessageId>) -> ToolOutcome;
}

/// A tool of the robot group.
pub struct RobotTool(ToolSpec);

impl RobotTool {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let reversible = |spec: ToolSpec| {
            Self(ToolSpec {
                effect: EffectClass::Reversible,
                idempotent: false,
                required_mode: Mode::Passive,
                follow_up: FollowUp::Respond,
                ..spec
            })
        };
        std::iter::once(movement()).chain(gazes()).map(reversible).collect()
    }
}

fn number(low: i32, high: i32, description: &str) -> Value {
    json!({"type": "number", "minimum": low, "maximum": high, "description": description})
}

fn movement() -> ToolSpec {
    let spec = ToolSpec::new(
        MOVE,
        "Moves your body: the head to a pose, the trunk, the antennas, or a look or turn to a side. What isn't named stays. It goes from where you are, within your limits, which it tells when it meets them.",
    )
    .with_parameters(
        json!({
            "x": number(-100, 100, "head forward, millimetres"),
            "y": number(-100, 100, "head to the left, millimetres"),
            "z": number(-100, 100, "head up, millimetres"),
            "roll": number(-180, 180, "head tilt, degrees; positive to the right shoulder"),
            "pitch": number(-180, 180, "head nod, degrees; positive looks down"),
            "yaw": number(-180, 180, "head turn, degrees; positive to the left"),
            "body_yaw": number(-180, 180, "turn of the trunk, degrees; positive to the left"),
            "antennas": {
                "type": "array", "items": number(-180, 180, "degrees"), "minItems": 2, "maxItems": 2,
                "description": "left and right antenna, degrees",
            },
            "look": {"enum": ["left", "right", "up", "down", "ahead"], "description": "turn the head that way, by so many degrees from where it looks; ahead is straight"},
            "turn": {"enum": ["left", "right", "ahead"], "description": "turn head and trunk together that way, by so many degrees"},
            "degrees": {"type": "number", "minimum": 0, "maximum": 180, "default": 20, "description": "how far to look or turn"},
            "duration": {"type": "number", "minimum": 0.1, "maximum": 60, "description": "seconds; it takes longer where your joints are slower than that"},
        }),
        &[],
    )
    .with_aliases(&[("seconds", "duration"), ("angle", "degrees"), ("body", "body_yaw")])
    .with_example(json!({"yaw": 20, "pitch": -5, "duration": 1.5}));
    let by = "[by] {degrees:number} (degrees|degree|deg)";
    let towards = |spec: ToolSpec, field: &str, verbs: &[&str], words: &str, side: &str| {
        let spec = spec.with_phrase(verbs, &format!("{{verb}} {words} [{by}]"), &[(field, json!(side))]);
        spec.with_phrase(verbs, &format!("{{verb}} {by} {words}"), &[(field, json!(side))])
    };
    let mut spec = spec;
    for (side, words) in [
        ("left", "[a bit|a little] [to the|to your] (left|leftwards) [a bit|a little|slightly]"),
        ("right", "[a bit|a little] [to the|to your] (right|rightwards) [a bit|a little|slightly]"),
        ("up", "[a bit|a little] (up|upwards) [a bit|a little|slightly]"),
        ("down", "[a bit|a little] (down|downwards) [a bit|a little|slightly]"),
    ] {
        spec = towards(spec, "look", &["look", "turn your head", "move your head", "glance"], words, side);
        if matches!(side, "left" | "right") {
            spec = towards(spec, "turn", &["turn", "rotate", "turn yourself", "turn your body"], words, side);
        }
    }
    spec.with_phrase(
        &[],
        "look (ahead|straight ahead|straight on|straight|forward|to the front)",
        &[("look", json!("ahead"))],
    )
    .with_phrase(&[], "(turn|face) (ahead|straight ahead|forward|to the front)", &[("turn", json!("ahead"))])
}

fn gazes() -> [ToolSpec; 3] {
    let seconds = |default: i32| {
        json!({
            "type": "number", "minimum": 0, "maximum": 20, "default": default,
            "description": "how long to keep it in the middle of your view; 0 looks once",
        })
    };
    let track = ToolSpec::new(TRACK_TARGET, "Looks at one thing or person that you see, and keeps your gaze on it.")
        .with_parameters(
            json!({
                "target": {"type": "string", "minLength": 1, "maxLength": 80, "description": "the name of a thing or person that is seen"},
                "seconds": seconds(5),
            }),
            &["target"],
        )
        .with_aliases(&[("name", "target"), ("object", "target"), ("duration", "seconds")])
        .with_example(json!({"target": "cup", "seconds": 5}))
        .with_speech(
            &["track", "keep looking at", "keep your eyes on", "follow with your eyes", "watch"],
            &["{verb} [the] {target:word} [for {seconds:number} (seconds|s)]"],
        )
        .with_phrase(&["look at", "turn your head to"], "{verb} the {target:word}", &[("seconds", json!(0))]);
    let looks = |name: &str, description: &str, patterns: &[&str]| {
        ToolSpec::new(name, description)
            .with_parameters(json!({"seconds": seconds(0)}), &[])
            .with_aliases(&[("duration", "seconds")])
            .with_speech(&[], patterns)
    };
    let focus = looks(
        FOCUS_INTERESTS,
        "Looks at what interests you most of what you see.",
        &["look at (what|whatever) interests you [most]", "focus on (what|whatever) interests you [most]"],
    );
    let novelty = looks(
        NOVELTY_TRACK,
        "Looks at what is newest of what you see.",
        &["look at (what|whatever) is (new|newest)", "look for something new", "look around for something new"],
    );
    [track, focus, novelty]
}

impl Tool for RobotTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn is_motion(&self) -> bool {
        true
    }

    fn prepare(&self, _params: &Value, hands: &Hands) -> Result<Option<Reversal>, ToolFailure> {
        let place = hands.limbs.as_ref().and_then(|limbs| limbs.place());
        Ok(place.map(|place| Reversal::MoveBack { place }))
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        match &hands.limbs {
            Some(limbs) => limbs.carry_out(&self.0.name, params, hands.action),
            None => ToolOutcome::unavailable(NO_LIMBS),
        }
    }
}

/// Why a call does nothing without a body.
pub const NO_LIMBS: &str = "there is no body here; set body.driver to sim or reachy-mini";
