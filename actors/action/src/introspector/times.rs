//! The question about a time and its answer, as tools and doors write them.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maxim_bus::signals::recall::{DescribeTime, Inquiry, TimeBins, TimeDescribed};
use serde_json::{Value as Json, json};

/// Episodes named by default.
const LIMIT: u64 = 5;

/// Fields that hold a time.
const TIMES: [&str; 2] = ["time_after", "time_before"];

/// The parameters with words replaced by times.
///
/// # Errors
/// A word isn't a time; the message names the field, what was expected and what was given.
pub(super) fn read(inquiry: &Inquiry, zone: &TimeZone) -> Result<Json, String> {
    let mut params = inquiry.params.clone();
    for name in TIMES {
        let Some(word) = params.get(name).and_then(Json::as_str) else { continue };
        let time = moment(word, zone).map_err(|_| {
            let expected = "a time such as 2026-01-31T08:00:00Z, or a date such as 2026-01-31";
            format!("{}: field {name:?}: expected {expected}, got {word:?}", inquiry.tool)
        })?;
        params[name] = time.to_string().into();
    }
    Ok(params)
}

/// A time, or the start of a day if only its date is given.
///
/// # Errors
/// It is neither.
pub fn moment(word: &str, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
    let is_date = !word.contains(['T', 't', ' ', ':']);
    match word.parse::<Date>() {
        Ok(day) if is_date => Ok(day.to_zoned(zone.clone())?.timestamp()),
        _ => word.parse(),
    }
}

pub(super) fn flag(params: &Json, name: &str) -> bool {
    params.get(name).and_then(Json::as_bool).unwrap_or(false)
}

/// Bins of one scale: one number or several.
fn bins(params: &Json, name: &str) -> Vec<u8> {
    let given = params.get(name);
    let several = given.and_then(Json::as_array).into_iter().flatten();
    let all = several.chain(given.filter(|one| one.is_u64()));
    all.filter_map(|one| u8::try_from(one.as_u64()?).ok()).collect()
}

/// A time as [`read`] wrote it.
fn time(params: &Json, name: &str) -> Option<Timestamp> {
    params.get(name).and_then(Json::as_str)?.parse().ok()
}

pub(super) fn question(params: &Json) -> DescribeTime {
    let bins = |name| bins(params, name);
    let limit = params.get("limit").and_then(Json::as_u64).unwrap_or(LIMIT);
    DescribeTime {
        bins: TimeBins { hours: bins("hour"), days: bins("day"), weeks: bins("week"), months: bins("month") },
        like_now: flag(params, "like_now"),
        sole: flag(params, "sole"),
        time_after: time(params, "time_after"),
        time_before: time(params, "time_before"),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    }
}

/// The asked bins under their names. A scale that wasn't asked for is null.
pub(super) fn report(time: &TimeDescribed) -> Json {
    let TimeDescribed { now, bins, matching, unseen, total, episodes, typical, clocks } = time;
    let asked = |bins: &[u8]| match bins {
        [] => Json::Null,
        [one] => json!(one),
        several => json!(several),
    };
    let typical: Vec<Json> = typical.iter().map(|(kind, times)| json!({ "kind": kind, "times": times })).collect();
    let clocks = clocks.as_ref().map_or_else(
        || json!({ "available": false, "reason": "the oscillators are switched off (memory.oscillators)" }),
        |clocks| json!(clocks),
    );
    let mut told = json!({
        "hour": asked(&bins.hours), "day": asked(&bins.days), "week": asked(&bins.weeks), "month": asked(&bins.months),
        "now": now, "matching": matching, "total": total, "episodes": episodes, "typical": typical, "clocks": clocks,
    });
    if *unseen > 0 {
        told["unseen"] = json!(unseen);
    }
    told
}
