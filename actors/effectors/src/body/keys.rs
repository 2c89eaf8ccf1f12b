//! The keys of the body.

use maxim_config::{Shape, Span, choice, section};

use super::{BodyPlan, DriverPlan};

choice! {
    /// Who moves the limbs.
    DriverKind {
        /// No body.
        None = "none",
        /// A simulated one.
        Sim = "sim",
        /// A Reachy Mini, through its maker's daemon.
        ReachyMini = "reachy-mini",
    }
}

section! {
    /// The body, if there is one.
    BodyKeys = "body" {
        /// Who moves the limbs: none, sim for a simulated body, or reachy-mini for a Reachy Mini through its maker's daemon.
        driver: DriverKind = "none", "", Shape::Choice(DriverKind::WORDS);
        /// Where the daemon of a Reachy Mini is.
        url: String = "http://127.0.0.1:8000", "", Shape::Url;
        /// The body stands still by itself when the brain has not renewed its word for so long.
        lease: Span = "100ms", "time", Shape::Span { low: "50ms", high: "1s" };
        /// The share of the body's own speeds that is used.
        speed: f64 = "1", "", Shape::Real { low: 0.05, high: 1.0 };
        /// A movement that would turn the joints further than this in an hour, summed, is refused before it is made; 0 is no limit.
        degrees_per_hour: f64 = "0", "degrees", Shape::Real { low: 0.0, high: 1_000_000_000.0 };
        /// The same in a day.
        degrees_per_day: f64 = "0", "degrees", Shape::Real { low: 0.0, high: 1_000_000_000.0 };
        /// How many degrees the picture of its camera is wide, for looking at what is seen in it.
        view_width: f64 = "65", "", Shape::Real { low: 5.0, high: 170.0 };
        /// How many degrees it is high.
        view_height: f64 = "40", "", Shape::Real { low: 5.0, high: 170.0 };
    }
}

impl From<&BodyKeys> for BodyPlan {
    fn from(keys: &BodyKeys) -> Self {
        // Other code watches how far the joints may turn.
        let BodyKeys { driver, url, lease, speed, degrees_per_hour: _, degrees_per_day: _, view_width, view_height } =
            keys;
        let driver = match driver {
            DriverKind::None => DriverPlan::None,
            DriverKind::Sim => DriverPlan::Sim,
            DriverKind::ReachyMini => DriverPlan::ReachyMini { url: url.clone() },
        };
        Self { driver, lease: lease.get(), speed: *speed, view: [*view_width, *view_height] }
    }
}

impl Default for BodyPlan {
    fn default() -> Self {
        Self::from(&BodyKeys::default())
    }
}
