//! The `math` tool: one request, one answer, and the part of it that is worth keeping.

use std::collections::BTreeMap;

use maxim_bus::hash::StableHash;
use maxim_bus::signals::numbers::{MathCategory, MathFilter, MathRecord};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::model::MathStore;
use maxim_language::numbers::analysis::analyse;
use maxim_language::numbers::arithmetic::evaluate;
use maxim_language::numbers::matrix::{MatrixOperation, MatrixResult, compute, fit};
use maxim_language::numbers::statistics::{self, Description};

/// Maximum number of numbers in a list.
pub const MOST_NUMBERS: usize = 10_000;
/// Numbers of a list stored with its result.
const KEPT: usize = 64;

/// The requested operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MathOperation {
    #[default]
    Calculate,
    Statistics,
    Percentile,
    Correlation,
    Regression,
    Matrix,
    /// Whether a time series holds a pattern.
    Series,
    /// Recalls constants, methods, patterns and relationships.
    Recall,
}

/// The tool's parameters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MathRequest {
    pub operation: MathOperation,
    pub expression: Option<String>,
    pub values: Option<Vec<f64>>,
    pub x: Option<Vec<f64>>,
    pub y: Option<Vec<f64>>,
    /// 0 to 100.
    pub percentile: Option<f64>,
    /// 1 for a line, 2 for a parabola.
    pub degree: Option<usize>,
    pub matrix: Option<MatrixOperation>,
    pub a: Option<Vec<Vec<f64>>>,
    pub b: Option<Vec<Vec<f64>>>,
    pub topic: Option<String>,
    pub category: Option<MathCategory>,
    pub limit: Option<usize>,
}

/// A result in the form in which it is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub name: String,
    pub domain: &'static str,
    pub verbal: String,
    pub code: String,
    pub inputs: Vec<f64>,
    pub outputs: BTreeMap<String, f64>,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct MathAnswer {
    pub output: Json,
    pub fact: Option<Fact>,
    /// Ids of the records used.
    pub used: Vec<String>,
}

/// Computes the answer. An error names the parameter and what was expected.
///
/// # Errors
/// A parameter is missing, of the wrong shape, or has no result.
pub fn answer(request: &Json, store: &MathStore) -> Result<MathAnswer, String> {
    let request: MathRequest = serde_json::from_value(request.clone()).map_err(|error| format!("math: {error}"))?;
    match request.operation {
        MathOperation::Calculate => calculate(&request),
        MathOperation::Statistics => describe(&request),
        MathOperation::Percentile => percentile(&request),
        MathOperation::Correlation => correlate(&request),
        MathOperation::Regression => regress(&request),
        MathOperation::Matrix => matrix(&request),
        MathOperation::Series => series(&request),
        MathOperation::Recall => Ok(recall(&request, store)),
    }
}

fn missing(operation: &str, field: &str, expected: &str) -> String {
    format!("math {operation}: {field} is missing; expected {expected}")
}

/// A list that is present, not too long, and of finite numbers.
fn list<'r>(values: &'r Option<Vec<f64>>, operation: &str, field: &str, least: usize) -> Result<&'r [f64], String> {
    let values = values.as_deref().ok_or_else(|| missing(operation, field, "a list of numbers"))?;
    if values.len() < least || values.len() > MOST_NUMBERS {
        let got = values.len();
        return Err(format!("math {operation}: {field} must hold {least} to {MOST_NUMBERS} numbers, got {got}"));
    }
    if values.iter().any(|value| value.is_nan() || value.abs() > 1e150) {
        return Err(format!("math {operation}: {field} must hold numbers up to 1e150"));
    }
    Ok(values)
}

/// A name for the result of an operation on these numbers.
fn named(what: &str, lists: &[&[f64]]) -> String {
    let bits = lists.iter().flat_map(|list| list.iter().map(|value| value.to_bits().to_le_bytes()));
    let hash = bits.fold(StableHash::default(), |hash, bits| hash.add(&bits)).get();
    format!("{what} of {} numbers #{:08x}", lists.first().map_or(0, |list| list.len()), hash >> 32)
}

fn kept(values: &[f64]) -> Vec<f64> {
    values.iter().take(KEPT).copied().collect()
}

fn outputs(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn calculate(request: &MathRequest) -> Result<MathAnswer, String> {
    let expression = request.expression.as_deref().map(str::trim);
    let expression = expression.ok_or_else(|| missing("calculate", "expression", "a text such as \"2 * (3 + 4)\""))?;
    let number = evaluate(expression).map_err(|error| format!("math calculate: {error}"))?;
    let (shown, value) = (number.shown(), number.value());
    let sign = if number.is_exact() { "=" } else { "≈" };
    let fact = Fact {
        name: expression.chars().take(200).collect(),
        domain: "arithmetic",
        verbal: format!("{expression} {sign} {shown}").chars().take(400).collect(),
        code: expression.to_owned(),
        inputs: Vec::new(),
        outputs: outputs(&[("value", value)]),
    };
    let output = json!({ "expression": expression, "result": shown, "value": value, "exact": number.is_exact() });
    // A number that is too large for a float only has its digits.
    Ok(MathAnswer { output, fact: value.is_finite().then_some(fact), used: Vec::new() })
}

fn describe(request: &MathRequest) -> Result<MathAnswer, String> {
    let values = list(&request.values, "statistics", "values", 1)?;
    let seen = Description::of(values).ok_or("math statistics: values is empty")?;
    let deviation = seen.standard_deviation.unwrap_or(0.0);
    let fact = Fact {
        name: named("statistics", &[values]),
        domain: "statistics",
        verbal: format!(
            "{} numbers have mean {}, median {} and standard deviation {deviation}",
            seen.count, seen.mean, seen.median
        ),
        code: "mean, median, sd".into(),
        inputs: kept(values),
        outputs: outputs(&[("mean", seen.mean), ("median", seen.median), ("standard_deviation", deviation)]),
    };
    Ok(MathAnswer { output: json!(seen), fact: Some(fact), used: Vec::new() })
}

fn percentile(request: &MathRequest) -> Result<MathAnswer, String> {
    let values = list(&request.values, "percentile", "values", 1)?;
    let share = request.percentile.ok_or_else(|| missing("percentile", "percentile", "a number from 0 to 100"))?;
    if !(0.0..=100.0).contains(&share) {
        return Err(format!("math percentile: percentile must be from 0 to 100, got {share}"));
    }
    let value = statistics::quantile(&statistics::sorted(values), share / 100.0).unwrap_or(f64::NAN);
    let fact = Fact {
        name: named(&format!("percentile {share}"), &[values]),
        domain: "statistics",
        verbal: format!("the {share}th percentile of {} numbers is {value}", values.len()),
        code: format!("quantile(x, {})", share / 100.0),
        inputs: kept(values),
        outputs: outputs(&[("value", value)]),
    };
    Ok(MathAnswer { output: json!({ "percentile": share, "value": value }), fact: Some(fact), used: Vec::new() })
}

fn pairs<'r>(request: &'r MathRequest, operation: &str, least: usize) -> Result<(&'r [f64], &'r [f64]), String> {
    let (x, y) = (list(&request.x, operation, "x", least)?, list(&request.y, operation, "y", least)?);
    if x.len() != y.len() {
        return Err(format!("math {operation}: x and y must be of one length, got {} and {}", x.len(), y.len()));
    }
    Ok((x, y))
}

fn correlate(request: &MathRequest) -> Result<MathAnswer, String> {
    let (x, y) = pairs(request, "correlation", 3)?;
    let still = || "math correlation: one of the lists doesn't vary, so nothing can go together with it".to_owned();
    let r = statistics::correlation(x, y).ok_or_else(still)?;
    let rho = statistics::rank_correlation(x, y).ok_or_else(still)?;
    let (p, rank_p) = (statistics::correlation_p(r, x.len()), statistics::correlation_p(rho, x.len()));
    let fact = Fact {
        name: named("correlation", &[x, y]),
        domain: "statistics",
        verbal: format!("two lists of {} numbers correlate with r = {r:.4} (p = {p:.2e})", x.len()),
        code: "r(x, y)".into(),
        inputs: kept(x),
        outputs: outputs(&[("r", r), ("p", p), ("rho", rho)]),
    };
    let output = json!({ "pearson_r": r, "p": p, "spearman_rho": rho, "spearman_p": rank_p, "count": x.len() });
    Ok(MathAnswer { output, fact: Some(fact), used: Vec::new() })
}

fn regress(request: &MathRequest) -> Result<MathAnswer, String> {
    let degree = request.degree.unwrap_or(1);
    if !(1..=2).contains(&degree) {
        return Err(format!("math regression: degree must be 1 or 2, got {degree}"));
    }
    let (x, y) = pairs(request, "regression", degree + 1)?;
    let fitted = fit(x, y, degree).ok_or("math regression: x doesn't vary enough for a curve of this degree")?;
    let names = ["intercept", "slope", "curvature"];
    let mut found: BTreeMap<String, f64> =
        names.iter().zip(&fitted.coefficients).map(|(name, value)| ((*name).to_owned(), *value)).collect();
    found.insert("r_squared".into(), fitted.r_squared);
    let terms: Vec<String> =
        fitted.coefficients.iter().zip(["", " x", " x²"]).map(|(value, power)| format!("{value}{power}")).collect();
    let code = format!("y = {}", terms.join(" + "));
    let fact = Fact {
        name: named(if degree == 1 { "line" } else { "parabola" }, &[x, y]),
        domain: "statistics",
        verbal: format!("{code}, explaining {:.1} % of the variance of {} points", fitted.r_squared * 100.0, x.len()),
        code: code.clone(),
        inputs: kept(x),
        outputs: found,
    };
    let output = json!({
        "formula": code, "coefficients": fitted.coefficients, "r_squared": fitted.r_squared, "p": fitted.p,
    });
    Ok(MathAnswer { output, fact: Some(fact), used: Vec::new() })
}

fn matrix(request: &MathRequest) -> Result<MathAnswer, String> {
    let operation = request.matrix.ok_or_else(|| {
        missing("matrix", "matrix", "add, multiply, transpose, determinant, inverse, solve or eigenvalues")
    })?;
    let a = request.a.as_deref().ok_or_else(|| missing("matrix", "a", "a list of rows"))?;
    let result = compute(operation, a, request.b.as_deref()).map_err(|error| format!("math matrix: {error}"))?;
    let flat: Vec<f64> = a.iter().flatten().copied().collect();
    let word = json!(operation).as_str().unwrap_or_default().to_owned();
    let fact = match &result {
        MatrixResult::Number(value) => Some(Fact {
            name: named(&format!("matrix {word}"), &[&flat]),
            domain: "linear algebra",
            verbal: format!("the {word} of a matrix of {} rows is {value}", a.len()),
            code: word.clone(),
            inputs: kept(&flat),
            outputs: outputs(&[("value", *value)]),
        }),
        _ => None,
    };
    let result = match result {
        MatrixResult::Number(value) => json!(value),
        MatrixResult::Rows(rows) => json!(rows),
        MatrixResult::Pairs(pairs) => json!(pairs),
    };
    Ok(MathAnswer { output: json!({ "operation": word, "result": result }), fact, used: Vec::new() })
}

fn series(request: &MathRequest) -> Result<MathAnswer, String> {
    let values = list(&request.values, "series", "values", maxim_language::numbers::analysis::LEAST_VALUES)?;
    // The newest numbers: lags are tried one by one.
    let analysed = analyse("values", &values[values.len().saturating_sub(512)..]);
    let output = json!({
        "pattern": analysed.feature, "p": analysed.p, "r_squared": analysed.r_squared, "count": analysed.observations,
    });
    Ok(MathAnswer { output, fact: None, used: Vec::new() })
}

fn recall(request: &MathRequest, store: &MathStore) -> MathAnswer {
    let filter = MathFilter {
        topic: request.topic.clone(),
        category: request.category,
        expand: true,
        limit: request.limit.unwrap_or(5).clamp(1, 20),
        ..MathFilter::default()
    };
    let found = store.recall(&filter);
    let used = found.iter().map(|(record, _)| record.id.clone()).collect();
    let line = |(record, score): &(&MathRecord, f64)| {
        json!({
            "id": record.id, "name": record.name, "category": record.category, "domain": record.domain,
            "text": record.verbal, "code": record.code, "outputs": record.outputs,
            "confidence": record.confidence, "score": score, "trust": record.trust,
        })
    };
    let results: Vec<Json> = found.iter().map(line).collect();
    MathAnswer { output: json!({ "topic": request.topic, "results": results }), fact: None, used }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: Json) -> Json {
        answer(&request, &MathStore::default()).expect("an answer").output
    }

    fn refused(request: Json) -> String {
        answer(&request, &MathStore::default()).expect_err("no answer")
    }

    #[test]
    fn each_operation_answers() {
        let sum = asked(json!({"expression": "0.1 + 0.2"}));
        assert_eq!((sum["result"].as_str(), sum["exact"].as_bool()), (Some("0.3"), Some(true)));
        let seen = asked(json!({"operation": "statistics", "values": [1, 2, 3, 4]}));
        assert_eq!((seen["mean"].as_f64(), seen["q1"].as_f64()), (Some(2.5), Some(1.75)));
        let share = asked(json!({"operation": "percentile", "values": [15, 20, 35, 40, 50], "percentile": 40}));
        assert_eq!(share["value"], 29.0);
        let pair = json!({"x": [1, 2, 3, 4, 5], "y": [2, 4, 5, 4, 5]});
        let with = |operation: &str| {
            let mut request = pair.clone();
            request["operation"] = json!(operation);
            asked(request)
        };
        assert!((with("correlation")["pearson_r"].as_f64().expect("r") - 0.6f64.sqrt()).abs() < 1e-12);
        assert!((with("regression")["r_squared"].as_f64().expect("R²") - 0.6).abs() < 1e-12);
        let matrix = asked(json!({"operation": "matrix", "matrix": "determinant", "a": [[1, 2], [3, 4]]}));
        assert!((matrix["result"].as_f64().expect("a number") + 2.0).abs() < 1e-12);
        let series = asked(json!({"operation": "series", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}));
        assert_eq!(series["pattern"]["kind"], "trend");
        let known = asked(json!({"operation": "recall", "topic": "speed of light", "limit": 1}));
        assert_eq!(known["results"][0]["outputs"]["value"], 299_792_458.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(
            refused(json!({})),
            "math calculate: expression is missing; expected a text such as \"2 * (3 + 4)\""
        );
        assert!(refused(json!({"operation": "guess"})).contains("guess"));
        assert!(refused(json!({"expresion": "1"})).contains("expresion"));
        assert_eq!(
            refused(json!({"operation": "correlation", "x": [1, 2, 3], "y": [1, 2, 3, 4]})),
            "math correlation: x and y must be of one length, got 3 and 4"
        );
        assert!(refused(json!({"operation": "correlation", "x": [1, 1, 1], "y": [1, 2, 3]})).contains("doesn't vary"));
        assert!(refused(json!({"operation": "statistics", "values": []})).contains("1 to 10000 numbers, got 0"));
        assert!(refused(json!({"operation": "regression", "x": [1, 2], "y": [1, 2], "degree": 7})).contains("1 or 2"));
    }

    #[test]
    fn one_question_is_one_fact() {
        let fact = |request: Json| answer(&request, &MathStore::default()).expect("an answer").fact.expect("a fact");
        let (a, b) = (fact(json!({"expression": "6*7"})), fact(json!({"expression": " 6*7 "})));
        assert_eq!(a, b);
        assert_eq!(a.verbal, "6*7 = 42");
        let list = |values: Json| fact(json!({"operation": "statistics", "values": values})).name;
        assert_eq!(list(json!([1, 2])), list(json!([1, 2])));
        assert_ne!(list(json!([1, 2])), list(json!([1, 3])));
    }
}
