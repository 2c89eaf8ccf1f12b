use maxim_bus::signals::bridges::Counsel;
use maxim_bus::units::Confidence;

use super::*;
use maxim_region::rig::{Rig, ear, monday_morning};
use maxim_tools::core_registry;

fn settings(level: AutonomyLevel) -> AutonomySettings {
    AutonomySettings {
        powers: Powers { autonomy: level, ..Powers::whole() },
        tools: Arc::new(core_registry().expect("good specs")),
        law: Rails::default(),
        whitelists: BTreeMap::new(),
        scene_tools: 20,
        uncounted: vec!["respond".into()],
        effort: EffortLimits::default(),
        zone: TimeZone::UTC,
    }
}

fn intent(confidence: f64) -> Intent {
    Intent {
        turn: MessageId::from_parts(1, 1),
        tool: "bash".into(),
        params: serde_json::Value::Null,
        mind: Mind::Model,
        confidence: Confidence::clamped(confidence),
        commanded: false,
        trust: Trust::Owner,
        unasked: false,
        goal: Some("run the tests".into()),
        channel: "http".into(),
        recipient: "anna".into(),
        then: vec![],
        instead: vec![],
    }
}

fn asks(rig: &mut Rig<Autonomy>, intent: Intent) -> Option<String> {
    rig.send(intent);
    rig.heard::<IntentPermitted>().remove(0).ask.map(|ask| ask.rule)
}

#[test]
fn each_level_may_use_the_tools_on_its_list_and_always_answer() {
    let whitelists = BTreeMap::from([(AutonomyLevel::Supervised, vec!["read_file".to_owned()])]);
    let refused = |level: AutonomyLevel, tool: &str| {
        let settings = AutonomySettings { whitelists: whitelists.clone(), ..settings(level) };
        let mut rig: Rig<Autonomy> = Rig::new(settings, ear::<IntentRefused>);
        rig.send(Intent { tool: tool.into(), commanded: true, ..intent(1.0) });
        rig.heard::<IntentRefused>().first().map(|refused| refused.rule.clone())
    };
    let by_list = Some("autonomy.whitelist".to_owned());
    assert_eq!(refused(AutonomyLevel::Supervised, "bash"), by_list);
    assert_eq!(refused(AutonomyLevel::Supervised, "read_file"), None);
    assert_eq!(refused(AutonomyLevel::Supervised, "respond"), None);
    assert_eq!(refused(AutonomyLevel::Autonomous, "bash"), None, "this level has no list");
}

fn counsel(counsel: Option<Counsel>) -> EscalationCounselled {
    let until = monday_morning() + SignedDuration::from_hours(1);
    EscalationCounselled { kind: Some("bash:run".into()), hour: None, counsel, until }
}

#[test]
fn counsel_moves_the_bar_of_a_supervised_agent() {
    let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Supervised), ear::<IntentPermitted>);
    let supervised = Some("autonomy.supervised".to_owned());
    assert_eq!(asks(&mut rig, intent(0.7)), supervised);
    assert_eq!(asks(&mut rig, intent(0.9)), None);
    assert_eq!(asks(&mut rig, Intent { commanded: true, ..intent(0.1) }), None);
    rig.send(counsel(Some(Counsel::Trusted)));
    rig.crash();
    assert_eq!(asks(&mut rig, intent(0.7)), None);
    assert_eq!(asks(&mut rig, intent(0.4)), supervised, "the bar is 0.5, not gone");
    rig.send(counsel(Some(Counsel::Unwanted)));
    assert_eq!(asks(&mut rig, intent(1.0)), supervised, "the bar is 1.1");
}

#[test]
fn an_autonomous_agent_asks_what_people_did_not_want() {
    let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), ear::<IntentPermitted>);
    assert_eq!(asks(&mut rig, intent(0.1)), None);
    rig.send(counsel(Some(Counsel::Unwanted)));
    assert_eq!(asks(&mut rig, intent(0.9)), Some("escalation.unwanted".into()));
    assert_eq!(asks(&mut rig, Intent { commanded: true, ..intent(0.9) }), None);
    assert_eq!(asks(&mut rig, Intent { tool: "respond".into(), ..intent(0.9) }), None);
    rig.send(counsel(None));
    assert_eq!(asks(&mut rig, intent(0.1)), None);
}

fn result(tool: &str, output: serde_json::Value) -> ToolResult {
    let id = MessageId::from_parts(1, 1);
    ToolResult {
        action: id,
        intent: id,
        turn: id,
        tool: tool.into(),
        params: serde_json::Value::Null,
        success: Some(true),
        output,
        error: None,
        failure: None,
        duration_us: 0,
        side_effects: vec![],
        reward: None,
    }
}

fn powers(rig: &mut Rig<Autonomy>) -> Powers {
    rig.send(intent(1.0));
    rig.heard::<IntentPermitted>().remove(0).powers.expect("powers travel with what is permitted")
}

#[test]
fn what_was_lowered_holds_over_a_crash_until_a_person_gives_it_back() {
    use maxim_bus::mode::Mode;
    use serde_json::json;
    let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), |bus, probe| {
        ear::<IntentPermitted>(bus, probe);
        ear::<PowersReported>(bus, probe);
        ear::<ModeLowered>(bus, probe);
    });
    assert_eq!(powers(&mut rig), Powers::whole());
    rig.send(result("mode_switch", json!({"mode": "passive", "was": "singularity"})));
    rig.send(result("mode_switch", json!({"mode": "active", "was": "singularity"})));
    rig.send(result("web_access", json!({"web": false, "was": true})));
    rig.send(result("autonomy_level", json!({"autonomy": "supervised", "was": "autonomous"})));
    rig.send(ToolResult { success: Some(false), ..result("autonomy_level", json!({"autonomy": "planning"})) });
    rig.crash();
    let now = powers(&mut rig);
    assert_eq!((now.mode, now.web, now.autonomy), (Mode::Passive, false, AutonomyLevel::Supervised));
    rig.send(RestorePowers { by: "anna".into() });
    let told = rig.heard_all();
    let modes = told.iter().filter_map(|envelope| envelope.get::<ModeLowered>());
    let modes: Vec<Option<Mode>> = modes.map(|lowered| lowered.to).collect();
    let told = told.iter().find_map(|envelope| envelope.get::<PowersReported>()).expect("told");
    assert_eq!((told.powers.clone(), told.lowered.len()), (Powers::whole(), 3));
    assert_eq!(modes, [None]);
    assert_eq!(powers(&mut rig), Powers::whole());
}

#[test]
fn another_working_folder_travels_with_what_is_permitted() {
    let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), ear::<IntentPermitted>);
    rig.send(result("request_directory_change", serde_json::json!({"workdir": "/srv/other", "was": "/srv"})));
    assert_eq!(powers(&mut rig).workdir, Some("/srv/other".into()));
}

#[test]
fn a_wrong_name_is_led_to_its_tool_and_an_unknown_one_is_answered() {
    let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), |bus, probe| {
        ear::<IntentPermitted>(bus, probe);
        ear::<IntentRefused>(bus, probe);
        ear::<PowersReported>(bus, probe);
    });
    let proposed = |tool: &str| ModelProposal {
        instead: Vec::new(),
        turn: MessageId::from_parts(1, 1),
        tool: Some(tool.into()),
        params: serde_json::Value::Null,
        reasoning: String::new(),
        confidence: None,
        error: None,
    };
    rig.send(proposed("run_command"));
    rig.send(Intent { tool: "run_command".into(), ..intent(1.0) });
    let permitted = rig.heard::<IntentPermitted>().remove(0);
    assert_eq!((permitted.intent.tool.as_str(), permitted.called.as_deref()), ("bash", Some("run_command")));
    let mut unknown = |name: &str| {
        rig.send(proposed(name));
        rig.send(Intent { tool: name.into(), ..intent(1.0) });
        rig.heard::<IntentRefused>().remove(0)
    };
    let first = unknown("rite_file");
    assert_eq!((first.rule.as_str(), first.tool.as_str()), ("tools.name", "rite_file"));
    assert!(first.reason.contains("write_file"), "{}", first.reason);
    assert!(unknown("rite_file").reason.contains("these are all"));
    rig.send(proposed("remember"));
    rig.send(proposed(RUN_PROGRAM));
    rig.send(ReportPowers {});
    let names = rig.heard::<PowersReported>().remove(0).names;
    assert_eq!((names.attempts, names.redirected, names.unknown), (4, 2, 2));
}

#[test]
fn the_rate_counts_what_acts_and_neither_what_reads_nor_what_the_gate_refused() {
    let mut rig: Rig<Autonomy> = Rig::new(
        AutonomySettings { law: Rails { per_second: 2, ..Rails::default() }, ..settings(AutonomyLevel::Autonomous) },
        |bus, probe| {
            ear::<IntentPermitted>(bus, probe);
            ear::<IntentRefused>(bus, probe);
        },
    );
    let passes = |rig: &mut Rig<Autonomy>, tool: &str| {
        rig.send(Intent { tool: tool.into(), commanded: true, ..intent(1.0) });
        let heard = rig.heard_all();
        let permitted = heard.iter().find_map(|envelope| envelope.get::<IntentPermitted>()).map(|passed| passed.id);
        let refused = heard.iter().find_map(|envelope| envelope.get::<IntentRefused>()).map(|no| no.rule.clone());
        permitted.ok_or(refused)
    };
    for _ in 0..5 {
        passes(&mut rig, "read_file").expect("reading is no effect");
    }
    let first = passes(&mut rig, "bash").expect("free");
    passes(&mut rig, "bash").expect("free");
    assert_eq!(passes(&mut rig, "bash"), Err(Some("autonomy.rate".into())));
    passes(&mut rig, "read_file").expect("and isn't held up by effects");
    rig.send(refused(first, &intent(1.0), Refusal::Blocked, "destroy.root", "no".into()));
    rig.crash();
    passes(&mut rig, "bash").expect("what the gate refused is no effect");
    assert_eq!(passes(&mut rig, "bash"), Err(Some("autonomy.rate".into())));
}
