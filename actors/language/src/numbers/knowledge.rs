//! What the exact sense knows from the start: constants and methods.

use serde::Serialize;

/// A number with a name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constant {
    pub name: &'static str,
    /// What it may be called in an expression beside its name.
    #[serde(skip)]
    pub also: &'static [&'static str],
    pub value: f64,
    pub unit: &'static str,
    pub domain: &'static str,
    pub verbal: &'static str,
}

/// A way of computing something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Method {
    pub name: &'static str,
    pub domain: &'static str,
    pub verbal: &'static str,
    pub code: &'static str,
    /// The operation of the calculator that does it; empty where a person has to put it together.
    pub operation: &'static str,
}

const fn mathematical(name: &'static str, also: &'static [&'static str], value: f64, verbal: &'static str) -> Constant {
    Constant { name, also, value, unit: "", domain: "mathematics", verbal }
}

const fn physical(
    name: &'static str,
    also: &'static [&'static str],
    value: f64,
    unit: &'static str,
    verbal: &'static str,
) -> Constant {
    Constant { name, also, value, unit, domain: "physics", verbal }
}

/// Physical ones by the SI of 2019 and CODATA 2022.
pub const CONSTANTS: &[Constant] = &[
    mathematical("pi", &[], std::f64::consts::PI, "the ratio of a circle's circumference to its diameter"),
    mathematical("tau", &[], std::f64::consts::TAU, "a full turn in radians, twice pi"),
    mathematical("e", &["euler"], std::f64::consts::E, "the base of natural logarithms"),
    mathematical("golden_ratio", &["phi"], 1.618_033_988_749_895, "the ratio that the whole has to its greater part"),
    mathematical("euler_mascheroni", &[], 0.577_215_664_901_532_9, "the limit of the harmonic sum less the logarithm"),
    physical("speed_of_light", &[], 299_792_458.0, "m/s", "the speed of light in vacuum, exact"),
    physical("standard_gravity", &["gravity"], 9.806_65, "m/s²", "the standard acceleration of free fall, exact"),
    physical("planck_constant", &[], 6.626_070_15e-34, "J s", "the Planck constant, exact"),
    physical("boltzmann_constant", &[], 1.380_649e-23, "J/K", "the Boltzmann constant, exact"),
    physical("avogadro_constant", &[], 6.022_140_76e23, "1/mol", "the Avogadro constant, exact"),
    physical("elementary_charge", &[], 1.602_176_634e-19, "C", "the elementary charge, exact"),
    physical("gas_constant", &[], 8.314_462_618_153_24, "J/(mol K)", "the molar gas constant, exact"),
    physical("gravitational_constant", &[], 6.674_30e-11, "m³/(kg s²)", "the Newtonian constant of gravitation"),
    physical("absolute_zero", &[], -273.15, "°C", "the lowest temperature there is"),
    physical("speed_of_sound", &[], 343.2, "m/s", "the speed of sound in dry air at 20 °C"),
    physical("standard_atmosphere", &[], 101_325.0, "Pa", "the standard pressure of the atmosphere, exact"),
];

pub const METHODS: &[Method] = &[
    Method {
        name: "arithmetic",
        domain: "arithmetic",
        verbal: "exact arithmetic on fractions, with powers, roots, percentages and factorials",
        code: "2 * (3 + 4)^2",
        operation: "calculate",
    },
    Method {
        name: "descriptive statistics",
        domain: "statistics",
        verbal: "count, sum, mean, median, quartiles, standard deviation and skewness of a list",
        code: "s = sqrt(Σ (x − x̄)² / (n − 1))",
        operation: "statistics",
    },
    Method {
        name: "percentile",
        domain: "statistics",
        verbal: "the value below which a given share of the values lies, by linear interpolation",
        code: "x[p (n − 1)]",
        operation: "percentile",
    },
    Method {
        name: "correlation",
        domain: "statistics",
        verbal: "how strongly two lists go together, with the probability that chance does it (Pearson)",
        code: "r = Σ (x − x̄)(y − ȳ) / sqrt(Σ (x − x̄)² Σ (y − ȳ)²)",
        operation: "correlation",
    },
    Method {
        name: "rank correlation",
        domain: "statistics",
        verbal: "how strongly the ranks of two lists go together (Spearman)",
        code: "ρ = r(rank x, rank y)",
        operation: "correlation",
    },
    Method {
        name: "linear regression",
        domain: "statistics",
        verbal: "the straight line with the least squares, and the share of the variance that it explains",
        code: "y = a + b x",
        operation: "regression",
    },
    Method {
        name: "quadratic regression",
        domain: "statistics",
        verbal: "the parabola with the least squares, and the share of the variance that it explains",
        code: "y = a + b x + c x²",
        operation: "regression",
    },
    Method {
        name: "matrix",
        domain: "linear algebra",
        verbal: "sum, product, transpose, determinant, inverse, solution and eigenvalues of small matrices",
        code: "A x = b",
        operation: "matrix",
    },
    Method {
        name: "runs test",
        domain: "statistics",
        verbal: "whether a series changes sides of its median as often as chance does",
        code: "P(R ≤ r | n₁, n₂)",
        operation: "series",
    },
    Method {
        name: "wilson interval",
        domain: "statistics",
        verbal: "the 95 % interval of a share of successes",
        code: "(p + z²/2n ± z sqrt(p(1 − p)/n + z²/4n²)) / (1 + z²/n)",
        operation: "",
    },
];

/// The constant of this name, without regard of case.
pub fn constant(name: &str) -> Option<&'static Constant> {
    let name = name.to_lowercase().replace(['-', ' '], "_");
    CONSTANTS.iter().find(|constant| constant.name == name || constant.also.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_by_name_and_agree_with_each_other() {
        let value = |name| constant(name).expect("it is known").value;
        assert_eq!(value("Speed of Light"), 299_792_458.0);
        assert_eq!(value("PHI"), value("golden ratio"));
        let gas = value("avogadro_constant") * value("boltzmann_constant");
        assert!((gas / value("gas_constant") - 1.0).abs() < 1e-12);
        assert_eq!(constant("kitten"), None);
    }
}
