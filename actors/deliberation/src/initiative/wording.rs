//! Why an act was chosen, and what was passed over, in words.

use maxim_bus::signals::acting::{ActChosen, ActOption};
use maxim_bus::signals::intent::Alternative;
use serde_json::{Value as Json, json};

/// Why this act is done unasked.
pub(crate) fn reason(option: &ActOption) -> String {
    format!("Nobody wants anything, and I can use {}: {}", option.tool, reasons(option))
}

/// The options that weren't chosen, and doing nothing.
pub(crate) fn alternatives(act: &ActChosen) -> Vec<Alternative> {
    let others = act.options.iter().enumerate().filter(|(place, _)| *place != act.chosen);
    let mut alternatives: Vec<Alternative> = others
        .map(|(_, other)| Alternative {
            tool: other.tool.clone(),
            params: if other.params == json!({}) { Json::Null } else { other.params.clone() },
            why: reasons(other),
        })
        .collect();
    let nothing = format!("worth 0.00, chance {:.2}", act.nothing);
    alternatives.push(Alternative { tool: "nothing".into(), params: Json::Null, why: nothing });
    alternatives
}

/// The reasons for and against an act.
fn reasons(option: &ActOption) -> String {
    let ActOption { value, tries, novelty, fear, need, score, chance, barred, .. } = option;
    let need = if *need > 0.0 { format!(", need {need:.2}") } else { String::new() };
    let end = match barred {
        Some(why) => why.clone(),
        None => format!("worth {score:.2}, chance {chance:.2}"),
    };
    format!("value {value:.2}, novelty {novelty:.2} after {tries:.1} tries, fear {fear:.2}{need}: {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(tool: &str, score: f64, barred: Option<&str>) -> ActOption {
        ActOption {
            tool: tool.into(),
            params: json!({}),
            value: 0.5,
            tries: 2.0,
            novelty: 0.1,
            fear: 0.0,
            need: 0.25,
            score,
            chance: 0.75,
            barred: barred.map(str::to_owned),
        }
    }

    #[test]
    fn what_was_passed_over_is_told_with_its_reasons_and_doing_nothing_comes_last() {
        let options = vec![option("pat", 0.6, None), option("plug_in", 0.1, Some("it was refused"))];
        let act = ActChosen { options, chosen: 0, nothing: 0.25 };
        assert_eq!(
            reason(&act.options[0]),
            "Nobody wants anything, and I can use pat: value 0.50, novelty 0.10 after 2.0 tries, fear 0.00, need 0.25: \
             worth 0.60, chance 0.75"
        );
        let told = alternatives(&act);
        let told: Vec<(&str, bool)> = told.iter().map(|one| (one.tool.as_str(), one.params.is_null())).collect();
        assert_eq!(told, [("plug_in", true), ("nothing", true)]);
        assert!(alternatives(&act)[0].why.ends_with("it was refused"));
    }
}
