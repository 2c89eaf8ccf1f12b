//! The clock of this machine, and whether it is usable. Ids, the store's engine and certificates count from 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

use crate::cli::{CliError, Exit};

/// The fix for a wrong clock.
pub const FIX: &str = "set it: `timedatectl set-ntp true`, or `date --set=\"2026-01-31 12:00\"`; without a battery, let it be set before this starts";

/// What is wrong with a clock that shows this time.
pub fn fault(now: SystemTime) -> Option<String> {
    if now >= UNIX_EPOCH {
        return None;
    }
    let shown = match Timestamp::try_from(now) {
        Ok(now) => format!("says {now:.0}"),
        Err(_) => "shows a time before all calendars".to_owned(),
    };
    Some(format!("the clock of this machine {shown}, which is before 1970"))
}

/// Checks the clock before anything uses it.
///
/// # Errors
/// The clock shows an unusable time.
pub fn check() -> Result<(), CliError> {
    fault(SystemTime::now()).map_or(Ok(()), |found| Err(CliError::new(Exit::BadConfig, found, FIX)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_is_named_with_what_it_says() {
        let at = |before: u64| UNIX_EPOCH.checked_sub(Duration::from_secs(before)).expect("a time");
        assert_eq!(
            fault(at(8)).as_deref(),
            Some("the clock of this machine says 1969-12-31T23:59:52Z, which is before 1970")
        );
        assert!(fault(at(2_177_452_800)).is_some_and(|found| found.contains("1901")));
        assert!(fault(at(10_000_000_000_000)).is_some_and(|found| found.contains("before all calendars")));
        for after in [0, 1, 1_795_000_000, 253_402_300_800] {
            assert_eq!(fault(UNIX_EPOCH + Duration::from_secs(after)), None, "{after}");
        }
    }
}
