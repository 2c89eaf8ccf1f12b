//! Rooms that are wired and supervised but don't do their work yet. They say so when they are asked.

/// Makes a thin room: a supervised region with a cursor and a state of its own that answers `available: false`.
#[macro_export]
macro_rules! thin_room {
    ($(#[$doc:meta])* $room:ident, $name:literal, $stage:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct $room {
            /// Episodes that it heard of: what it will have to learn from.
            episodes_heard: u64,
        }

        $crate::wiring!($room {
            hears: [maxim_bus::signals::recall::ReportStats],
            back: [maxim_bus::signals::recall::EpisodeStored],
            emits: [maxim_bus::signals::recall::StatsReported],
        });

        impl $crate::region::Region for $room {
            const NAME: maxim_bus::RegionName = $name;
            const STAGE: maxim_bus::Stage = maxim_bus::Stage::$stage;
            const THIN: bool = true;
            type Event = ();
            type Settings = ();

            fn card() -> $crate::region::Card<Self> {
                Self::wiring()
            }

            fn apply(&mut self, _event: ()) {
                self.episodes_heard += 1;
            }
        }

        impl $crate::region::Hears<maxim_bus::signals::recall::EpisodeStored> for $room {
            fn hear(
                &self,
                stored: &maxim_bus::signals::recall::EpisodeStored,
                pulse: &mut $crate::region::Pulse<'_, Self>,
            ) {
                if stored.complete {
                    pulse.keep(());
                }
            }
        }

        impl $crate::region::Hears<maxim_bus::signals::recall::ReportStats> for $room {
            fn hear(
                &self,
                _query: &maxim_bus::signals::recall::ReportStats,
                pulse: &mut $crate::region::Pulse<'_, Self>,
            ) {
                pulse.reply(maxim_bus::signals::recall::StatsReported {
                    region: $name.into(),
                    available: false,
                    reason: Some("this room is thin: it runs and remembers what it heard, but its work is not built".into()),
                    counts: serde_json::json!({ "episodes_heard": self.episodes_heard }),
                });
            }
        }
    };
}
