//! Who the model is told that it is: name, mode and its purpose, autonomy, awake or asleep, what body, and who is there.
//!
//! It stands in one section that is never left out, so what must not be forgotten (a simulation, an empty room) stands here.

use maxim_bus::mode::{AutonomyLevel, Mode, Powers};
use maxim_bus::signals::prompt::Tier;

use super::model::{Embodiment, Pending, PrefrontalSettings};
use crate::prompt::{Part, Section};

const fn purpose(mode: Mode) -> &'static str {
    match mode {
        Mode::Passive => "to watch, remember and answer, and to change nothing",
        Mode::Active => "to help the people you talk with, in the working folder, and to learn from what comes of it",
        Mode::Singularity => "to reach what you were given as goals by yourself, wherever that takes you",
    }
}

const fn autonomy(level: AutonomyLevel) -> &'static str {
    match level {
        AutonomyLevel::Planning => "planning: you propose, a person decides",
        AutonomyLevel::Supervised => "supervised: a person is asked where you aren't sure",
        AutonomyLevel::Autonomous => "autonomous: you act, within the gate",
    }
}

/// What a mode permits, in words.
const fn mode_context(mode: Mode) -> &'static str {
    match mode {
        Mode::Passive => {
            "In passive mode you look, remember and answer; you write nowhere but in .maxim_sandbox, and run nothing."
        }
        Mode::Active => {
            "In active mode you read and write in the working folder; running code, installing, and sending over the \
             network need a person's yes, and what lies outside of the folder is not yours."
        }
        Mode::Singularity => {
            "In singularity mode folders and programs are yours to use; the constitution and the hard rules hold."
        }
    }
}

const SIMULATION: &str = "This is a simulation: whom you meet and what you see is simulated. You have no body; say, think and \
    examine are how you take part. Files and programs that your tools reach are real.";
const SIMULATED_BODY: &str = "Your body is a simulated one: what it does moves nothing outside.";
const ALONE: &str = "Nobody is in the conversation: you pursue a goal. Ask nothing of anybody unless you can't go on without \
    it; who gave the goal hears how it ends.";
const TALKING: &str = "Somebody is in the conversation and reads what you respond.";

/// As it is now: the powers may have been lowered since the start.
fn text(pending: &Pending, settings: &PrefrontalSettings) -> String {
    let powers = powers(pending, settings);
    let name = settings.names.first().map_or("maxim", String::as_str);
    let mut told = vec![format!(
        "Your name is {name}. Mode: {}, whose purpose is {}. Autonomy: {}.",
        powers.mode.as_str(),
        purpose(powers.mode),
        autonomy(powers.autonomy)
    )];
    let asleep = pending.around.states.asleep.is_some();
    told.push(if asleep { "You are asleep, and woken for this." } else { "You are awake." }.to_owned());
    told.extend(settings.simulation.then(|| SIMULATION.to_owned()));
    told.extend((settings.body == Some(Embodiment::Simulated)).then(|| SIMULATED_BODY.to_owned()));
    let is_alone = pending.wish.goal.as_ref() == Some(&pending.wish.text);
    told.push(if is_alone { ALONE } else { TALKING }.to_owned());
    told.join(" ")
}

fn powers<'a>(pending: &'a Pending, settings: &'a PrefrontalSettings) -> &'a Powers {
    pending.powers.as_ref().unwrap_or(&settings.powers)
}

/// Of what stays the same, what changes most seldom comes first: these stand behind the rest.
pub(super) fn sections(pending: &Pending, settings: &PrefrontalSettings) -> [Section; 2] {
    let section = |name, tier, text: String| Section::new(&settings.counter, name, tier, Part::System, text).stable();
    [
        section("mode_context", Tier::NiceToHave, mode_context(powers(pending, settings).mode).to_owned()),
        section("identity", Tier::Critical, text(pending, settings)),
    ]
}

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;
    use maxim_bus::signals::sleep::SleepPhase;
    use maxim_bus::signals::thought::Deliberate;

    use super::super::surroundings::Surroundings;
    use super::super::tests::{settings, wish};
    use super::super::window::Window;
    use super::*;

    #[test]
    fn it_is_told_what_it_may_now_whether_it_sleeps_and_who_is_there() {
        let mut pending = Pending::new(&wish("hi"), Trust::Owner, Window::default(), Surroundings::default());
        let at_home = text(&pending, &settings());
        assert!(at_home.contains("Mode: singularity") && at_home.contains("You are awake."), "{at_home}");
        assert!(at_home.contains(TALKING) && !at_home.contains("simulat"), "{at_home}");
        let lowered = Powers { mode: Mode::Passive, autonomy: AutonomyLevel::Planning, ..Powers::whole() };
        pending.powers = Some(lowered);
        pending.around.states.asleep = Some(SleepPhase::Scoring);
        pending.wish = Deliberate { goal: Some("hi".into()), ..pending.wish };
        let settings = PrefrontalSettings { body: Some(Embodiment::Simulated), simulation: true, ..settings() };
        let lowered = text(&pending, &settings);
        for words in ["Mode: passive", "planning: you propose", "You are asleep", SIMULATION, SIMULATED_BODY, ALONE] {
            assert!(lowered.contains(words), "{words:?} is missing in {lowered}");
        }
        let [mode, identity] = sections(&pending, &settings);
        assert!(mode.text.starts_with("In passive mode") && identity.tier == Tier::Critical);
    }
}
