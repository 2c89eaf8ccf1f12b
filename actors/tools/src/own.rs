//! Actions on the agent itself: going to sleep, naming its scene, setting goals and how much of its thinking is shown.
//! The rooms concerned hear of them; nothing outside changes.

use maxim_bus::signals::cycle::Display;
use maxim_bus::signals::scene::SceneNamed;
use serde_json::{Value, json};

use super::{FollowUp, ToolSpec};

pub const SLEEP: &str = "sleep";
pub const PROPOSE_GOAL: &str = "propose_goal";
pub const SET_SCENE: &str = "set_scene";
pub const DISPLAY_MODE: &str = "display_mode";

/// The purpose of a call of one of these tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnWish {
    Sleep,
    Goal(String),
    Scene(SceneNamed),
    Display(Display),
}

impl OwnWish {
    /// `params` have passed the schema. None for other tools.
    pub fn of(tool: &str, params: &Value) -> Option<Self> {
        let text = |name: &str| params[name].as_str().unwrap_or_default().trim().to_owned();
        match tool {
            SLEEP => Some(Self::Sleep),
            PROPOSE_GOAL => Some(Self::Goal(text("goal"))),
            SET_SCENE => Some(Self::Scene(SceneNamed { title: text("title"), description: text("description") })),
            DISPLAY_MODE => serde_json::from_value(params["mode"].clone()).ok().map(Self::Display),
            _ => None,
        }
    }
}

/// The specifications.
pub fn specs() -> Vec<ToolSpec> {
    let text = |longest: usize, description: &str| json!({"type": "string", "minLength": 1, "maxLength": longest, "description": description});
    let shown = |spec: ToolSpec, pattern: &str, mode: &str| spec.with_phrase(&[], pattern, &[("mode", json!(mode))]);
    let display =
        ToolSpec::new(DISPLAY_MODE, "Sets how much of your thinking is shown: full, brief (a line a cycle) or off.")
            .with_parameters(json!({"mode": {"enum": ["full", "brief", "off"], "description": "how much"}}), &["mode"])
            .with_aliases(&[("level", "mode"), ("display", "mode")])
            .with_example(json!({"mode": "brief"}));
    let display = [
        ("show [me] [all of] (your thinking|your thoughts|what you think)", "full"),
        ("show [me] (less of your thinking|less thinking|your thinking briefly)", "brief"),
        ("(hide|stop showing) [me] (your thinking|your thoughts|what you think)", "off"),
    ]
    .into_iter()
    .fold(display, |spec, (pattern, mode)| shown(spec, pattern, mode));
    let scene = ToolSpec::new(SET_SCENE, "Names the scene that you are in.")
        .with_parameters(
            json!({"title": text(80, "a few words"), "description": text(1000, "what it is like")}),
            &["title", "description"],
        )
        .with_aliases(&[("name", "title"), ("text", "description")])
        .with_example(json!({"title": "the kitchen", "description": "a small kitchen at noon"}))
        .with_speech(&["set the scene"], &["{verb} {title:quoted} {description:rest}"]);
    let sleep = ToolSpec::new(
        SLEEP,
        "Goes to sleep, to sort out what was experienced. Whoever speaks to you is still answered; it ends by itself.",
    )
    .with_speech(&["sleep", "go to sleep", "take a nap"], &["{verb} [now]"]);
    let goal = ToolSpec::new(
        PROPOSE_GOAL,
        "Gives yourself a goal for later, which serves those you work for. You pursue it when no other goal is open, \
         one of your own at a time; each step of it is asked about like any other.",
    )
    .with_parameters(
        json!({"goal": text(400, "what is to be reached, in words that say enough by themselves")}),
        &["goal"],
    )
    .with_aliases(&[("title", "goal"), ("text", "goal")])
    .with_speech(&["set yourself", "give yourself"], &["{verb} the goal (to|of) {goal:rest}"])
    .with_example(json!({"goal": "look up when the tide turns tomorrow and remember it"}));
    [display, goal, scene, sleep].map(|spec| ToolSpec { follow_up: FollowUp::Respond, ..spec }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_a_tool_becomes_a_wish_about_itself() {
        let scene = OwnWish::of(SET_SCENE, &json!({"title": " the quay ", "description": "wet"}));
        assert_eq!(scene, Some(OwnWish::Scene(SceneNamed { title: "the quay".into(), description: "wet".into() })));
        assert_eq!(OwnWish::of(DISPLAY_MODE, &json!({"mode": "off"})), Some(OwnWish::Display(Display::Off)));
        assert_eq!(OwnWish::of(SLEEP, &json!({})), Some(OwnWish::Sleep));
        assert_eq!(OwnWish::of("respond", &json!({})), None);
    }
}
