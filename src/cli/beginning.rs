//! An id by its beginning, as people give it.

use serde_json::Value;

use super::table::printable;
use super::{CliError, Exit};

/// Characters of an id that are enough at least. All ids of a year begin with the same four, and those of one minute with the
/// same eight: with fewer, the one that is there fits whatever was meant.
const LEAST: usize = 8;

/// What ids are looked for in, and what is said where none fits.
pub struct Known<'a> {
    /// The answer of the daemon.
    pub answer: &'a Value,
    /// The member that lists what has an `id`.
    pub list: &'static str,
    /// Said of what was given where nothing begins so.
    pub missing: fn(&str) -> String,
    pub fix: &'static str,
}

impl Known<'_> {
    /// The one id that begins so.
    ///
    /// # Errors
    /// None begins so, several do, or it is so short that it names none.
    pub fn whole(&self, given: &str) -> Result<String, CliError> {
        let ids = self.answer[self.list].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
        let fits: Vec<&str> = ids.filter(|id| !given.is_empty() && id.starts_with(given)).collect();
        match fits[..] {
            [id, ..] if given.len() < LEAST && id != given => {
                let found = format!("{given:?} is too short: it names none of the ids that begin so");
                let fix = format!("give the whole id, or at least {LEAST} characters of it; {}", self.fix);
                Err(CliError::new(Exit::Usage, found, fix))
            }
            [id] => Ok(id.to_owned()),
            [] => Err(CliError::new(Exit::NotHeld, (self.missing)(&format!("{:?}", printable(given))), self.fix)),
            _ => {
                let found = format!("{} ids begin with {given}", fits.len());
                Err(CliError::new(Exit::Usage, found, "give more of the id"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_beginning_that_fits_one_id_is_enough() {
        let answer = json!({"goals": [{"id": "01920000-aaaa"}, {"id": "01920000-bbbb"}, {"id": "g-7"}]});
        let known =
            Known { answer: &answer, list: "goals", missing: |given| format!("there is no goal {given}"), fix: "look" };
        assert_eq!(known.whole("01920000-a").expect("one"), "01920000-aaaa");
        assert_eq!(known.whole("g-7").expect("whole"), "g-7");
        assert_eq!(known.whole("01920000").expect_err("two").exit(), Exit::Usage);
        for none in ["", "0193", "01920000-aaaab"] {
            let error = known.whole(none).expect_err("none");
            assert_eq!(error.exit(), Exit::NotHeld);
            assert!(error.to_string().contains(&format!("there is no goal {none:?}")), "{error}");
        }
    }

    #[test]
    fn a_beginning_that_all_ids_have_names_none_though_one_alone_is_there() {
        let answer = json!({"approvals": [{"id": "019a7c3e-11aa"}]});
        let missing = |given: &str| format!("nothing is asked under {given}");
        let known = Known { answer: &answer, list: "approvals", missing, fix: "see `maxim approvals list`" };
        for short in ["0", "01", "019a", "019a7c3"] {
            let error = known.whole(short).expect_err("too short");
            assert_eq!(error.exit(), Exit::Usage);
            let told = error.to_string();
            assert!(
                told.contains("too short") && told.contains("at least 8") && told.contains("approvals list"),
                "{told}"
            );
        }
        assert_eq!(known.whole("019a7c3e").expect("one"), "019a7c3e-11aa");
    }
}
