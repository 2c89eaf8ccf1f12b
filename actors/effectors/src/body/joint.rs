//! Joints, poses and their limits. Inside the body lengths are metres and angles radians; people see millimetres and
//! degrees. Axes as in robotics (REP 103): x forward, y left, z up; a positive yaw turns left, a positive pitch looks
//! down.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Number of joints.
pub const JOINTS: usize = 9;

/// A degree of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joint {
    X,
    Y,
    Z,
    Roll,
    Pitch,
    Yaw,
    BodyYaw,
    LeftAntenna,
    RightAntenna,
}

impl Joint {
    pub const ALL: [Self; JOINTS] = [
        Self::X,
        Self::Y,
        Self::Z,
        Self::Roll,
        Self::Pitch,
        Self::Yaw,
        Self::BodyYaw,
        Self::LeftAntenna,
        Self::RightAntenna,
    ];

    /// Its name in parameters and sensors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
            Self::Roll => "roll",
            Self::Pitch => "pitch",
            Self::Yaw => "yaw",
            Self::BodyYaw => "body_yaw",
            Self::LeftAntenna => "left_antenna",
            Self::RightAntenna => "right_antenna",
        }
    }

    /// The part of the body that it moves.
    pub const fn part(self) -> &'static str {
        match self {
            Self::BodyYaw => "body",
            Self::LeftAntenna | Self::RightAntenna => "antennas",
            _ => "head",
        }
    }

    pub const fn is_length(self) -> bool {
        matches!(self, Self::X | Self::Y | Self::Z)
    }

    /// The unit for people.
    pub const fn unit(self) -> &'static str {
        if self.is_length() { "mm" } else { "degrees" }
    }

    /// Metres as millimetres, radians as degrees.
    pub fn shown(self, value: f64) -> f64 {
        if self.is_length() { value * 1e3 } else { value.to_degrees() }
    }

    /// Millimetres as metres, degrees as radians.
    pub fn meant(self, shown: f64) -> f64 {
        if self.is_length() { shown * 1e-3 } else { shown.to_radians() }
    }

    /// How far from its target a joint may stop without a movement error: 3 mm, or 0.03 rad. Both are more than the
    /// deviation that was measured with the maker's daemon.
    pub const fn tolerance(self) -> f64 {
        if self.is_length() { 3e-3 } else { 0.03 }
    }
}

/// The positions of all joints, in metres and radians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pose([f64; JOINTS]);

impl Index<Joint> for Pose {
    type Output = f64;

    fn index(&self, joint: Joint) -> &f64 {
        &self.0[joint as usize]
    }
}

impl IndexMut<Joint> for Pose {
    fn index_mut(&mut self, joint: Joint) -> &mut f64 {
        &mut self.0[joint as usize]
    }
}

impl Pose {
    /// Sets each joint by its name.
    pub fn from_fn(value: impl Fn(Joint) -> f64) -> Self {
        Self(Joint::ALL.map(value))
    }

    pub fn is_finite(&self) -> bool {
        self.0.iter().all(|value| value.is_finite())
    }

    /// In millimetres and degrees, by name.
    pub fn sensors(&self) -> BTreeMap<String, f64> {
        Joint::ALL.iter().map(|joint| (joint.name().to_owned(), joint.shown(self[*joint]))).collect()
    }

    /// For people: millimetres and degrees, to a tenth.
    pub fn shown(&self) -> Json {
        let rounded = |joint: &Joint| (joint.name().to_owned(), json!(tenth(joint.shown(self[*joint]))));
        Json::Object(Joint::ALL.iter().map(rounded).collect())
    }

    /// The joint that is farthest from its goal, beyond its tolerance.
    pub fn missed(&self, goal: &Self) -> Option<Joint> {
        let off = |joint: Joint| (self[joint] - goal[joint]).abs() / joint.tolerance();
        let worst = Joint::ALL.into_iter().max_by(|a, b| off(*a).total_cmp(&off(*b)))?;
        (off(worst) > 1.0).then_some(worst)
    }
}

/// Rounded to a tenth, without a negative zero.
pub fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}

/// The limits of a joint's position and speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Per second.
    pub speed: f64,
}

/// The limits of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    ranges: [Range; JOINTS],
    /// Maximum angle between head and trunk, in radians.
    twist: f64,
}

/// A joint that was asked to go beyond its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamped {
    pub joint: Joint,
    pub asked: f64,
    pub given: f64,
}

impl Clamped {
    /// In words for people.
    pub fn told(&self) -> String {
        let (joint, unit) = (self.joint, self.joint.unit());
        let shown = |value| tenth(joint.shown(value));
        format!("{}: {} {unit} were asked, {} {unit} is its limit", joint.name(), shown(self.asked), shown(self.given))
    }
}

impl Limits {
    /// Of a Reachy Mini. The angles are those of its maker's documentation (head ±40° in roll and pitch, ±180° in yaw,
    /// at most 65° against the trunk, trunk ±160°). Lengths are inside the range that its inverse kinematics solved in
    /// tests, and speeds below those that its motors reach.
    pub fn reachy_mini() -> Self {
        let degrees = |low: f64, high: f64, speed: f64| Range {
            low: low.to_radians(),
            high: high.to_radians(),
            speed: speed.to_radians(),
        };
        let metres = |low: f64, high: f64| Range { low, high, speed: 0.1 };
        let ranges = Joint::ALL.map(|joint| match joint {
            Joint::X | Joint::Y => metres(-0.02, 0.02),
            Joint::Z => metres(-0.02, 0.01),
            Joint::Roll | Joint::Pitch => degrees(-40.0, 40.0, 90.0),
            Joint::Yaw => degrees(-180.0, 180.0, 90.0),
            Joint::BodyYaw => degrees(-160.0, 160.0, 90.0),
            Joint::LeftAntenna | Joint::RightAntenna => degrees(-180.0, 180.0, 240.0),
        });
        Self { ranges, twist: 65_f64.to_radians() }
    }

    /// The same joints, slower: `share` of each speed, 0 to 1.
    pub fn slowed(mut self, share: f64) -> Self {
        self.ranges.iter_mut().for_each(|range| range.speed *= share);
        self
    }

    pub fn of(&self, joint: Joint) -> Range {
        self.ranges[joint as usize]
    }

    /// The nearest pose that the body can take, and which joints were limited.
    pub fn clamp(&self, asked: &Pose) -> (Pose, Vec<Clamped>) {
        let mut given = Pose::from_fn(|joint| {
            let range = self.of(joint);
            asked[joint].clamp(range.low, range.high)
        });
        let trunk = given[Joint::BodyYaw];
        given[Joint::Yaw] = given[Joint::Yaw].clamp(trunk - self.twist, trunk + self.twist);
        let cut = Joint::ALL.into_iter().filter(|joint| given[*joint] != asked[*joint]);
        let cut = cut.map(|joint| Clamped { joint, asked: asked[joint], given: given[joint] }).collect();
        (given, cut)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn poses() -> impl Strategy<Value = Pose> {
        prop::array::uniform9(-10.0..10.0_f64).prop_map(Pose)
    }

    proptest! {
        #[test]
        fn what_is_clamped_is_within_all_limits_and_is_told(asked in poses()) {
            let limits = Limits::reachy_mini();
            let (given, cut) = limits.clamp(&asked);
            for joint in Joint::ALL {
                let range = limits.of(joint);
                prop_assert!(given[joint] >= range.low && given[joint] <= range.high, "{joint:?}");
                prop_assert_eq!(cut.iter().any(|cut| cut.joint == joint), given[joint] != asked[joint]);
            }
            prop_assert!((given[Joint::Yaw] - given[Joint::BodyYaw]).abs() <= 65_f64.to_radians() + 1e-12);
            let (again, cut) = limits.clamp(&given);
            prop_assert!(again == given && cut.is_empty(), "a pose that can be taken is left alone");
        }
    }

    #[test]
    fn people_are_told_millimetres_and_degrees() {
        let mut asked = Pose::default();
        asked[Joint::Yaw] = 3.0;
        asked[Joint::X] = 0.0104;
        let (given, cut) = Limits::reachy_mini().clamp(&asked);
        assert_eq!((&given.shown()["yaw"], &given.shown()["x"]), (&json!(65.0), &json!(10.4)));
        assert_eq!(cut[0].told(), "yaw: 171.9 degrees were asked, 65 degrees is its limit");
        assert_eq!(cut.len(), 1);
    }

    #[test]
    fn a_joint_is_missed_beyond_its_tolerance_alone() {
        let goal = Pose::default();
        let mut there = goal;
        there[Joint::Pitch] = 0.029;
        there[Joint::Z] = 0.0029;
        assert_eq!(there.missed(&goal), None);
        there[Joint::Pitch] = 0.031;
        assert_eq!(there.missed(&goal), Some(Joint::Pitch));
    }
}
