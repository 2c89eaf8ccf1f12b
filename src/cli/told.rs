//! The answers of memory, in words and units for people. Programs use `--json`.

use serde_json::Value;

use super::table::printable;

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// Ids that are named at most.
const NAMED: usize = 5;

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("-")
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_default()
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

/// "1 passage", "2 passages".
fn some(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

/// A line that is left out where there is nothing to say.
fn line(name: &str, parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { String::new() } else { format!("{name}: {}\n", printable(&parts.join("; "))) }
}

fn ids<'a>(values: impl Iterator<Item = &'a Value>) -> impl Iterator<Item = String> {
    values.filter_map(Value::as_str).take(NAMED).map(str::to_owned)
}

/// What a tool is expected to lead to.
pub fn predicted(answer: &Value) -> String {
    let tool = printable(text(answer, "tool_name"));
    if answer["known"] != true {
        return format!("nothing is known of {tool} or of similar tools\n");
    }
    let worth = match text(answer, "valence") {
        "positive" => "goes well",
        "negative" => "goes wrong",
        _ => "may go either way",
    };
    let outcome = |pair: &Value| Some(format!("{} {:.2}", pair[0].as_str()?, pair[1].as_f64()?));
    let delay = answer["delay_s"].as_array().filter(|delay| delay.len() == 3).map(|delay| {
        let seconds = |at: usize| delay[at].as_f64().unwrap_or_default();
        format!("{:.1} s, mostly {:.1} to {:.1} s", seconds(0), seconds(1), seconds(2))
    });
    let (value, sure) = (number(answer, "value"), number(answer, "confidence"));
    format!(
        "{tool} {worth}: {value:.2} from 0 (bad) to 1 (good), {sure:.2} sure, {} seen\n",
        some(count(answer, "observations"), "time")
    ) + &line("outcomes", items(answer, "outcomes").filter_map(outcome))
        + &line("after", delay.into_iter())
        + &line("links", ids(items(answer, "links")))
        + &line("episodes", ids(items(answer, "episodes")))
}

/// A time, and what usually happens then.
pub fn described(answer: &Value) -> String {
    let now = &answer["now"];
    let day = DAYS.get(count(now, "day") as usize).unwrap_or(&"-");
    let asked = ["hour", "day", "week", "month"].map(|scale| match &answer[scale] {
        Value::Null => None,
        Value::Array(bins) => {
            Some(format!("{scale} {}", bins.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")))
        }
        bin => Some(format!("{scale} {bin}")),
    });
    let asked = asked.into_iter().flatten().collect::<Vec<_>>();
    let asked = if asked.is_empty() { "all of the time given".to_owned() } else { asked.join(", ") };
    let unseen = answer["unseen"].as_u64().map(|unseen| format!("{unseen} older ones; give a shorter time"));
    let typical =
        items(answer, "typical").map(|one| format!("{} {}", text(one, "kind"), some(count(one, "times"), "time")));
    let rhythm = |one: &Value| {
        let bins = items(one, "bins").map(|bin| bin.to_string().replace(['{', '}', '"'], "").replace(':', " "));
        let bins = bins.collect::<Vec<_>>().join(" and ");
        let (events, chance) = (count(one, "events"), number(one, "expected"));
        format!("{} at {bins}: {}, {chance:.1} by chance", text(one, "kind"), some(events, "time"))
    };
    // Rhythms are searched in recent events only.
    let since = answer["rhythm_since"].as_str();
    let sought = since.map(|since| format!("{} events since {since}", count(answer, "rhythm_events")));
    let clocks = &answer["clocks"];
    let expected = |one: &Value| format!("{} at {}", text(one, "kind"), text(one, "at"));
    format!(
        "now: hour {}, {day}, week {} of the month (from 0), month {}\nasked: {}\nepisodes: {} of {} are at such times\n",
        count(now, "hour"),
        count(now, "week"),
        count(now, "month"),
        asked,
        count(answer, "matching"),
        count(answer, "total"),
    ) + &line("not looked at", unseen.into_iter())
        + &line("named", ids(items(answer, "episodes")))
        + &line("typical", typical)
        + &line("rhythms", items(answer, "rhythms").map(rhythm))
        + &line("sought in", sought.into_iter())
        + &line("next", items(clocks, "expected").map(expected))
        + &line(
            "clocks",
            clocks["coherence"]
                .is_number()
                .then(|| {
                    let (anomaly, step) = (number(clocks, "anomaly"), number(clocks, "coherence"));
                    format!("{anomaly:.2} away from what they foresaw (0 to 1), in step by {step:.2} (0 to 1)")
                })
                .into_iter(),
        )
}

/// How a sleep went.
pub fn slept(report: &Value) -> String {
    let of = |name: &str| count(report, name);
    let knowledge = &report["knowledge"];
    format!(
        "slept, because: {}\nepisodes: {} scored, {} kept as they were, {} compressed, {} removed, {} removed for the \
        disk budget\n\
         episodes take: {} bytes before, {} bytes after\nconcepts: {} made, {} reinforced\n\
         knowledge: {} looked at, {} compressed, {} removed\n",
        text(report, "why").replace('_', " "),
        of("scored"),
        of("kept"),
        of("compressed"),
        of("pruned"),
        of("evicted"),
        of("bytes_before"),
        of("bytes_after"),
        of("promoted"),
        of("reinforced"),
        count(knowledge, "looked_at"),
        count(knowledge, "compressed"),
        count(knowledge, "pruned"),
    ) + &line("left out", items(report, "missing").filter_map(Value::as_str).map(str::to_owned))
}

/// What became of a document.
pub fn ingested(report: &Value) -> String {
    let document = printable(text(report, "document"));
    match report["error"].as_str() {
        Some(error) => format!("{document}: {}\n", printable(error)),
        None => {
            // Only mentioned if it is not 0: most documents are read once.
            let of = |name: &str, what: &str| match count(report, name) {
                0 => String::new(),
                count => format!(", {count} {what}"),
            };
            format!(
                "{document}: {}; {} made, {} reinforced, {} known already{}{}\n",
                some(count(report, "passages"), "passage"),
                some(count(report, "created"), "concept"),
                count(report, "reinforced"),
                count(report, "known"),
                of("changed", "changed"),
                of("dropped", "no longer said"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prediction_is_told_with_its_units_and_ignorance_as_such() {
        let known = json!({"tool_name": "move", "known": true, "value": 0.934, "valence": "positive", "confidence": 0.81,
            "observations": 12, "outcomes": [["success", 0.9], ["failure", 0.1]], "delay_s": [1.5, 0.5, 2.25],
            "links": ["move -> success"], "episodes": []});
        assert_eq!(
            predicted(&known),
            "move goes well: 0.93 from 0 (bad) to 1 (good), 0.81 sure, 12 times seen\n\
             outcomes: success 0.90; failure 0.10\nafter: 1.5 s, mostly 0.5 to 2.2 s\nlinks: move -> success\n"
        );
        let unknown = json!({"tool_name": "move", "known": false, "value": 0.5});
        assert_eq!(predicted(&unknown), "nothing is known of move or of similar tools\n");
    }

    #[test]
    fn a_time_is_told_by_its_bins() {
        let told = described(
            &json!({"now": {"hour": 21, "day": 0, "week": 3, "month": 11}, "hour": [6, 7], "day": null,
            "matching": 2, "total": 9, "episodes": ["a"], "typical": [{"kind": "move", "times": 4}],
            "rhythms": [{"kind": "move", "bins": [{"hour": 7}, {"day": 1}], "events": 20, "expected": 0.83}],
            "rhythm_events": 90, "rhythm_since": "2025-12-01T07:00:00Z",
            "clocks": {"anomaly": 0.0, "coherence": 0.7, "expected": [{"kind": "move", "at": "2026-01-06T07:00:00Z"}]}}),
        );
        assert_eq!(
            told,
            "now: hour 21, Monday, week 3 of the month (from 0), month 11\nasked: hour 6, 7\n\
             episodes: 2 of 9 are at such times\nnamed: a\ntypical: move 4 times\n\
             rhythms: move at hour 7 and day 1: 20 times, 0.8 by chance\n\
             sought in: 90 events since 2025-12-01T07:00:00Z\nnext: move at 2026-01-06T07:00:00Z\n\
             clocks: 0.00 away from what they foresaw (0 to 1), in step by 0.70 (0 to 1)\n"
        );
    }

    #[test]
    fn a_document_is_told_first_by_its_name() {
        let read = json!({"document": "a.md", "passages": 2, "created": 3, "reinforced": 1, "known": 0});
        assert_eq!(ingested(&read), "a.md: 2 passages; 3 concepts made, 1 reinforced, 0 known already\n");
        let again = json!({"document": "a.md", "passages": 2, "created": 0, "reinforced": 0, "known": 1, "changed": 2,
            "dropped": 1});
        assert_eq!(
            ingested(&again),
            "a.md: 2 passages; 0 concepts made, 0 reinforced, 1 known already, 2 changed, 1 no longer said\n"
        );
        assert_eq!(ingested(&json!({"document": "a.md", "error": "it is empty"})), "a.md: it is empty\n");
    }
}
