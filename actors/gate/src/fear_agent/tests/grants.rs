//! Grants in the room: every reason for asking must be answered, codes can't be guessed, what is taken back holds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use maxim_bus::signals::approval::{AnswerApproval, ApprovalAnswered, Consent, ConsentTaken, code_of};
use maxim_bus::signals::grants::{AlwaysOffer, GrantReach, GrantsSurveyed, SurveyGrants};
use maxim_bus::signals::intent::{
    ApprovalDecided, DecisionTaken, Escalation, Intent, IntentPermitted, IntentRefused, Refusal,
};
use maxim_bus::signals::percept::Percept;
use maxim_bus::signals::program_files::{FixPrograms, Fixed, Found, ProgramsFixed, ProgramsRead, ReadPrograms, Scope};
use maxim_bus::signals::thought::Mind;
use maxim_bus::units::Confidence;
use maxim_bus::{Envelope, MessageId, Signal, Trust};
use serde_json::{Value, json};

use super::super::grants::MOST;
use super::super::*;
use crate::ClearedIntent;
use maxim_region::rig::{Rig, ear, monday_morning};
use maxim_tools::program_files::fixed_of;

fn settings() -> FearSettings {
    FearSettings {
        mode: Mode::Active,
        workdir: PathBuf::from("/nonexistent/work"),
        home: PathBuf::from("/home/anna"),
        own: Arc::default(),
        walls: Walls::default(),
        law: FearLaw { bridge_gain: 0.0, ..FearLaw::default() },
        irreversible: BTreeSet::new(),
        foreign: BTreeSet::from(["far_tool".to_owned()]),
        offers: BTreeMap::from([("far_tool".to_owned(), "d1".to_owned())]),
        review: None,
        boot: 1,
        zone: TimeZone::UTC,
        fearless: None,
    }
}

struct Gate {
    rig: Rig<FearAgent>,
    next: u128,
    /// Heard beside an answer, and not looked at yet.
    left: Vec<Arc<Envelope>>,
}

/// What the gate made of a wish.
#[derive(Debug, PartialEq)]
enum Said {
    Asked(MessageId),
    Cleared(String),
    Refused(String),
    Nothing,
}

impl Gate {
    fn new() -> Self {
        let rig = Rig::new(settings(), |bus, probe| {
            ear::<IntentRefused>(bus, probe);
            ear::<ClearedIntent>(bus, probe);
            ear::<GrantsSurveyed>(bus, probe);
            ear::<DecisionTaken>(bus, probe);
            ear::<ApprovalAnswered>(bus, probe);
            ear::<ReadPrograms>(bus, probe);
            ear::<FixPrograms>(bus, probe);
        });
        Self { rig, next: 0, left: Vec::new() }
    }

    fn wish(&mut self, tool: &str, params: Value, channel: &str, ask: Option<Escalation>) -> Said {
        self.next += 1;
        let id = MessageId::from_parts(self.next as u64, self.next << 20 | 0xabc);
        let intent = Intent {
            turn: id,
            tool: tool.into(),
            params,
            mind: Mind::Habit,
            confidence: Confidence::clamped(1.0),
            commanded: true,
            trust: Trust::Owner,
            unasked: false,
            goal: None,
            channel: channel.into(),
            recipient: "anna".into(),
            then: vec![],
            instead: vec![],
        };
        let permitted = IntentPermitted { intent, id, policy: String::new(), ask, powers: None, called: None };
        self.heard_all();
        self.rig.send(permitted);
        self.said()
    }

    /// What the gate has said, once the program reader has told it that there are no files.
    fn heard_all(&mut self) -> Vec<Arc<Envelope>> {
        let mut all = self.rig.heard_all();
        let mut answered = 0;
        while answered < all.len() {
            let envelope = Arc::clone(&all[answered]);
            answered += 1;
            if let Some(asked) = envelope.get::<ReadPrograms>() {
                let nothing = |wanted: &_| Found { wanted: Clone::clone(wanted), files: Vec::new(), fault: None };
                let found = asked.wanted.iter().map(nothing).collect();
                self.rig.send(ProgramsRead { intent: asked.intent, found });
            }
            if let Some(asked) = envelope.get::<FixPrograms>() {
                let fixed = Some(fixed_of(asked.scope.clone(), BTreeMap::new(), None));
                self.rig.send(ProgramsFixed { intent: asked.intent, fixed, fault: None });
            }
            all.extend(self.rig.heard_all());
        }
        all
    }

    fn heard<S: Signal>(&mut self) -> Vec<S> {
        self.heard_all().iter().filter_map(|envelope| envelope.get::<S>().cloned()).collect()
    }

    fn said(&mut self) -> Said {
        for envelope in self.heard_all() {
            if let Some(refused) = envelope.get::<IntentRefused>() {
                return match refused.approval {
                    Some(approval) => Said::Asked(approval),
                    None => Said::Refused(refused.rule.clone()),
                };
            }
            if let Some(cleared) = envelope.get::<ClearedIntent>() {
                return Said::Cleared(cleared.rule().to_owned());
            }
        }
        Said::Nothing
    }

    fn run(&mut self, command: &str) -> Said {
        self.wish("bash", json!({ "command": command }), "http", None)
    }

    fn asks(&mut self, command: &str) -> MessageId {
        match self.run(command) {
            Said::Asked(approval) => approval,
            other => panic!("{command}: {other:?}"),
        }
    }

    fn allow(&mut self, approval: MessageId, reach: GrantReach) -> DecisionTaken {
        let at = monday_morning();
        self.heard_all();
        self.rig.send(ApprovalDecided { approval, allow: true, always: true, reach, by: "anna".into(), at });
        self.heard::<DecisionTaken>().remove(0)
    }

    fn survey(&mut self, revoke: Option<&str>) -> GrantsSurveyed {
        self.heard_all();
        self.rig.send(SurveyGrants { revoke: revoke.map(Into::into), by: "anna".into() });
        self.heard::<GrantsSurveyed>().remove(0)
    }

    fn answer(&mut self, channel: &str, trust: Trust, code: &str, always: bool) -> ConsentTaken {
        let turn = MessageId::from_parts(9, 9);
        let consent = Consent { agrees: true, always, code: Some(code.into()), is_fresh: false };
        let said = Percept::from_outside(channel, "anna", "yes".into(), false, trust);
        self.heard_all();
        self.rig.send_in(turn, trust, AnswerApproval::said(&said, turn, consent).expect("said"));
        self.heard::<ApprovalAnswered>().remove(0).taken
    }
}

#[test]
fn the_question_says_what_an_always_would_cover_and_that_is_what_is_covered() {
    let mut gate = Gate::new();
    let approval = gate.asks("python3 count.py");
    let entry: GateEntry = gate.rig.records().get(format!("{ENTRIES}{approval}").as_bytes()).expect("an entry");
    let Some(AlwaysOffer::Covers(words)) = &entry.always else { panic!("{entry:?}") };
    assert!(words.contains("exactly the command “python3 count.py” in /nonexistent/work"), "{words}");
    assert_eq!((entry.any_arguments, entry.asks[0].command.as_deref()), (None, Some("python3 count.py")));
    let decided = gate.allow(approval, GrantReach::Call);
    assert!(decided.taken && decided.granted.is_some_and(|granted| granted.contains("python3 count.py")));
    gate.rig.crash();
    assert_eq!(gate.run("python3 count.py"), Said::Cleared("granted: exec.file".into()));
    for other in [
        "python3 other.py",
        "./run.sh",
        "python3 count.py $(touch made2)",
        "python3 count.py && git reset --hard",
        "python3 count.py && sudo id",
        "python3 count.py; python3 count.py",
        "python3 count.py > out.txt",
        "X=1 python3 count.py",
        "python3 count.py &",
    ] {
        // A wall refuses what no yes would let pass.
        assert!(matches!(gate.run(other), Said::Asked(_) | Said::Refused(_)), "{other}");
    }
    let elsewhere = gate.wish("bash", json!({"command": "python3 count.py", "cwd": "sub"}), "http", None);
    assert!(matches!(elsewhere, Said::Asked(_)), "another folder: {elsewhere:?}");
    let listed = gate.survey(None);
    assert_eq!((listed.grants.len(), listed.grants[0].used, listed.grants[0].by.as_str()), (1, 1, "anna"));
}

#[test]
fn every_reason_for_asking_must_be_answered() {
    let mut gate = Gate::new();
    let escalated = || Some(Escalation { rule: "autonomy.supervised".into(), reason: "not sure".into() });
    let call = || json!({"command": "git reset --hard"});
    let approval = gate.asks("git reset --hard");
    assert!(gate.allow(approval, GrantReach::Call).taken);
    assert!(matches!(gate.wish("bash", call(), "http", None), Said::Cleared(_)));
    let Said::Asked(approval) = gate.wish("bash", call(), "http", escalated()) else { panic!("another reason") };
    assert!(gate.allow(approval, GrantReach::Call).taken);
    assert!(matches!(gate.wish("bash", call(), "http", escalated()), Said::Cleared(_)));
    assert_eq!(gate.survey(None).grants.len(), 1, "one grant, with both reasons");
    // A judgement tells all reasons, each with the simple command that it is about.
    let judged = judge(
        &ToolCall { tool: "bash", params: &json!({"command": "python3 a.py && git reset --hard | tee x"}) },
        &Setting { mode: Mode::Active, workdir: "/w".into(), home: "/h".into(), own: Arc::default() },
    );
    let asks: Vec<(&str, Option<&str>)> = judged.asks.iter().map(|ask| (ask.rule, ask.command.as_deref())).collect();
    assert_eq!(asks, [("exec.file", Some("python3 a.py")), ("destroy.vcs", Some("git reset --hard"))]);
}

#[test]
fn a_wider_yes_names_its_reach_and_is_refused_where_it_would_be_anything() {
    let mut gate = Gate::new();
    let approval = gate.asks("cargo test --lib");
    let refused = gate.allow(approval, GrantReach::AnyArguments);
    assert!(!refused.taken && refused.refused.is_some(), "{refused:?}");
    let refused = gate.allow(approval, GrantReach::Pattern("cargo *".into()));
    assert!(!refused.taken && refused.refused.is_some_and(|why| why.contains("first argument")));
    let given = gate.allow(approval, GrantReach::Pattern("cargo test *".into()));
    assert!(given.taken && given.granted.is_some_and(|words| words.contains("“cargo test *”")));
    assert!(matches!(gate.run("cargo test"), Said::Cleared(_)));
    assert!(matches!(gate.run("cargo test -p a --lib"), Said::Cleared(_)));
    for other in ["cargo run", "cargo test; cargo run", "cargo test $(cargo run)", "cargo test && rm -rf src"] {
        assert!(matches!(gate.run(other), Said::Asked(_)), "{other}");
    }
    for blank in ["sh run.sh", "python3 a.py", "env python3 a.py", "make"] {
        let approval = gate.asks(blank);
        assert!(gate.allow(approval, GrantReach::AnyArguments).refused.is_some(), "{blank}");
    }
    // What isn't in the words has no always at all, and saying it decides nothing.
    let approval = gate.asks("python3 $SCRIPT");
    assert!(gate.allow(approval, GrantReach::Call).refused.is_some());
    assert!(matches!(gate.said(), Said::Nothing));
}

#[test]
fn a_tool_of_a_server_is_granted_as_it_describes_itself_and_with_its_parameters() {
    let mut gate = Gate::new();
    let far = |gate: &mut Gate, x: u64| gate.wish("far_tool", json!({ "x": x }), "http", None);
    let Said::Asked(approval) = far(&mut gate, 1) else { panic!("asked") };
    assert!(gate.allow(approval, GrantReach::Call).taken);
    assert!(matches!(far(&mut gate, 1), Said::Cleared(_)));
    let Said::Asked(approval) = far(&mut gate, 2) else { panic!("other parameters") };
    assert!(gate.allow(approval, GrantReach::AnyArguments).taken);
    assert!(matches!(far(&mut gate, 3), Said::Cleared(_)));
    let mut changed = settings();
    changed.offers.insert("far_tool".into(), "d2".into());
    gate.rig.restart(changed);
    assert!(matches!(far(&mut gate, 1), Said::Asked(_)), "it says something else of itself now");
}

#[test]
fn what_is_taken_back_holds_nothing_that_was_not_begun() {
    let mut gate = Gate::new();
    let approval = gate.asks("python3 count.py");
    assert!(gate.allow(approval, GrantReach::Call).taken);
    let id = gate.survey(None).grants[0].id.clone();
    // Cleared by the grant, and nobody takes it up.
    assert!(matches!(gate.run("python3 count.py"), Said::Cleared(_)));
    gate.heard_all();
    gate.rig.send(SurveyGrants { revoke: Some(id.clone()), by: "anna".into() });
    let refused: Vec<IntentRefused> = gate.heard();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!((refused[0].refusal, refused[0].rule.as_str()), (Refusal::Denied, "grant.revoked"));
    gate.rig.pass(Duration::from_secs(5));
    assert!(
        !gate.heard_all().iter().any(|one| one.get::<ClearedIntent>().is_some_and(|c| c.rule().starts_with("granted"))),
        "it isn't cleared again"
    );
    gate.rig.crash();
    assert!(matches!(gate.run("python3 count.py"), Said::Asked(_)));
    assert!(gate.survey(Some(&id)).refused.is_some_and(|why| why.contains("no grant")));
    // Nobody but the owner takes back.
    let approval = gate.asks("python3 b.py");
    assert!(gate.allow(approval, GrantReach::Call).taken);
    let id = gate.survey(None).grants[0].id.clone();
    gate.heard_all();
    gate.rig.send_in(MessageId::from_parts(3, 3), Trust::Listed, SurveyGrants { revoke: Some(id), by: "bo".into() });
    assert!(gate.heard::<GrantsSurveyed>()[0].refused.is_some());
    assert_eq!(gate.survey(None).grants.len(), 1);
}

#[test]
fn whoever_commands_on_one_channel_grants_for_that_channel() {
    let mut gate = Gate::new();
    let wish = |gate: &mut Gate, channel: &str| gate.wish("bash", json!({"command": "python3 a.py"}), channel, None);
    let Said::Asked(approval) = wish(&mut gate, "twilio") else { panic!("asked") };
    let taken = gate.answer("twilio", Trust::Listed, &code_of(approval), true);
    assert!(matches!(taken, ConsentTaken::Allowed { granted: Some(_), .. }), "{taken:?}");
    assert!(matches!(wish(&mut gate, "twilio"), Said::Cleared(_)));
    assert!(matches!(wish(&mut gate, "http"), Said::Asked(_)));
}

/// A fingerprint of one file with this content.
fn of_content(scope: &Scope, content: &str) -> Fixed {
    fixed_of(scope.clone(), BTreeMap::from([("/w/t.sh".to_owned(), content.to_owned())]), None)
}

impl Gate {
    /// The same as `said`, with a program of this content on the disk.
    fn said_with(&mut self, content: &str) -> Said {
        loop {
            let mut all = std::mem::take(&mut self.left);
            all.extend(self.rig.heard_all());
            if all.is_empty() {
                return Said::Nothing;
            }
            for envelope in all {
                if let Some(asked) = envelope.get::<ReadPrograms>() {
                    let found = asked.wanted.iter();
                    let found = found.map(|wanted| Found { wanted: wanted.clone(), files: Vec::new(), fault: None });
                    self.rig.send(ProgramsRead { intent: asked.intent, found: found.collect() });
                } else if let Some(asked) = envelope.get::<FixPrograms>() {
                    let fixed = Some(of_content(&asked.scope, content));
                    self.rig.send(ProgramsFixed { intent: asked.intent, fixed, fault: None });
                } else if let Some(refused) = envelope.get::<IntentRefused>() {
                    return refused.approval.map_or(Said::Refused(refused.rule.clone()), Said::Asked);
                } else if let Some(cleared) = envelope.get::<ClearedIntent>() {
                    return Said::Cleared(cleared.rule().to_owned());
                }
            }
        }
    }

    /// Says yes on the channel, with a code or without. The disk isn't looked at.
    fn yes(&mut self, code: Option<String>) -> ConsentTaken {
        let turn = MessageId::from_parts(9, 9);
        let consent = Consent { agrees: true, always: false, code, is_fresh: true };
        let said = Percept::from_outside("http", "anna", "yes".into(), false, Trust::Owner);
        self.rig.send_in(turn, Trust::Owner, AnswerApproval::said(&said, turn, consent).expect("said"));
        self.left = self.rig.heard_all();
        let taken = self.left.iter().find_map(|one| one.get::<ApprovalAnswered>().cloned());
        taken.expect("an answer").taken
    }
}

#[test]
fn a_question_asked_anew_is_a_new_one_and_the_old_yes_decides_nothing() {
    let mut gate = Gate::new();
    let first = gate.asks("python3 a.py");
    let decide = |approval, allow| {
        let (by, at) = ("anna".into(), monday_morning());
        ApprovalDecided { approval, allow, always: false, reach: GrantReach::Call, by, at }
    };
    gate.rig.send(decide(first, true));
    let Said::Asked(second) = gate.said_with("changed") else { panic!("asked anew") };
    assert!(second != first && code_of(second) != code_of(first));
    // By the door, by its code, and without one: the same yes once more.
    gate.heard_all();
    gate.rig.send(decide(first, true));
    let decided = gate.heard::<DecisionTaken>().remove(0);
    assert!(!decided.taken && decided.refused.is_some_and(|why| why.contains(&code_of(second))));
    let ConsentTaken::Replaced { question, why } = gate.yes(Some(code_of(first))) else { panic!("replaced") };
    assert_eq!((question.approval, question.code.as_str()), (second, code_of(second).as_str()));
    assert!(why.contains("t.sh (new) changed"), "{why}");
    assert!(matches!(gate.yes(None), ConsentTaken::Which { .. }));
    assert_eq!(gate.said_with("changed"), Said::Nothing);
    // A crash changes nothing of it, and a third change makes a third question.
    gate.rig.crash();
    assert!(matches!(gate.yes(Some(code_of(first))), ConsentTaken::Replaced { .. }));
    assert!(
        matches!(gate.yes(Some(code_of(second))), ConsentTaken::Allowed { question, .. } if question.intent == first)
    );
    let Said::Asked(third) = gate.said_with("again") else { panic!("asked once more") };
    for old in [first, second] {
        let taken = gate.yes(Some(code_of(old)));
        assert!(matches!(taken, ConsentTaken::Replaced { question, .. } if question.approval == third));
    }
    gate.rig.send(decide(third, true));
    assert!(matches!(gate.said_with("again"), Said::Cleared(_)));
}

#[test]
fn wrong_codes_close_a_question_and_the_time_of_an_id_names_nothing() {
    let mut gate = Gate::new();
    let approval = gate.asks("python3 a.py");
    // 300 guesses of somebody who decides nothing: nothing is done, and the question stays.
    for guess in 0..300 {
        let taken = gate.answer("twilio", Trust::Listed, &format!("{guess:04x}"), false);
        assert_eq!(taken, ConsentTaken::Nothing, "{guess:04x}");
    }
    assert!(gate.rig.region().asked.contains_key(&approval));
    let whole = approval.to_string();
    for beginning in [&whole[..4], &whole[..8], &whole[..13]] {
        assert_eq!(gate.answer("http", Trust::Owner, beginning, false), ConsentTaken::Nothing, "{beginning}");
    }
    for guess in 3..9 {
        gate.answer("http", Trust::Owner, &format!("{guess:04x}"), false);
    }
    assert!(gate.rig.region().asked.contains_key(&approval), "nine guesses");
    gate.rig.crash();
    gate.answer("http", Trust::Owner, "ffff", false);
    assert!(!gate.rig.region().asked.contains_key(&approval), "ten are too many");
    assert_eq!(gate.answer("http", Trust::Owner, &code_of(approval), false), ConsentTaken::Nothing);
    let next = gate.asks("python3 b.py");
    assert!(matches!(gate.answer("http", Trust::Owner, &code_of(next), false), ConsentTaken::Allowed { .. }));
}

#[test]
fn a_full_list_takes_no_more_and_says_what_to_do() {
    let mut gate = Gate::new();
    for number in 0..MOST {
        let approval = gate.asks(&format!("python3 a{number}.py"));
        assert!(gate.allow(approval, GrantReach::Call).taken);
    }
    let approval = gate.asks("python3 b.py");
    let refused = gate.allow(approval, GrantReach::Call);
    assert!(refused.refused.is_some_and(|why| why.contains("maxim approvals revoke")));
    let id = gate.survey(None).grants[0].id.clone();
    gate.survey(Some(&id));
    assert!(gate.allow(approval, GrantReach::Call).taken);
}
