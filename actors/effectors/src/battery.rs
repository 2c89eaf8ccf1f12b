//! The battery sense: reads the machine's power supplies, where the kernel shows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::rooms;
use maxim_bus::signals::bridges::{BatterySensed, SenseBattery};
use maxim_bus::{RegionName, Stage};

use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};

/// Where Linux shows power supplies.
pub const SUPPLIES: &str = "/sys/class/power_supply";

/// Reads the first battery below a folder.
pub struct BatterySense {
    supplies: PathBuf,
}

impl BatterySense {
    pub fn new(supplies: impl Into<PathBuf>) -> Self {
        Self { supplies: supplies.into() }
    }
}

/// The battery's charge, 0 to 1, and whether it is charging. A supply that can't be read counts as none.
fn look(supplies: &Path) -> BatterySensed {
    let none = |source: String| BatterySensed { charge: None, charging: false, source };
    let Ok(entries) = fs::read_dir(supplies) else {
        return none(format!("this machine shows no power supplies in {}", supplies.display()));
    };
    let mut supplies: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    supplies.sort();
    let read = |supply: &Path, field: &str| fs::read_to_string(supply.join(field)).map(|text| text.trim().to_owned());
    let battery = supplies.iter().find_map(|supply| {
        // A mouse has a battery too; only batteries without the scope "Device" are the machine's own.
        let own = read(supply, "type").is_ok_and(|kind| kind == "Battery")
            && read(supply, "scope").map_or(true, |scope| scope != "Device");
        let percent: f64 = read(supply, "capacity").ok().filter(|_| own)?.parse().ok()?;
        let charging = read(supply, "status").is_ok_and(|status| status == "Charging" || status == "Full");
        let source = supply.file_name()?.to_string_lossy().into_owned();
        Some(BatterySensed { charge: Some((percent / 100.0).clamp(0.0, 1.0)), charging, source })
    });
    battery.unwrap_or_else(|| none("this machine has no battery".into()))
}

impl BatterySense {
    /// The room as a value, for the parts list.
    pub fn room() -> Room {
        Room::acting(Placement::Pool, Box::new(|| Self::new(SUPPLIES)))
    }
}

impl Effector for BatterySense {
    const NAME: RegionName = rooms::BATTERY_SENSE;
    const STAGE: Stage = Stage::Perception;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new().performs::<SenseBattery>().says::<BatterySensed>()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(5)
    }
}

impl Performs<SenseBattery> for BatterySense {
    async fn perform(self: Arc<Self>, _sense: SenseBattery, operation: Operation<Self>) {
        operation.say(look(&self.supplies));
    }

    fn abandoned(_sense: &SenseBattery, why: &str, operation: &Operation<Self>) {
        let source = format!("the battery could not be read: {why}");
        operation.say(BatterySensed { charge: None, charging: false, source });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(root: &Path, name: &str, fields: &[(&str, &str)]) {
        let folder = root.join(name);
        fs::create_dir(&folder).expect("a folder");
        fields.iter().for_each(|(field, value)| fs::write(folder.join(field), format!("{value}\n")).expect("written"));
    }

    #[test]
    fn the_machines_own_battery_is_read_and_no_other() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(look(root.path()).source, "this machine has no battery");
        assert!(look(&root.path().join("missing")).source.contains("shows no power supplies"));
        supply(root.path(), "AC", &[("type", "Mains"), ("online", "1")]);
        supply(root.path(), "A-mouse", &[("type", "Battery"), ("scope", "Device"), ("capacity", "3")]);
        assert_eq!(look(root.path()).charge, None);
        supply(root.path(), "BAT0", &[("type", "Battery"), ("capacity", "42"), ("status", "Discharging")]);
        let sensed = look(root.path());
        assert_eq!((sensed.charge, sensed.charging, sensed.source.as_str()), (Some(0.42), false, "BAT0"));
    }
}
