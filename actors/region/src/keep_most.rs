//! Removing the least useful entries when a room reaches its limit.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// If there are more than `most` entries, removes the smallest values; among equals, those with smaller keys. It
/// removes a sixteenth more than necessary, so that not every new entry triggers it.
pub fn keep_most<V>(map: &mut BTreeMap<String, V>, most: usize, order: impl Fn(&V, &V) -> Ordering) {
    if map.len() <= most {
        return;
    }
    let excess = map.len() - (most - most / 16);
    let mut all: Vec<(&V, &String)> = map.iter().map(|(key, value)| (value, key)).collect();
    all.select_nth_unstable_by(excess - 1, |a, b| order(a.0, b.0).then_with(|| a.1.cmp(b.1)));
    let least: Vec<String> = all[..excess].iter().map(|(_, key)| (*key).clone()).collect();
    for key in least {
        map.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_go_and_of_equal_ones_those_that_come_first() {
        let of = |values: &[(&str, u32)]| -> BTreeMap<String, u32> {
            values.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
        };
        let all = [("a", 3), ("b", 1), ("c", 2), ("d", 1), ("e", 1), ("f", 9)];
        for (most, left) in [(6, &all[..]), (4, &[("a", 3), ("c", 2), ("e", 1), ("f", 9)]), (1, &[("f", 9)]), (0, &[])]
        {
            let mut map = of(&all);
            keep_most(&mut map, most, u32::cmp);
            assert_eq!(map, of(left), "{most} of them");
        }
        let mut many: BTreeMap<String, u32> = (0..65).map(|n| (format!("{n:02}"), n)).collect();
        keep_most(&mut many, 64, u32::cmp);
        assert_eq!((many.len(), many.first_key_value()), (60, Some((&"05".to_owned(), &5))), "room for the next ones");
    }
}
