//! How far the joints went during a movement, according to their readings.

use super::joint::{Joint, Pose};

/// Minimum change in degrees that counts; less is sensor noise.
const NOISE: f64 = 0.2;

/// Only for joints that turn; lengths don't count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    last: Pose,
    degrees: f64,
}

impl Way {
    pub fn from(start: Pose) -> Self {
        Self { last: start, degrees: 0.0 }
    }

    pub fn went(&mut self, pose: &Pose) {
        for joint in Joint::ALL.into_iter().filter(|joint| !joint.is_length()) {
            let turned = (pose[joint] - self.last[joint]).abs().to_degrees();
            if turned >= NOISE {
                self.last[joint] = pose[joint];
                self.degrees += turned;
            }
        }
    }

    /// Returns the sum in degrees, and starts again.
    pub fn take(&mut self) -> f64 {
        std::mem::take(&mut self.degrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_counts_twice_and_noise_counts_nothing() {
        let at = |degrees: f64| Pose::from_fn(|joint| if joint == Joint::Yaw { degrees.to_radians() } else { 0.0 });
        let mut way = Way::from(at(0.0));
        for degrees in [0.1, 0.0, 10.0, 30.0, 10.0, 0.0, 0.1] {
            way.went(&at(degrees));
        }
        assert!((way.take() - 60.0).abs() < 1e-9);
        assert_eq!(way.take(), 0.0);
    }
}
