//! The configuration: typed sections, the layers they come from, and what can be said about each key.
//!
//! Layers, weakest first: built-in, /etc/maxim/maxim.toml, $XDG_CONFIG_HOME/maxim/maxim.toml, ./maxim.toml (or
//! `--config FILE`), `MAXIM__SECTION__KEY`, flags. A key's text stands once, in its section's file: the structs, the
//! sample file and `maxim config explain` are made from it.

#![allow(rustdoc::bare_urls)] // a key's text is shown to people as it is

mod agent;
mod amounts;
mod autonomy;
mod body;
pub mod channels;
mod encoder;
mod explain;
mod fault;
mod field;
#[cfg(test)]
mod fixtures;
mod gate;
mod gateway;
mod habit;
mod http;
mod laws;
mod layers;
mod llm;
mod mcp;
mod memory;
mod nats;
mod places;
mod recorder;
#[cfg(test)]
mod reference;
mod regions;
mod sample;
mod secret;
mod shape;
mod sources;
mod stop;
mod store;
mod telemetry;
mod tools;

pub use agent::{Agent, Autonomy, Mode};
pub use amounts::{AmountError, ByteCount, Span};
pub use autonomy::Rails;
pub use body::{Body, Driver};
pub use channels::{CHANNELS, Channels};
pub use encoder::Encoder;
pub use explain::{Explanation, find, nearest};
pub use fault::{ConfigError, Fault};
pub use field::{Field, Section, Shape};
pub use gate::{Gate, ModelReview};
pub use gateway::Gateway;
pub use habit::Habit;
pub use http::{Http, WeakToken, check_token};
pub use laws::{
    AccumbensLaw, BridgeLaw, ClockLaw, ConceptLaw, HippocampusLaw, LikenessLaw, NumberLaw, PatternLaw, PromoterLaw,
    QuickLaw, RecallLaw, SignificanceLaw, SkillLaw, SleepLaw,
};
pub use layers::{Loaded, Override, load};
pub use llm::Llm;
pub use mcp::{Effect, MCP, TOOL_SERVER, ToolServer, fields_of, is_server_name};
pub use memory::Memory;
pub use nats::Nats;
pub use places::Places;
pub use recorder::Recorder;
pub use regions::Regions;
pub use sample::sample;
pub use secret::Secret;
pub use stop::Stop;
pub use store::{Store, StoreEngine};
pub use telemetry::{Level, Telemetry};
pub use tools::{Tools, UseBubblewrap};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

macro_rules! settings {
    ($($(#[$attribute:meta])* $name:ident: $Section:ident),+ $(,)?) => {
        /// All effective values. Serialises with its secrets hidden.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Settings {
            $($(#[$attribute])* pub $name: $Section,)+
            #[serde(default)]
            pub channels: Channels,
            /// Tool servers by name.
            #[serde(default)]
            pub mcp: BTreeMap<String, ToolServer>,
        }

        const OWN_SECTIONS: &[Section] = &[$($Section::SECTION),+];
    };
}

settings! {
    agent: Agent,
    regions: Regions,
    store: Store,
    stop: Stop,
    gateway: Gateway,
    memory: Memory,
    hippocampus: HippocampusLaw,
    recall: RecallLaw,
    sleep: SleepLaw,
    suprachiasmatic_nucleus: ClockLaw,
    nucleus_accumbens: AccumbensLaw,
    entorhinal_cortex: LikenessLaw,
    anterior_temporal_lobe: ConceptLaw,
    angular_gyrus: NumberLaw,
    intraparietal_sulcus: QuickLaw,
    statistician: PatternLaw,
    semantic_promoter: PromoterLaw,
    cerebellum: SkillLaw,
    significance: SignificanceLaw,
    bridges: BridgeLaw,
    encoder: Encoder,
    habit: Habit,
    llm: Llm,
    gate: Gate,
    autonomy: Rails,
    tools: Tools,
    http: Http,
    recorder: Recorder,
    telemetry: Telemetry,
    body: Body,
    // Recordings hold the settings of their time.
    #[serde(default = "one_machine")]
    nats: Nats,
}

fn one_machine() -> Nats {
    Settings::default().nats
}

/// All sections that stand in every configuration, in the order of the sample file.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    OWN_SECTIONS.iter().chain(&channels::CHANNEL_SECTIONS)
}

/// All keys that stand in every configuration, section by section.
pub fn fields<'a>() -> impl Iterator<Item = &'a Field> {
    sections().flat_map(|section| section.fields)
}

impl Default for Settings {
    /// The built-in layer alone.
    fn default() -> Self {
        load(&Places::nowhere(), &[])
            .map_or_else(|error| panic!("the built-in defaults are wrong: {error}"), |l| l.settings)
    }
}
