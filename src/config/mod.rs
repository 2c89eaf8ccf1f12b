//! The configuration: typed sections, their layers, and the explanation of each key.
//!
//! Layers, weakest first: built-in, /etc/maxim/maxim.toml, $XDG_CONFIG_HOME/maxim/maxim.toml, ./maxim.toml (or
//! `--config FILE`), `MAXIM__SECTION__KEY`, flags. A key's text is written once, in its section: the structs, the
//! sample file and `maxim config explain` are made from it. The rooms' sections are declared beside the rooms and
//! gathered from the stages. The sections of the program itself are declared here.

#![allow(rustdoc::bare_urls)] // a key's text is shown to people as it is

mod agent;
mod explain;
mod fault;
#[cfg(test)]
mod fixtures;
mod http;
mod layers;
mod nats;
mod places;
mod recorder;
#[cfg(test)]
mod reference;
mod regions;
mod sample;
mod shape;
mod sources;
mod stop;
mod store;
mod telemetry;
#[cfg(test)]
mod tests;
mod tools;

pub use agent::Agent;
pub use explain::{Explanation, find, nearest};
pub use fault::ConfigError;
pub use http::{Http, WeakToken, check_token};
pub use layers::{Loaded, Override, load};
pub use maxim_config::{AmountError, ByteCount, Fault, Field, Secret, Section, Shape, Span, secret};
pub use nats::Nats;
pub use places::Places;
pub use recorder::Recorder;
pub use regions::Regions;
pub use sample::sample;
pub use stop::Stop;
pub use store::{Store, StoreEngine};
pub use telemetry::{Level, Telemetry};
pub use tools::{Tools, UseBubblewrap};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use maxim_actors::effectors::channels::outside::Channels;
use maxim_actors::effectors::tool_servers::ServerKeys;
use maxim_actors::{deliberation, effectors, gate, learning, memory, perception, sleep};
pub use maxim_bus::mode::{AutonomyLevel, Mode};
use serde::{Deserialize, Serialize};

macro_rules! settings {
    ($($(#[$attribute:meta])* $name:ident: $Section:ident),+; $($stage:ident),+ $(,)?) => {
        /// All effective values. Serialises with its secrets hidden. Each stage's sections are in a field of their own;
        /// in the file, all sections are side by side.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Settings {
            $($(#[$attribute])* pub $name: $Section,)+
            $(#[serde(flatten)] pub $stage: $stage::Sections,)+
            #[serde(default)]
            pub channels: Channels,
            /// Tool servers by name.
            #[serde(default)]
            pub mcp: BTreeMap<String, ServerKeys>,
        }

        /// Sections of the program itself, then those of the stages.
        fn declared() -> Vec<Section> {
            let mut sections = vec![$($Section::SECTION),+];
            $(sections.extend($stage::Sections::ALL);)+
            sections
        }
    };
}

settings! {
    agent: Agent,
    regions: Regions,
    store: Store,
    stop: Stop,
    tools: Tools,
    http: Http,
    recorder: Recorder,
    telemetry: Telemetry,
    // Recordings hold the settings of their own time.
    #[serde(default = "one_machine")]
    nats: Nats;
    perception, memory, deliberation, gate, learning, sleep, effectors
}

/// The order of the sample file. A section that isn't named here comes after these.
const ORDER: [&str; 31] = [
    "agent",
    "regions",
    "store",
    "stop",
    "gateway",
    "memory",
    "hippocampus",
    "recall",
    "sleep",
    "suprachiasmatic_nucleus",
    "nucleus_accumbens",
    "entorhinal_cortex",
    "anterior_temporal_lobe",
    "angular_gyrus",
    "intraparietal_sulcus",
    "statistician",
    "semantic_promoter",
    "cerebellum",
    "significance",
    "bridges",
    "encoder",
    "habit",
    "llm",
    "gate",
    "autonomy",
    "tools",
    "http",
    "recorder",
    "telemetry",
    "body",
    "nats",
];

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let mut sections = declared();
    sections.sort_by_key(|section| ORDER.iter().position(|name| *name == section.name).unwrap_or(ORDER.len()));
    sections.extend(Channels::SECTIONS);
    sections
});

fn one_machine() -> Nats {
    Nats::default()
}

/// All sections of every configuration, in the order of the sample file.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter()
}

/// All keys of every configuration, section by section.
pub fn fields<'a>() -> impl Iterator<Item = &'a Field> {
    sections().flat_map(|section| section.fields)
}

impl Default for Settings {
    /// The built-in layer only.
    fn default() -> Self {
        load(&Places::nowhere(), &[])
            .map_or_else(|error| panic!("the built-in defaults are wrong: {error}"), |l| l.settings)
    }
}
