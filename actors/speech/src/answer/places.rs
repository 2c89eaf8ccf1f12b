//! Answers to "where is it usually?", from what the spatial bridge counted.

use maxim_bus::signals::bridges::{UsualPlace, UsuallyLocated};

/// The usual place, in words. `None`: no place is known.
pub fn usually(located: &UsuallyLocated) -> Option<String> {
    let (best, others) = located.places.split_first()?;
    let seen = best.hits + best.misses;
    let times = match (best.hits, seen) {
        (1, 1) => "once so far".to_owned(),
        (hits, seen) => format!("{hits} of {seen} times"),
    };
    let subject = if located.by_kind { "Such things are usually" } else { "It is usually" };
    let place = |place: &UsualPlace| place.place.clone();
    let otherwise: Vec<String> = others.iter().map(place).collect();
    let otherwise =
        if otherwise.is_empty() { String::new() } else { format!(", otherwise {}", otherwise.join(" or ")) };
    Some(format!("{subject} {} ({times}){otherwise}.", best.place))
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;

    use super::*;

    #[test]
    fn a_usual_place_is_told_with_its_counts() {
        let place = |place: &str, hits, misses| UsualPlace { place: place.into(), share: 0.5, hits, misses };
        let mut located = UsuallyLocated {
            turn: MessageId::from_parts(1, 1),
            thing: "cup".into(),
            by_kind: false,
            places: vec![place("on the table", 3, 1), place("in the shelf", 1, 0)],
        };
        assert_eq!(
            usually(&located).as_deref(),
            Some("It is usually on the table (3 of 4 times), otherwise in the shelf.")
        );
        located.by_kind = true;
        located.places.remove(0);
        assert_eq!(usually(&located).as_deref(), Some("Such things are usually in the shelf (once so far)."));
        located.places.clear();
        assert_eq!(usually(&located), None);
    }
}
