use jiff::SignedDuration;
use maxim_actors::deliberation::prefrontal_cortex::{PrefrontalSettings, Prices};
use maxim_actors::effectors::llm_worker::{ModelSource, Role, Roles};
use maxim_actors::language::{Budget, Price};
use maxim_actors::memory::hippocampus::law::CaptureLaw;
use maxim_bus::mode::{AutonomyLevel, EffortLimits, MoneyLimits};

use super::*;
use crate::config;

/// The rooms' settings from a configuration in which these keys have these values.
fn rooms(keys: &[(&'static str, &str)]) -> AgentSettings {
    let set = |(key, value): &(&'static str, &str)| config::Override { key, value: (*value).into(), flag: "test" };
    let given: Vec<config::Override> = keys.iter().map(set).collect();
    let loaded = config::load(&config::Places::nowhere(), &given).expect("a good configuration");
    let (workdir, saved) = (Path::new("/"), Path::new("/saved"));
    AgentSettings::new(&loaded.settings, 1, workdir, saved, ListFolder::default()).expect("settings")
}

#[test]
fn a_list_of_tools_that_names_none_is_refused_by_its_key() {
    let mut settings = Settings::default();
    settings.gate.autonomy.supervised_tools = vec!["read_file".into(), "raed_file".into()];
    let made = AgentSettings::new(&settings, 1, Path::new("/"), Path::new("/saved"), ListFolder::default());
    let error = made.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("autonomy.supervised_tools") && error.contains("raed_file"), "{error}");
}

#[test]
fn what_is_configured_reaches_its_room() {
    let usual = rooms(&[]);
    assert_eq!(CaptureLaw::from(&usual.memory.sections.memory), CaptureLaw::default());
    assert_eq!((usual.perception.gateway.text_max, usual.perception.gateway.credit), (64 << 10, 256));
    let other = rooms(&[
        ("memory.capture_novelty", "0.1"),
        ("memory.capture_salience", "0.2"),
        ("memory.capture_pain", "0.3"),
        ("memory.capture_checkpoint", "7s"),
        ("memory.merge_window", "8s"),
        ("gateway.text_max", "2 KiB"),
        ("gate.forgiveness_half_life", "9min"),
        ("llm.base_url", "http://127.0.0.1:1/v1"),
        ("llm.model", "m"),
        ("llm.concurrency", "3"),
        ("llm.context_tokens", "2048"),
        ("llm.reply_tokens", "100"),
        ("llm.cycles", "5"),
        ("llm.steps", "6"),
        ("llm.tick", "7s"),
        ("llm.tokens_per_hour", "10"),
        ("llm.tokens_per_day", "11"),
        ("llm.tokens_per_session", "12"),
        ("llm.price_prompt", "1.5"),
        ("llm.price_reply", "2.5"),
        ("llm.act_model", "quick"),
        ("llm.act_price_prompt", "3.5"),
        ("llm.act_price_reply", "4.5"),
        ("llm.money_per_hour", "3"),
        ("llm.money_per_day", "4"),
        ("llm.money_per_session", "5"),
        ("tools.scene_max", "7"),
        ("tools.piper_voice", "/voices/joe.onnx"),
        ("autonomy.supervised_tools", "read_file,glob"),
        ("body.degrees_per_hour", "6"),
        ("body.degrees_per_day", "7"),
    ]);
    let capture = CaptureLaw {
        novel: 0.1,
        salient: 0.2,
        painful: 0.3,
        checkpoint: SignedDuration::from_secs(7),
        merge_within: SignedDuration::from_secs(8),
    };
    assert_eq!(CaptureLaw::from(&other.memory.sections.memory), capture);
    assert_eq!(other.perception.gateway.text_max, 2048);
    assert_eq!(other.gate.fear.law.forgiveness_half_life.signed(), SignedDuration::from_mins(9));
    let deliberation::Settings { turns, prefrontal } = &other.deliberation;
    let energy = &other.perception.energy;
    assert_eq!((prefrontal.cycles, prefrontal.tick), (5, SignedDuration::from_secs(7)));
    let PrefrontalSettings { budget, context_tokens, .. } = *prefrontal;
    assert_eq!((context_tokens, energy.tokens_per_session), (2048, 12));
    assert_eq!((prefrontal.reply_tokens, turns.steps), (100, 6));
    let money = MoneyLimits { per_hour: 3.0, per_day: 4.0, per_session: 5.0 };
    let limits = Budget { tokens_per_hour: 10, tokens_per_day: 11, tokens_per_session: 12, money };
    assert_eq!((budget, energy.money), (limits, money));
    assert_eq!(other.gate.fear.review.map(|review| review.budget), Some(limits), "reviews are paid out of the same");
    assert_eq!(other.action.hands.voice.as_deref(), Some(Path::new("/voices/joe.onnx")));
    let effort = EffortLimits { per_hour: 6.0, per_day: 7.0 };
    assert_eq!((other.gate.autonomy.effort, energy.effort), (effort, effort));
    let listed = [(AutonomyLevel::Supervised, vec!["read_file".to_owned(), "glob".to_owned()])];
    assert_eq!((&other.gate.autonomy.whitelists, other.gate.autonomy.scene_tools), (&listed.into(), 7));
    let price = Price { prompt: 1.5, reply: 2.5 };
    assert_eq!(prefrontal.prices, Prices { act: Price { prompt: 3.5, reply: 4.5 }, deliberate: price });
    let Some(ModelSource::Server(server)) = &other.effectors.model else { panic!("a server is configured") };
    assert_eq!(server.calls.places(), 3);
    let role = |model: &str, price| Role { model: model.into(), price };
    let acts = role("quick", Price { prompt: 3.5, reply: 4.5 });
    let roles = Roles { review: role("m", price), act: acts, deliberate: role("m", price) };
    assert_eq!(*server.roles, roles, "who reviews is the same model");
}
