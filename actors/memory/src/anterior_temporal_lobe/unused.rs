//! Numbers that no concept ever had. An import may use them for concepts with the same numbers. The number of a removed
//! concept is never used again, because somebody may still know the concept by it.

use serde::{Deserialize, Serialize};

/// Maximum number of remembered ranges, the newest.
const MOST: usize = 256;

/// Stretches below the next number, each from its first number to the one after its last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unused(Vec<(u32, u32)>);

impl Unused {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Marks this number as used; `next` was the next free one before.
    pub fn give(&mut self, number: u32, next: u32) {
        if number >= next {
            self.0.extend((number > next).then_some((next, number)));
            self.0.drain(..self.0.len().saturating_sub(MOST));
        } else if let Some(at) = self.place_of(number) {
            let (first, end) = self.0.remove(at);
            let left = [(first, number), (number + 1, end)].into_iter().filter(|(first, end)| first < end);
            self.0.splice(at..at, left);
        }
    }

    fn place_of(&self, number: u32) -> Option<usize> {
        self.0.iter().position(|(first, end)| (*first..*end).contains(&number))
    }

    /// The own number of a concept from elsewhere, or the next one if that number is used.
    pub fn number_for(&mut self, theirs: u32, next: &mut u32) -> u32 {
        let number = if theirs >= *next || self.place_of(theirs).is_some() { theirs } else { *next };
        self.give(number, *next);
        *next = (*next).max(number + 1);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once() {
        let (mut unused, mut next) = (Unused::default(), 0);
        let mut given = |theirs: u32| unused.number_for(theirs, &mut next);
        assert_eq!([9, 3, 3, 4, 0, 9].map(&mut given), [9, 3, 10, 4, 0, 11]);
        assert_eq!((unused.0, next), (vec![(1, 3), (5, 9)], 12));
    }
}
