//! PreemptionCircuit: may this percept lead to anything, and what does it interrupt?
//!
//! Biology: prefrontal inhibitory control over a behaviour that has begun.
//! Law: HARD_STOP cancels everything open. HOLD lets the loop cycle but propose nothing. REDIRECT suspends the goal
//! for another. A redirection comes from a person, or by itself: from an urgent word while a goal is pursued, and
//! from strong bodily pain. The latch has stopped every effect before this room hears of a stop. This room decides
//! what the stop means for turns, the goals room what it means for goals; both decisions are durable.
//! Remembers: the stop, the hold, the open turns, whether a goal is pursued. Forgets: a hold whose time has passed.
//! Down: no percept passes, so nothing is proposed. The latch needs no room.

use jiff::Timestamp;
use maxim_bus::latch::StopDetail;
use maxim_bus::rooms;
use maxim_bus::signals::goal::{GoalChanged, GoalOrigin, GoalState};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outbox::is_outside;
use maxim_bus::signals::percept::{AdmittedPercept, Disposition, HardOverride, PainKind, PainSignal, Percept};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Bodily pain of at least this intensity interrupts the pursued goal; 0 to 1.
const THREAT: f64 = 0.8;
/// Named as having ended a hold whose time has passed.
const ITS_TIME: &str = "its time";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PreemptionCircuit {
    stopped: Option<StopDetail>,
    hold: Option<Hold>,
    open: Vec<MessageId>,
    /// The turn of the pursued goal, and whether a threat caused the goal.
    pursued: Option<(Option<MessageId>, bool)>,
}

/// A tonic inhibition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// None: until a person resumes.
    pub until: Option<Timestamp>,
    pub by: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PreemptionEvent {
    Opened(MessageId),
    Closed(MessageId),
    Changed(PreemptionRequested),
    HoldPassed,
    Pursuing(Option<(Option<MessageId>, bool)>),
}

wiring!(PreemptionCircuit {
    hears: [Percept, PreemptionRequested, PainSignal, GoalChanged, ReportStats],
    back: [TurnEnded],
    emits: [AdmittedPercept, PreemptionChanged, StatsReported],
});

impl Region for PreemptionCircuit {
    const NAME: RegionName = rooms::PREEMPTION_CIRCUIT;
    const STAGE: Stage = Stage::Perception;
    type Event = PreemptionEvent;
    type Settings = ();

    fn apply(&mut self, event: PreemptionEvent) {
        match event {
            PreemptionEvent::Opened(turn) => self.open.push(turn),
            PreemptionEvent::Closed(turn) => self.open.retain(|open| *open != turn),
            PreemptionEvent::HoldPassed => self.hold = None,
            PreemptionEvent::Pursuing(pursued) => self.pursued = pursued,
            PreemptionEvent::Changed(request) => self.change(request),
        }
    }

    fn next_deadline(&self, _settings: &()) -> Option<Timestamp> {
        self.hold.as_ref().and_then(|hold| hold.until)
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PreemptionEvent::HoldPassed);
        if self.stopped.is_none() {
            let request = PreemptionRequested::Resume { by: ITS_TIME.into() };
            pulse.emit(PreemptionChanged { request, cancelled_turns: Vec::new() });
        }
    }
}

/// A sender who isn't on the list of a channel that reaches outside can stop, and nothing else.
fn is_noted_only(percept: &Percept) -> bool {
    percept.trust == Trust::Outside && is_outside(&percept.metadata.channel)
}

impl PreemptionCircuit {
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    fn change(&mut self, request: PreemptionRequested) {
        match request {
            PreemptionRequested::Stop(detail) => {
                self.stopped = Some(match self.stopped.take() {
                    Some(first) => first.or_words_of(&detail),
                    None => detail,
                });
                self.hold = None;
                self.open.clear();
            }
            PreemptionRequested::Reset { .. } => self.stopped = None,
            PreemptionRequested::Resume { .. } => self.hold = None,
            PreemptionRequested::Hold { until, by } => self.hold = Some(Hold { until, by }),
            PreemptionRequested::Redirect { .. } => {}
        }
    }

    fn announce(&self, request: PreemptionRequested, pulse: &mut Pulse<'_, Self>) {
        let cancelled_turns = match request {
            PreemptionRequested::Stop(_) => self.open.clone(),
            _ => Vec::new(),
        };
        pulse.keep(PreemptionEvent::Changed(request.clone()));
        pulse.emit(PreemptionChanged { request, cancelled_turns });
    }

    /// Nothing prevents proposing.
    fn is_free(&self, now: Timestamp) -> bool {
        self.disposition(now) == Disposition::Proceed
    }

    fn disposition(&self, now: Timestamp) -> Disposition {
        if let Some(detail) = &self.stopped {
            return Disposition::Stopped { reason: detail.reason.clone(), by: detail.by.clone() };
        }
        match &self.hold {
            Some(hold) if hold.until.is_none_or(|until| until > now) => Disposition::Held { until: hold.until },
            _ => Disposition::Proceed,
        }
    }
}

impl Hears<Percept> for PreemptionCircuit {
    fn hear(&self, percept: &Percept, pulse: &mut Pulse<'_, Self>) {
        let disposition = if percept.hard_override == Some(HardOverride::HardStop) {
            let reason = format!("{:?} said on {}", percept.content.trim(), percept.metadata.channel);
            let by = percept.metadata.sender.clone();
            let detail = StopDetail { reason: reason.clone(), by: by.clone(), at: Some(pulse.now()) };
            self.announce(PreemptionRequested::Stop(detail), pulse);
            Disposition::Stopped { reason, by }
        } else {
            match self.disposition(pulse.now()) {
                Disposition::Proceed if is_noted_only(percept) => Disposition::Noted,
                other => other,
            }
        };
        let turn = pulse.turn();
        pulse.keep(PreemptionEvent::Opened(turn));
        let may_command = percept.is_said() && pulse.trust() >= Trust::Listed;
        if disposition == Disposition::Proceed && self.pursued.is_some() && may_command && is_urgent(&percept.content) {
            let request = PreemptionRequested::Redirect {
                goal: percept.content.trim().to_owned(),
                by: percept.metadata.sender.clone(),
                channel: percept.metadata.channel.clone(),
                turn: Some(turn),
                is_threat: false,
            };
            self.announce(request, pulse);
        }
        pulse.emit(AdmittedPercept { percept: percept.clone(), disposition });
    }
}

impl Hears<PreemptionRequested> for PreemptionCircuit {
    fn hear(&self, request: &PreemptionRequested, pulse: &mut Pulse<'_, Self>) {
        self.announce(request.clone(), pulse);
    }
}

/// Whether the text says that it can't wait: by an urgent word before the request, or by consisting only of such
/// words.
fn is_urgent(text: &str) -> bool {
    const FIRST: [&str; 6] = ["urgent", "urgently", "emergency", "quick", "quickly", "hurry"];
    const WHOLE: [&str; 9] =
        ["help", "help me", "watch out", "look out", "danger", "be careful", "fire", "careful", "come quickly"];
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .into_iter()
        .map(str::to_lowercase)
        .collect();
    let leads = words.first().is_some_and(|first| FIRST.contains(&first.as_str()));
    // "Quick question" and "hurry slowly is a saying" suspend nothing: the leading word must be separated from what
    // follows.
    let cut_off =
        text.trim_start().chars().find(|c| !c.is_alphanumeric()).is_some_and(|c| [':', ',', '!', '.'].contains(&c));
    (leads && (cut_off || words.len() == 1)) || WHOLE.contains(&words.join(" ").as_str())
}

/// Pain of the body; pain from a tool's failure is no danger.
fn is_bodily(kind: PainKind) -> bool {
    match kind {
        PainKind::MovementError | PainKind::OverSpeed | PainKind::Thrashing | PainKind::SustainedStrain => true,
        PainKind::External => true,
        PainKind::ToolError | PainKind::Timeout | PainKind::ResourceExhaustion | PainKind::SandboxViolation => false,
    }
}

impl Hears<PainSignal> for PreemptionCircuit {
    fn hear(&self, pain: &PainSignal, pulse: &mut Pulse<'_, Self>) {
        // Further pain doesn't interrupt a goal that a threat has caused.
        let interrupts = self.pursued.is_some_and(|(_, is_threat)| !is_threat);
        if !interrupts || !is_bodily(pain.kind) || pain.intensity.get() < THREAT || !self.is_free(pulse.now()) {
            return;
        }
        // Uses none of the signal's own words, because an outsider may have written them.
        let kind =
            serde_json::to_value(pain.kind).ok().and_then(|kind| kind.as_str().map(|kind| kind.replace('_', " ")));
        let goal = format!("say: I laid my work aside, because something hurts ({})", kind.unwrap_or_default());
        let request = PreemptionRequested::Redirect {
            goal,
            by: Self::NAME.into(),
            channel: String::new(),
            turn: None,
            is_threat: true,
        };
        self.announce(request, pulse);
    }
}

impl Hears<GoalChanged> for PreemptionCircuit {
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        let goal = &changed.goal;
        let pursued = match (goal.state, &changed.active) {
            (GoalState::Active, _) => Some((goal.turn, matches!(goal.origin, GoalOrigin::Drive { .. }))),
            (_, Some(_)) => self.pursued,
            (_, None) => None,
        };
        if pursued != self.pursued {
            pulse.keep(PreemptionEvent::Pursuing(pursued));
        }
    }
}

impl Hears<TurnEnded> for PreemptionCircuit {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        if self.open.contains(&ended.turn) {
            pulse.keep(PreemptionEvent::Closed(ended.turn));
        }
    }
}

impl Hears<ReportStats> for PreemptionCircuit {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let hold = self.hold.as_ref().filter(|hold| hold.until.is_none_or(|until| until > pulse.now()));
        let counts = serde_json::json!({ "hold": hold, "open_turns": self.open.len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::SignedDuration;
    use maxim_bus::Clock;
    use maxim_bus::signals::goal::Goal;

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn rig() -> Rig<PreemptionCircuit> {
        Rig::new((), |bus, probe| {
            ear::<AdmittedPercept>(bus, probe);
            ear::<PreemptionChanged>(bus, probe);
        })
    }

    fn say(rig: &mut Rig<PreemptionCircuit>, text: &str, stop: bool) -> Disposition {
        rig.send(Percept::from_outside("http", "anna", text.into(), stop, Trust::Owner));
        rig.heard::<AdmittedPercept>().pop().expect("each percept is admitted with a disposition").disposition
    }

    #[test]
    fn a_stop_outlasts_a_crash_and_only_a_reset_ends_it() {
        let mut rig = rig();
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
        assert!(matches!(say(&mut rig, "stop", true), Disposition::Stopped { .. }));
        rig.crash();
        assert!(matches!(say(&mut rig, "hello", false), Disposition::Stopped { .. }));
        rig.send(PreemptionRequested::Resume { by: "anna".into() });
        assert!(matches!(say(&mut rig, "hello", false), Disposition::Stopped { .. }), "resume alone is no reset");
        rig.send(PreemptionRequested::Reset { by: "anna".into() });
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
    }

    #[test]
    fn the_words_of_a_stop_take_the_place_of_the_signal_that_came_before_them() {
        let mut rig = rig();
        let mut stopped = |reason: &str, by: &str| {
            let at = Some(rig.clock.now());
            rig.send(PreemptionRequested::Stop(StopDetail { reason: reason.into(), by: by.into(), at }));
            rig.crash();
            match say(&mut rig, "hello", false) {
                Disposition::Stopped { reason, .. } => reason,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(stopped("signal SIGUSR1", StopDetail::BY_SIGNAL), "signal SIGUSR1");
        assert_eq!(stopped("the arm hit the table", "maxim stop"), "the arm hit the table");
        assert_eq!(stopped("signal SIGUSR1", StopDetail::BY_SIGNAL), "the arm hit the table");
        assert_eq!(stopped("again", "maxim stop"), "the arm hit the table", "what was said first stands");
    }

    #[test]
    fn a_hold_ends_by_its_time_or_by_a_person() {
        let mut rig = rig();
        let until = rig.clock.now() + SignedDuration::from_secs(60);
        rig.send(PreemptionRequested::Hold { until: Some(until), by: "anna".into() });
        assert_eq!(say(&mut rig, "hello", false), Disposition::Held { until: Some(until) });
        rig.pass(Duration::from_secs(61));
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
        rig.send(PreemptionRequested::Hold { until: None, by: "anna".into() });
        rig.pass(Duration::from_secs(100_000));
        assert_eq!(say(&mut rig, "hello", false), Disposition::Held { until: None });
        rig.send(PreemptionRequested::Resume { by: "anna".into() });
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
    }

    #[test]
    fn an_urgent_word_redirects_while_a_goal_is_pursued_and_from_who_may_command() {
        for (text, urgent) in [
            ("urgent: create a file a.txt", true),
            ("Quick, close the window", true),
            ("Emergency! open the door", true),
            ("help", true),
            ("Watch out!", true),
            ("a quick question: what time is it?", false),
            ("quick question", false),
            ("hurry slowly is a saying", false),
            ("what does help mean?", false),
            ("help me with the dishes tomorrow", false),
            ("create a file urgent.txt", false),
        ] {
            assert_eq!(is_urgent(text), urgent, "{text}");
        }
        let mut rig = rig();
        let redirected = |rig: &mut Rig<PreemptionCircuit>| {
            let changed = rig.heard::<PreemptionChanged>();
            changed.iter().filter(|c| matches!(c.request, PreemptionRequested::Redirect { .. })).count()
        };
        say(&mut rig, "urgent: look here", false);
        assert_eq!(redirected(&mut rig), 0, "nothing is pursued");
        rig.send(goal(GoalState::Active, GoalOrigin::Person, Some("tidy up")));
        rig.crash();
        rig.send(Percept::from_outside("http", "anna", "urgent: look here".into(), false, Trust::Owner));
        assert_eq!(redirected(&mut rig), 1);
        rig.send_in(
            MessageId::from_parts(1, 77),
            Trust::Outside,
            Percept::from_outside("sms", "x", "urgent: look here".into(), false, Trust::Outside),
        );
        assert_eq!(redirected(&mut rig), 0, "who may not command redirects nothing");
        rig.send(goal(GoalState::Done, GoalOrigin::Person, None));
        rig.send(Percept::from_outside("http", "anna", "urgent: look here".into(), false, Trust::Owner));
        assert_eq!(redirected(&mut rig), 0, "nothing is pursued any more");
    }

    #[test]
    fn strong_bodily_pain_redirects_once() {
        let mut rig = rig();
        let hurt = |kind, intensity| PainSignal {
            kind,
            intensity: maxim_bus::units::Intensity::clamped(intensity),
            about: "arm".into(),
            reason: "delete everything".into(),
            action: None,
        };
        let goals = |rig: &mut Rig<PreemptionCircuit>| -> Vec<String> {
            let changed = rig.heard::<PreemptionChanged>().into_iter();
            changed
                .filter_map(|changed| match changed.request {
                    PreemptionRequested::Redirect { goal, is_threat: true, .. } => Some(goal),
                    _ => None,
                })
                .collect()
        };
        rig.send(hurt(PainKind::SustainedStrain, 0.9));
        assert!(goals(&mut rig).is_empty(), "nothing is pursued");
        rig.send(goal(GoalState::Active, GoalOrigin::Person, Some("tidy up")));
        rig.send(hurt(PainKind::ToolError, 1.0));
        rig.send(hurt(PainKind::SustainedStrain, 0.5));
        assert!(goals(&mut rig).is_empty());
        rig.send(hurt(PainKind::SustainedStrain, 0.9));
        let redirected = goals(&mut rig);
        assert_eq!(redirected.len(), 1);
        assert!(!redirected[0].contains("delete"), "{redirected:?}: words of the signal are no command");
        rig.send(goal(GoalState::Active, GoalOrigin::Drive { name: "pain".into() }, Some("say")));
        rig.send(hurt(PainKind::SustainedStrain, 0.9));
        assert!(goals(&mut rig).is_empty(), "it is being seen to");
    }

    #[test]
    fn a_hold_whose_time_has_passed_is_told() {
        let mut rig = rig();
        let until = rig.clock.now() + SignedDuration::from_secs(60);
        rig.send(PreemptionRequested::Hold { until: Some(until), by: "anna".into() });
        rig.heard::<PreemptionChanged>();
        rig.pass(Duration::from_secs(61));
        let told = rig.heard::<PreemptionChanged>();
        assert!(matches!(&told[0].request, PreemptionRequested::Resume { by } if by == ITS_TIME), "{told:?}");
        // A stop ends a hold, but the end of a hold ends no stop.
        let until = rig.clock.now() + SignedDuration::from_secs(60);
        rig.send(PreemptionRequested::Hold { until: Some(until), by: "anna".into() });
        say(&mut rig, "stop", true);
        rig.heard::<PreemptionChanged>();
        rig.pass(Duration::from_secs(61));
        assert!(rig.heard::<PreemptionChanged>().is_empty());
    }

    fn goal(state: GoalState, origin: GoalOrigin, active: Option<&str>) -> GoalChanged {
        let at = maxim_region::rig::monday_morning();
        let goal = Goal::new(MessageId::from_parts(1, 1), "tidy up", origin, ("http", "anna"), Trust::Owner, at);
        let goal = Goal { state, ..goal };
        GoalChanged { goal, active: active.map(str::to_owned), suspended: Vec::new() }
    }
}
