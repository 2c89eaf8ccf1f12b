//! The rooms' settings out of the configuration.

mod laws;
#[cfg(test)]
mod tests;
mod words;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use maxim_actors::action::cause_ledger::LedgerSettings;
use maxim_actors::action::execution_tracker::TrackerSettings;
use maxim_actors::action::introspector::IntrospectorSettings;
use maxim_actors::action::outbox::OutboxSettings;
use maxim_actors::action::tool_index::ToolIndexSettings;
use maxim_actors::action::tools::contained::{Barriers, Network};
use maxim_actors::action::tools::{self, Hands, OwnFiles, RegistryError, ToolRegistry, ToolSpec};
use maxim_actors::deliberation::prefrontal_cortex::{PrefrontalSettings, acting_coach, stable_sections};
use maxim_actors::deliberation::prompt::ToolShelf;
use maxim_actors::deliberation::turns::TurnsSettings;
use maxim_actors::effectors::body::{Body, DriverPlan, NO_BODY};
use maxim_actors::effectors::channels::outside::OutsideChannels;
use maxim_actors::effectors::llm_worker::ModelSource;
use maxim_actors::effectors::text_encoder::EncoderSource;
use maxim_actors::effectors::tool_servers::{ListFolder, ToolServers};
use maxim_actors::gate::autonomy::AutonomySettings;
use maxim_actors::gate::fear_agent::{FearSettings, Walls};
use maxim_actors::language::stop_phrase::StopGrammar;
use maxim_actors::language::{Encoder, TokenTable};
use maxim_actors::learning::nucleus_accumbens::NacSettings;
use maxim_actors::memory::angular_gyrus::GyrusSettings;
use maxim_actors::memory::anterior_temporal_lobe::AtlSettings;
use maxim_actors::memory::enrichment::EnrichmentSettings;
use maxim_actors::memory::entorhinal_cortex::EntorhinalSettings;
use maxim_actors::memory::hippocampus::HippocampusSettings;
use maxim_actors::memory::memory_hub::HubSettings;
use maxim_actors::memory::suprachiasmatic_nucleus::ScnSettings;
use maxim_actors::perception::energy::EnergySettings;
use maxim_actors::perception::gateway::GatewaySettings;
use maxim_actors::region::{Room, SupervisionSettings};
use maxim_actors::sleep::ConsolidationSettings;
use maxim_actors::sleep::semantic_promoter::PromoterSettings;
use maxim_actors::speech::GrammarError;
use maxim_bus::mode::{AutonomyLevel, EffortLimits, Powers};
use maxim_bus::rooms::RESPOND;

use super::models::{budget, encoder_source, model_source, money_limits, prices, token_counter};
use super::{channels, tool_servers};
use crate::config::{self, Fault, Settings};

pub use laws::Laws;
pub use words::mode_of;
use words::{
    acting, body_plan, bytes, callable, capture_law, constitution, embodiment, home, level_of, nightly, review_of,
    signed, simulated, text_of, whitelists,
};

/// Turns whose why-records are kept.
const WHY_TURNS: u64 = 10_000;
/// How much longer than the executor's own deadline the tracker waits.
const TRACKER_GRACE: Duration = Duration::from_secs(15);

/// What every room is set up with.
#[derive(Clone)]
pub struct AgentSettings {
    pub deadline: Duration,
    pub supervision: SupervisionSettings,
    pub gateway: GatewaySettings,
    pub energy: EnergySettings,
    pub hippocampus: HippocampusSettings,
    pub suprachiasmatic_nucleus: ScnSettings,
    pub anterior_temporal_lobe: AtlSettings,
    pub entorhinal_cortex: EntorhinalSettings,
    pub memory_hub: HubSettings,
    pub consolidation: ConsolidationSettings,
    pub enrichment: EnrichmentSettings,
    pub semantic_promoter: PromoterSettings,
    pub habit: TurnsSettings,
    pub prefrontal: PrefrontalSettings,
    pub model: Option<ModelSource>,
    /// The encoder beside the embedded one.
    pub text_encoder: Option<EncoderSource>,
    pub autonomy: AutonomySettings,
    pub fear: FearSettings,
    pub tracker: TrackerSettings,
    pub registry: Arc<ToolRegistry>,
    /// Who offers some of them.
    pub tool_servers: Arc<ToolServers>,
    /// How it reaches outside.
    pub channels: Arc<OutsideChannels>,
    /// Whether it acts; a brain that only remembers has no gate to ask. Default true.
    pub acts: bool,
    pub outbox: OutboxSettings,
    pub hands: Hands,
    pub body: Body,
    pub ledger: LedgerSettings,
    pub nucleus_accumbens: NacSettings,
    /// The numbers of the laws that rooms without other settings go by.
    pub laws: Laws,
    /// How long a record of numbers that nobody asked for stays whole.
    pub angular_gyrus: GyrusSettings,
    pub tool_index: ToolIndexSettings,
    pub introspector: IntrospectorSettings,
    /// Rooms beside those of the anatomy; see [`AgentSettings::with_room`].
    pub own_rooms: Vec<OwnRoom>,
}

/// A room of an embedding program, made for each agent.
pub type OwnRoom = Arc<dyn Fn() -> Room + Send + Sync>;

/// Settings that can't be made.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    #[error("{}", with_key(.0))]
    Config(Fault),
}

/// What was found often names the key already.
fn with_key(fault: &Fault) -> String {
    if fault.found.starts_with(&fault.key) { fault.to_string() } else { format!("{} {fault}", fault.key) }
}

impl AgentSettings {
    /// `boot` names this process; `saved` is where copies of overwritten files go, `lists` where it is remembered what the
    /// tool servers offer.
    pub fn new(
        settings: &Settings,
        boot: u64,
        workdir: &Path,
        saved: &Path,
        lists: ListFolder,
    ) -> Result<Self, SettingsError> {
        let mut registry = tools::core_registry()?;
        if let Some(folder) = &settings.tools.folder {
            for fault in tools::user::register(&mut registry, folder, workdir) {
                tracing::warn!(%fault, "a tool of yours is left out");
            }
        }
        let plans = tool_servers::plans(&settings.mcp).map_err(SettingsError::Config)?;
        let remembered = lists.load(settings.mcp.keys().map(String::as_str));
        let servers = ToolServers::new(plans, &remembered, lists);
        for left_out in servers.register(&mut registry) {
            tracing::warn!(%left_out, "a tool of a server is left out");
        }
        let rooms = Self::with_tools(settings, boot, workdir, saved, registry)?;
        let lines = channels::lines(&settings.channels).map_err(SettingsError::Config)?;
        Ok(Self { tool_servers: Arc::new(servers), channels: Arc::new(OutsideChannels::new(lines)), ..rooms })
    }

    /// With another set of tools, and no servers.
    pub fn with_tools(
        settings: &Settings,
        boot: u64,
        workdir: &Path,
        saved: &Path,
        mut registry: ToolRegistry,
    ) -> Result<Self, SettingsError> {
        // Each section is taken apart whole, here or where it is used: a key that nobody reads doesn't compile.
        let Settings {
            agent,
            regions,
            stop,
            gateway,
            memory,
            encoder,
            habit,
            llm,
            gate,
            autonomy: rails,
            tools,
            body,
            ..
        } = settings;
        let config::Agent {
            names: _,
            mode,
            autonomy,
            simulation,
            workdir: _,
            timezone: _,
            constitution_file,
            seed: _,
            drain_grace: _,
        } = agent;
        let config::Regions { deadline, restart_budget, restart_window, group_budget, group_window, hung_threads_max } =
            regions;
        let config::Stop { phrases, file_poll: _ } = stop;
        let config::Gateway { credit, behind, text_max } = gateway;
        let evidence_max = &habit.evidence_max;
        let config::PromoterLaw { witnesses, judged_from } = &settings.semantic_promoter;
        let laws = Laws::of(settings);
        let config::Tools {
            deadline: tool_deadline,
            output_max,
            disk_max,
            web,
            folder: _,
            bubblewrap: _,
            expose_own_data,
            // It takes the port, which a daemon alone has.
            expose_own_port: _,
            piper_voice,
            scene_max,
        } = tools;
        let config::Gate {
            veto_confidence,
            veto_value,
            bridge_gain,
            forgiveness_half_life,
            approval_expiry,
            model_review,
        } = gate;
        let config::Rails {
            ask_below,
            planning_tools,
            supervised_tools,
            autonomous_tools,
            per_second,
            per_minute,
            failures_in_row,
        } = rails;
        let mode = mode_of(*mode);
        let zone = agent.zone();
        let stop = StopGrammar::new(&agent.names, phrases);
        let effort_limits = EffortLimits { per_hour: body.degrees_per_hour, per_day: body.degrees_per_day };
        let body = Body::new(body_plan(body));
        if *simulation {
            registry = simulated(registry, body.plan())?;
        } else if body.plan().driver == DriverPlan::None {
            tools::robot::ALL.iter().for_each(|tool| registry.switch_off(tool, NO_BODY));
        }
        let whitelists = whitelists(
            [
                ("planning_tools", AutonomyLevel::Planning, planning_tools),
                ("supervised_tools", AutonomyLevel::Supervised, supervised_tools),
                ("autonomous_tools", AutonomyLevel::Autonomous, autonomous_tools),
            ],
            &registry,
        )?;
        let registry = Arc::new(registry);
        let specs: Vec<&ToolSpec> = registry.specs().collect();
        let uncounted = |spec: &&&ToolSpec| spec.name == RESPOND || spec.door == tools::Door::Introspection;
        let names = |specs: Vec<&&ToolSpec>| specs.iter().map(|spec| spec.name.clone()).collect::<Vec<_>>();
        let irreversible = specs.iter().filter(|spec| spec.effect == tools::EffectClass::Irreversible);
        let irreversible = irreversible.map(|spec| spec.name.clone()).collect();
        let acts = |spec: &&&ToolSpec| spec.is_foreign && spec.effect != tools::EffectClass::ReadOnly;
        // Who wrote "unasked" into its manifest has answered the question already.
        let foreign = specs.iter().filter(acts).filter(|spec| !spec.unasked);
        let foreign = foreign.map(|spec| spec.name.clone()).collect();
        let offers = specs.iter().filter_map(|spec| Some((spec.name.clone(), spec.offered_by.clone()?.digest)));
        let offers = offers.collect();
        let model = model_source(llm)?;
        let counter = token_counter(llm.tokenizer_file.as_deref())?;
        let constitution = constitution(constitution_file.as_deref())?;
        let mut stable = stable_sections(&constitution, &counter);
        if body.plan().driver != DriverPlan::None {
            stable.push(acting_coach(&counter));
        }
        let powers = Powers { mode, autonomy: level_of(*autonomy), web: *web, workdir: None };
        let text_encoder = encoder_source(encoder)?;
        let outer = text_encoder.as_ref().map(EncoderSource::name);
        let asks_meaning = outer.is_some();
        let encoder: Arc<dyn Encoder> = Arc::new(TokenTable::embedded());
        let mut hands = Hands::new(workdir, mode, saved);
        hands.deadline = tool_deadline.get();
        hands.output_cap = bytes(*output_max);
        hands.sandbox.limits.disk_bytes = disk_max.get();
        hands.web = *web;
        hands.home = home();
        hands.voice.clone_from(piper_voice);
        hands.sandbox.expose_own_data = *expose_own_data;
        hands.autonomy = level_of(*autonomy);
        hands.outbox = Arc::new(channels::rules(&settings.channels));
        let outbox = OutboxSettings::new(boot, Arc::clone(&hands.outbox));
        let rooms = Self {
            body: body.clone(),
            deadline: deadline.get(),
            supervision: SupervisionSettings {
                restarts: *restart_budget as usize,
                window: restart_window.get(),
                escalations: *group_budget as usize,
                group_window: group_window.get(),
                zombies: *hung_threads_max as usize,
                ..SupervisionSettings::default()
            },
            gateway: GatewaySettings {
                credit: *credit as usize,
                behind: *behind as usize,
                text_max: bytes(*text_max),
                stop,
            },
            energy: EnergySettings {
                tokens_per_hour: llm.tokens_per_hour,
                tokens_per_day: llm.tokens_per_day,
                tokens_per_session: llm.tokens_per_session,
                money: money_limits(llm),
                effort: effort_limits,
                boot,
            },
            hippocampus: HippocampusSettings {
                zone: zone.clone(),
                mode,
                run: format!("{boot:016x}"),
                encoder: Arc::clone(&encoder),
                asks_meaning,
                budget_bytes: Some(memory.episodes_max.get()),
                capture: capture_law(memory),
                links: laws.links,
                retention: laws.retention,
                weights: laws.recall.clone(),
                hearsay: registry.hearsay(),
            },
            memory_hub: HubSettings { run: format!("{boot:016x}"), idle: signed(memory.session_idle.get()) },
            consolidation: ConsolidationSettings {
                run: format!("{boot:016x}"),
                zone: zone.clone(),
                nightly: nightly(memory.sleep_hour),
                ..ConsolidationSettings::default()
            },
            suprachiasmatic_nucleus: ScnSettings {
                zone: zone.clone(),
                oscillators: memory.oscillators,
                hebb: laws.hebb,
                rhythm: laws.rhythm,
            },
            entorhinal_cortex: EntorhinalSettings {
                encoder: Arc::clone(&encoder),
                outer,
                zone: zone.clone(),
                weights: laws.likeness,
            },
            enrichment: EnrichmentSettings {
                deadline: signed(memory.enrichment_deadline.get()),
                episodes: *evidence_max as usize,
                spreads: model.is_some(),
                knowledge_rooms: Vec::new(),
                knowledge: memory.knowledge_max as usize,
            },
            anterior_temporal_lobe: AtlSettings {
                run: format!("{boot:016x}"),
                encoder: Arc::clone(&encoder),
                asks_meaning,
                law: laws.concepts,
            },
            semantic_promoter: PromoterSettings {
                idle: signed(memory.promotion_idle.get()),
                min_confidence: memory.promotion_confidence,
                patterns_from: laws.patterns.promoted_from,
                min_observations: u64::from(memory.promotion_observations),
                witnesses: *witnesses as usize,
                judged_from: *judged_from as usize,
                ..PromoterSettings::default()
            },
            habit: {
                let steps = model.is_some().then_some(llm.steps);
                TurnsSettings::new(&agent.names, &registry, zone, steps, acting(habit))?
            },
            prefrontal: PrefrontalSettings {
                model: model.is_some(),
                timeout: signed(llm.timeout.get()),
                budget: budget(llm),
                prices: prices(llm),
                boot,
                context_tokens: u64::from(llm.context_tokens),
                reply_tokens: llm.reply_tokens.min(llm.context_tokens / 4),
                cycles: llm.cycles,
                tick: signed(llm.tick.get()),
                recall: signed(memory.enrichment_deadline.get()),
                episodes: *evidence_max as usize,
                knowledge_rooms: Vec::new(),
                knowledge: memory.knowledge_max as usize,
                names: agent.names.clone(),
                powers: powers.clone(),
                body: embodiment(body.plan()),
                simulation: *simulation,
                zone: agent.zone(),
                tools: ToolShelf::new(callable(&specs), &counter),
                stable: Arc::new(stable),
                counter,
            },
            model: model.clone(),
            text_encoder,
            autonomy: AutonomySettings {
                powers,
                tools: Arc::clone(&registry),
                ask_below: *ask_below,
                whitelists,
                scene_tools: *scene_max as usize,
                uncounted: names(specs.iter().filter(uncounted).collect()),
                per_second: *per_second as usize,
                per_minute: *per_minute as usize,
                repeats: *failures_in_row,
                effort: effort_limits,
                zone: agent.zone(),
            },
            fear: FearSettings {
                boot,
                fearless: None,
                zone: agent.zone(),
                review: review_of(*model_review, llm).filter(|_| model.is_some()),
                mode,
                workdir: workdir.to_owned(),
                home: home(),
                own: Arc::default(),
                walls: Walls {
                    readable: hands.sandbox.readable.clone(),
                    network: hands.sandbox.network == Network::On,
                    barriers: Barriers::default(),
                },
                approval: signed(approval_expiry.get()),
                veto_confidence: *veto_confidence,
                veto_value: *veto_value,
                forgiveness: signed(forgiveness_half_life.get()),
                irreversible,
                foreign,
                offers,
                bridge_gain: *bridge_gain,
            },
            tracker: TrackerSettings {
                boot,
                limit: signed(tool_deadline.get() + TRACKER_GRACE),
                repeatable: names(specs.iter().filter(|spec| spec.is_repeatable()).collect()),
                effects: specs.iter().map(|spec| (spec.name.clone(), spec.effect.to_string())).collect(),
            },
            channels: Arc::default(),
            acts: true,
            outbox,
            hands,
            ledger: LedgerSettings { turns: WHY_TURNS },
            tool_index: ToolIndexSettings {
                catalog: Arc::new(callable(&specs).map(text_of).collect()),
                encoder: Arc::clone(&encoder),
            },
            angular_gyrus: GyrusSettings {
                run: format!("{boot:016x}"),
                compress_after_days: laws::numbers(&settings.angular_gyrus),
            },
            laws: laws.clone(),
            nucleus_accumbens: NacSettings {
                alpha: memory.nac_alpha,
                kinds_max: settings.nucleus_accumbens.kinds_max as usize,
                law: laws.prediction,
                mode,
                zone: agent.zone(),
                encoder,
            },
            introspector: IntrospectorSettings {
                rooms: Vec::new(),
                deadline: SignedDuration::from_secs(2),
                tools: Arc::clone(&registry),
                names: agent.names.clone(),
                mode,
                zone: agent.zone(),
            },
            registry,
            tool_servers: Arc::new(ToolServers::new(Vec::new(), &[], ListFolder::default())),
            own_rooms: Vec::new(),
        };
        Ok(rooms.embodied(body))
    }

    /// With one more room, for programs that embed an agent. It is wired, supervised and restarted as any other, and
    /// `system_stats` asks it when it hears `ReportStats`. A recording doesn't hold it, so a replay lacks it.
    #[must_use]
    pub fn with_room(mut self, room: impl Fn() -> Room + Send + Sync + 'static) -> Self {
        self.own_rooms.push(Arc::new(room));
        self
    }

    /// With these files as its own.
    pub fn owning(mut self, own: OwnFiles) -> Self {
        self.hands.sandbox.own.clone_from(&own);
        self.fear.own = Arc::new(own);
        self
    }

    /// In this body.
    pub fn embodied(mut self, body: Body) -> Self {
        let has_one = body.plan().driver != DriverPlan::None;
        self.hands.limbs = has_one.then(|| Arc::new(body.clone()) as Arc<dyn tools::robot::Limbs>);
        self.body = body;
        self
    }
}
