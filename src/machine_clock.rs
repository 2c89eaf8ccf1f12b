//! The clock of this machine, as far as it can be lived by. Ids, the store's engine and certificates reckon from 1970. The
//! calendar ends with the year 9999, and so do the dates of HTTP.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use maxim_bus::clock::LAST;

use crate::cli::{CliError, Exit};

/// The fix for a wrong clock.
pub const FIX: &str = "set it: `timedatectl set-ntp true`, or `date --set=\"2026-01-31 12:00\"`; without a battery, let it be set before this starts";

/// What is wrong with a clock that shows this time.
pub fn fault(now: SystemTime) -> Option<String> {
    let read = Timestamp::try_from(now).ok();
    if now >= UNIX_EPOCH && read.is_some_and(|read| read < LAST) {
        return None;
    }
    let shown = read.map(|read| format!("says {read:.0}"));
    Some(match now < UNIX_EPOCH {
        true => {
            let shown = shown.unwrap_or_else(|| "shows a time before all calendars".to_owned());
            format!("the clock of this machine {shown}, which is before 1970")
        }
        false => {
            let shown = shown.unwrap_or_else(|| "shows a time after all calendars".to_owned());
            format!("the clock of this machine {shown}, which is not before {LAST:.0}, the last time that can be told")
        }
    })
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
        for after in [0, 1, 1_795_000_000, LAST.as_second() as u64 - 1] {
            assert_eq!(fault(UNIX_EPOCH + Duration::from_secs(after)), None, "{after}");
        }
    }

    #[test]
    fn a_clock_after_the_last_time_is_named_with_what_it_says() {
        let last = LAST.as_second() as u64;
        // The last one is the first that no date of HTTP can show.
        for (after, shown) in [
            (last, "says 9999-12-30T21:59:59Z, which is not before 9999-12-30T21:59:59Z"),
            (last + 2, "shows a time after all calendars, which is not before 9999-12-30T21:59:59Z"),
            (253_402_300_800, "shows a time after all calendars, which is not before 9999-12-30T21:59:59Z"),
            (10_000_000_000_000, "shows a time after all calendars, which is not before 9999-12-30T21:59:59Z"),
        ] {
            let found = fault(UNIX_EPOCH + Duration::from_secs(after));
            assert!(found.as_ref().is_some_and(|found| found.contains(shown)), "{after}: {found:?}");
        }
    }
}
