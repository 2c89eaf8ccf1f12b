//! The settings of each stage, from the configuration.
//!
//! The sections of a stage go to its rooms unchanged. The program's sections are destructured completely where they are
//! used: a key that nobody reads doesn't compile.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use maxim_actors::action::cause_ledger::LedgerSettings;
use maxim_actors::action::execution_tracker::TrackerSettings;
use maxim_actors::action::introspector::IntrospectorSettings;
use maxim_actors::action::outbox::OutboxSettings;
use maxim_actors::action::tool_index::ToolIndexSettings;
use maxim_actors::action::tools::contained::{Barriers, Network};
use maxim_actors::action::tools::{self, EffectClass, Hands, ToolRegistry, ToolSpec};
use maxim_actors::deliberation::initiative::ActingSettings;
use maxim_actors::deliberation::prefrontal_cortex::{PrefrontalSettings, acting_coach, stable_sections};
use maxim_actors::deliberation::prompt::ToolShelf;
use maxim_actors::deliberation::turns::TurnsSettings;
use maxim_actors::effectors::body::{Body, BodyPlan, DriverPlan, NO_BODY};
use maxim_actors::effectors::llm_worker::ModelSource;
use maxim_actors::effectors::text_encoder::EncoderSource;
use maxim_actors::gate::autonomy::AutonomySettings;
use maxim_actors::gate::fear_agent::{FearSettings, Walls};
use maxim_actors::language::stop_phrase::StopGrammar;
use maxim_actors::language::{Encoder, TokenTable};
use maxim_actors::perception::energy::EnergySettings;
use maxim_actors::perception::gateway::GatewaySettings;
use maxim_actors::region::SupervisionSettings;
use maxim_actors::{action, deliberation, effectors, gate, learning, memory, perception, sleep};
use maxim_bus::mode::{AutonomyLevel, EffortLimits, Mode, Powers};
use maxim_bus::rooms::RESPOND;

use super::SettingsError;
use super::words::{
    callable, constitution, embodiment, home, nightly, review_of, signed, simulated, text_of, whitelists,
};
use crate::agent::models::{model_source, prices};
use crate::config::{self, Settings};

/// Turns whose why-records are kept.
const WHY_TURNS: u64 = 10_000;
/// How much longer than the executor's own deadline the tracker waits.
const TRACKER_GRACE: Duration = Duration::from_secs(15);

/// Settings that several stages need.
pub(super) struct Facts<'a> {
    settings: &'a Settings,
    /// Names this process.
    boot: u64,
    workdir: &'a Path,
    mode: Mode,
    zone: TimeZone,
    powers: Powers,
    effort: EffortLimits,
    encoder: Arc<dyn Encoder>,
    registry: Arc<ToolRegistry>,
    model: Option<ModelSource>,
    pub body: Body,
}

impl<'a> Facts<'a> {
    pub fn new(
        settings: &'a Settings,
        boot: u64,
        workdir: &'a Path,
        mut registry: ToolRegistry,
    ) -> Result<Self, SettingsError> {
        let Settings { agent, effectors: effectors::Sections { body, llm, .. }, tools, .. } = settings;
        let mode = agent.mode;
        let effort = EffortLimits { per_hour: body.degrees_per_hour, per_day: body.degrees_per_day };
        let body = Body::new(BodyPlan::from(body));
        if agent.simulation {
            registry = simulated(registry, body.plan())?;
        } else if body.plan().driver == DriverPlan::None {
            tools::robot::ALL.iter().for_each(|tool| registry.switch_off(tool, NO_BODY));
        }
        Ok(Self {
            settings,
            boot,
            workdir,
            mode,
            zone: agent.zone(),
            powers: Powers { mode, autonomy: agent.autonomy, web: tools.web, workdir: None },
            effort,
            encoder: Arc::new(TokenTable::embedded()),
            registry: Arc::new(registry),
            model: model_source(llm).map_err(SettingsError::Config)?,
            body,
        })
    }

    /// Names this run of the process in durable data.
    fn run(&self) -> String {
        format!("{:016x}", self.boot)
    }

    /// How many episodes a thought or an answer may be based on.
    fn evidence(&self) -> usize {
        self.settings.deliberation.habit.evidence_max as usize
    }

    fn specs(&self) -> Vec<&ToolSpec> {
        self.registry.specs().collect()
    }

    /// The names of the tools for which this holds.
    fn named<T: FromIterator<String>>(&self, holds: impl Fn(&ToolSpec) -> bool) -> T {
        self.registry.specs().filter(|spec| holds(spec)).map(|spec| spec.name.clone()).collect()
    }

    /// `saved` is where copies of overwritten files go.
    pub fn hands(&self, saved: &Path) -> Hands {
        let config::Tools {
            deadline,
            output_max,
            disk_max,
            web,
            folder: _,
            bubblewrap: _,
            expose_own_data,
            // Only a daemon has a port to expose.
            expose_own_port: _,
            piper_voice,
            scene_max: _,
        } = &self.settings.tools;
        let mut hands = Hands::new(self.workdir, self.mode, saved);
        hands.deadline = deadline.get();
        hands.output_cap = output_max.as_usize();
        hands.sandbox.limits.disk_bytes = disk_max.get();
        hands.web = *web;
        hands.home = home();
        hands.voice.clone_from(piper_voice);
        hands.sandbox.expose_own_data = *expose_own_data;
        hands.autonomy = self.powers.autonomy;
        hands.outbox = Arc::new(self.settings.channels.rules());
        hands
    }

    pub fn perception(&self) -> perception::Settings {
        let Settings { agent, stop, perception, effectors: effectors::Sections { llm, .. }, .. } = self.settings;
        let config::Stop { phrases, file_poll: _ } = stop;
        perception::Settings {
            gateway: GatewaySettings::new(&perception.gateway, StopGrammar::new(&agent.names, phrases)),
            energy: EnergySettings {
                tokens_per_hour: llm.tokens_per_hour,
                tokens_per_day: llm.tokens_per_day,
                tokens_per_session: llm.tokens_per_session,
                money: llm.money_limits(),
                effort: self.effort,
                boot: self.boot,
            },
        }
    }

    /// `outer` is the name of the encoder outside the program, if there is one.
    pub fn memory(&self, outer: Option<String>) -> memory::Settings {
        memory::Settings {
            sections: self.settings.memory.clone(),
            run: self.run(),
            mode: self.mode,
            zone: self.zone.clone(),
            encoder: Arc::clone(&self.encoder),
            outer,
            hearsay: self.registry.hearsay(),
            evidence: self.evidence(),
            thinks: self.model.is_some(),
        }
    }

    pub fn deliberation(&self) -> Result<deliberation::Settings, SettingsError> {
        let Settings { agent, memory: memory::Sections { memory, .. }, deliberation, .. } = self.settings;
        let llm = &self.settings.effectors.llm;
        let config::Agent {
            names,
            mode: _,
            autonomy: _,
            simulation,
            workdir: _,
            timezone: _,
            constitution_file,
            seed: _,
            drain_grace: _,
        } = agent;
        let counter = llm.token_counter().map_err(SettingsError::Config)?;
        let mut stable = stable_sections(&constitution(constitution_file.as_deref())?, &counter);
        if self.body.plan().driver != DriverPlan::None {
            stable.push(acting_coach(&counter));
        }
        let steps = self.model.is_some().then_some(llm.steps);
        let acting = ActingSettings::from(&deliberation.habit);
        Ok(deliberation::Settings {
            turns: TurnsSettings::new(names, &self.registry, self.zone.clone(), steps, acting)?,
            prefrontal: PrefrontalSettings {
                model: self.model.is_some(),
                timeout: llm.timeout.signed(),
                budget: llm.budget(),
                prices: prices(llm),
                boot: self.boot,
                context_tokens: u64::from(llm.context_tokens),
                reply_tokens: llm.reply_tokens.min(llm.context_tokens / 4),
                cycles: llm.cycles,
                tick: llm.tick.signed(),
                recall: memory.enrichment_deadline.signed(),
                episodes: self.evidence(),
                knowledge_rooms: Vec::new(),
                knowledge: memory.knowledge_max as usize,
                names: names.clone(),
                powers: self.powers.clone(),
                body: embodiment(self.body.plan()),
                simulation: *simulation,
                zone: self.zone.clone(),
                tools: ToolShelf::new(callable(&self.specs()), &counter),
                stable: Arc::new(stable),
                counter,
            },
        })
    }

    pub fn gate(&self, hands: &Hands) -> Result<gate::Settings, SettingsError> {
        let gate::Sections { gate: law, autonomy: rails } = &self.settings.gate;
        let lists = [
            ("planning_tools", AutonomyLevel::Planning, &rails.planning_tools),
            ("supervised_tools", AutonomyLevel::Supervised, &rails.supervised_tools),
            ("autonomous_tools", AutonomyLevel::Autonomous, &rails.autonomous_tools),
        ];
        let offered = |spec: &ToolSpec| Some((spec.name.clone(), spec.offered_by.clone()?.digest));
        Ok(gate::Settings {
            autonomy: AutonomySettings {
                powers: self.powers.clone(),
                tools: Arc::clone(&self.registry),
                law: rails.clone(),
                whitelists: whitelists(lists, &self.registry)?,
                scene_tools: self.settings.tools.scene_max as usize,
                uncounted: self.named(|spec| spec.name == RESPOND || spec.door == tools::Door::Introspection),
                effort: self.effort,
                zone: self.zone.clone(),
            },
            fear: FearSettings {
                boot: self.boot,
                fearless: None,
                zone: self.zone.clone(),
                review: review_of(law.model_review, &self.settings.effectors.llm).filter(|_| self.model.is_some()),
                mode: self.mode,
                workdir: self.workdir.to_owned(),
                home: home(),
                own: Arc::default(),
                walls: Walls {
                    readable: hands.sandbox.readable.clone(),
                    network: hands.sandbox.network == Network::On,
                    barriers: Barriers::default(),
                },
                law: *law,
                irreversible: self.named(|spec| spec.effect == EffectClass::Irreversible),
                // "Unasked" in a manifest has answered the question already.
                foreign: self.named(|spec| spec.is_foreign && spec.effect != EffectClass::ReadOnly && !spec.unasked),
                offers: self.registry.specs().filter_map(offered).collect(),
            },
        })
    }

    pub fn action(&self, hands: Hands) -> action::Settings {
        let specs = self.specs();
        action::Settings {
            tracker: TrackerSettings {
                boot: self.boot,
                limit: signed(hands.deadline + TRACKER_GRACE),
                repeatable: self.named(ToolSpec::is_repeatable),
                effects: specs.iter().map(|spec| (spec.name.clone(), spec.effect.to_string())).collect(),
            },
            outbox: OutboxSettings::new(self.boot, Arc::clone(&hands.outbox)),
            hands,
            ledger: LedgerSettings { turns: WHY_TURNS },
            tool_index: ToolIndexSettings {
                catalog: Arc::new(callable(&specs).map(text_of).collect()),
                encoder: Arc::clone(&self.encoder),
            },
            introspector: IntrospectorSettings {
                rooms: Vec::new(),
                deadline: SignedDuration::from_secs(2),
                tools: Arc::clone(&self.registry),
                names: self.settings.agent.names.clone(),
                mode: self.mode,
                zone: self.zone.clone(),
            },
            registry: Arc::clone(&self.registry),
        }
    }

    pub fn learning(&self) -> learning::Settings {
        learning::Settings {
            sections: self.settings.learning.clone(),
            alpha: self.settings.memory.memory.nac_alpha,
            mode: self.mode,
            zone: self.zone.clone(),
            encoder: Arc::clone(&self.encoder),
        }
    }

    pub fn sleep(&self) -> sleep::Settings {
        let memory = &self.settings.memory.memory;
        sleep::Settings {
            sections: self.settings.sleep.clone(),
            run: self.run(),
            zone: self.zone.clone(),
            nightly: nightly(memory.sleep_hour),
            promotion_idle: memory.promotion_idle.signed(),
            promotion_confidence: memory.promotion_confidence,
            patterns_from: self.settings.learning.statistician.promoted_from,
            promotion_observations: u64::from(memory.promotion_observations),
        }
    }

    pub fn effectors(&self, text_encoder: Option<EncoderSource>) -> effectors::Settings {
        let (model, body) = (self.model.clone(), self.body.clone());
        effectors::Settings { model, text_encoder, body, channels: Arc::default() }
    }
}

pub(super) fn supervision(regions: &config::Regions) -> SupervisionSettings {
    let config::Regions { deadline: _, restart_budget, restart_window, group_budget, group_window, hung_threads_max } =
        regions;
    SupervisionSettings {
        restarts: *restart_budget as usize,
        window: restart_window.get(),
        escalations: *group_budget as usize,
        group_window: group_window.get(),
        zombies: *hung_threads_max as usize,
        ..SupervisionSettings::default()
    }
}
