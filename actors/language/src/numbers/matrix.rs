//! Small matrices.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// Rows and columns, at most.
pub const MOST_SIDE: usize = 64;
/// A matrix whose smallest singular value is below this share of its largest is taken for singular.
const SINGULAR: f64 = 1e-12;

/// What is done with one or two matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixOperation {
    Add,
    Multiply,
    Transpose,
    Determinant,
    Inverse,
    /// x of A x = b; the least squares where there are more rows than columns.
    Solve,
    /// As (real, imaginary) pairs.
    Eigenvalues,
}

/// Matrices that don't fit, with the sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    #[error("{0}: give a list of rows of equal length, 1 to {MOST_SIDE} each way, with finite numbers")]
    Shape(&'static str),
    #[error("{operation} needs {needed}, got {a} and {b}")]
    Sizes { operation: &'static str, needed: &'static str, a: String, b: String },
    #[error("the matrix is singular: it has no inverse and no single solution")]
    Singular,
    #[error("the eigenvalues were not found within the allowed steps")]
    NoConvergence,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixResult {
    Number(f64),
    Rows(Vec<Vec<f64>>),
    /// Real and imaginary parts.
    Pairs(Vec<[f64; 2]>),
}

fn read(rows: &[Vec<f64>], which: &'static str) -> Result<DMatrix<f64>, MatrixError> {
    let width = rows.first().map_or(0, Vec::len);
    let sides = (1..=MOST_SIDE).contains(&width) && rows.len() <= MOST_SIDE;
    let even = rows.iter().all(|row| row.len() == width && row.iter().all(|value| value.is_finite()));
    if !sides || !even {
        return Err(MatrixError::Shape(which));
    }
    Ok(DMatrix::from_row_iterator(rows.len(), width, rows.iter().flatten().copied()))
}

fn written(matrix: &DMatrix<f64>) -> MatrixResult {
    MatrixResult::Rows(matrix.row_iter().map(|row| row.iter().copied().collect()).collect())
}

/// Does it. `b` is needed to add, multiply and solve.
///
/// # Errors
/// The matrices don't fit, or there is no result.
pub fn compute(
    operation: MatrixOperation,
    a: &[Vec<f64>],
    b: Option<&[Vec<f64>]>,
) -> Result<MatrixResult, MatrixError> {
    let a = read(a, "a")?;
    let b = b.map(|b| read(b, "b")).transpose()?;
    let size = |matrix: &DMatrix<f64>| format!("{}×{}", matrix.nrows(), matrix.ncols());
    let sizes = |operation, needed| MatrixError::Sizes {
        operation,
        needed,
        a: size(&a),
        b: b.as_ref().map_or_else(|| "nothing".into(), size),
    };
    match (operation, &b) {
        (MatrixOperation::Add, Some(b)) if a.shape() == b.shape() => Ok(written(&(&a + b))),
        (MatrixOperation::Add, _) => Err(sizes("add", "two matrices of one size")),
        (MatrixOperation::Multiply, Some(b)) if a.ncols() == b.nrows() => Ok(written(&(&a * b))),
        (MatrixOperation::Multiply, _) => Err(sizes("multiply", "as many columns in a as rows in b")),
        (MatrixOperation::Transpose, _) => Ok(written(&a.transpose())),
        (MatrixOperation::Solve, Some(b)) if a.nrows() == b.nrows() && a.nrows() >= a.ncols() => solve(&a, b),
        (MatrixOperation::Solve, _) => Err(sizes("solve", "as many rows in b as in a, and no fewer than columns in a")),
        _ if a.nrows() != a.ncols() => Err(sizes("this", "a square matrix")),
        (MatrixOperation::Determinant, _) => Ok(MatrixResult::Number(a.determinant())),
        (MatrixOperation::Inverse, _) => {
            let identity = DMatrix::identity(a.nrows(), a.nrows());
            solve(&a, &identity)
        }
        (MatrixOperation::Eigenvalues, _) => {
            let steps = 100 * a.nrows().max(10);
            let schur = nalgebra::Schur::try_new(a, f64::EPSILON, steps).ok_or(MatrixError::NoConvergence)?;
            let mut values: Vec<[f64; 2]> =
                schur.complex_eigenvalues().iter().map(|value| [value.re, value.im]).collect();
            values.sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
            Ok(MatrixResult::Pairs(values))
        }
    }
}

fn solve(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Result<MatrixResult, MatrixError> {
    least_squares(a, b).map(|solution| written(&solution)).ok_or(MatrixError::Singular)
}

/// The x of the least |A x − b|²; none where the columns of A depend on each other.
fn least_squares(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let svd = a.clone().svd(true, true);
    let (largest, smallest) = (svd.singular_values.max(), svd.singular_values.min());
    if smallest.is_nan() || smallest <= SINGULAR * largest {
        return None;
    }
    svd.solve(b, 0.0).ok()
}

/// A curve with the least squares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Of 1, x and x², in this order.
    pub coefficients: Vec<f64>,
    /// Share of the variance of y that it explains, 0 to 1.
    pub r_squared: f64,
    /// Probability that chance explains as much (F test); 1 where it can't be told.
    pub p: f64,
}

/// The polynomial of `degree` 1 or 2 with the least squares through the points. None for fewer points than coefficients,
/// for unequal lengths, or where x doesn't vary enough.
pub fn fit(x: &[f64], y: &[f64], degree: usize) -> Option<Fit> {
    let n = x.len();
    if n != y.len() || n < degree + 1 || n == 0 || !(1..=2).contains(&degree) {
        return None;
    }
    let (centre, mean) = (super::statistics::mean(x)?, super::statistics::mean(y)?);
    let scale = x.iter().map(|x| (x - centre).abs()).fold(0.0, f64::max);
    if scale.is_nan() || scale <= 0.0 {
        return None;
    }
    // Centred and scaled, so that years and nanoseconds fit as well as small numbers.
    let basis = |x: f64, power: i32| ((x - centre) / scale).powi(power);
    let design = DMatrix::from_fn(n, degree + 1, |row, column| basis(x[row], i32::try_from(column).unwrap_or(0)));
    let solution = least_squares(&design, &DMatrix::from_column_slice(n, 1, y))?;
    let fitted: DVector<f64> = &design * solution.column(0);
    let residual: f64 = fitted.iter().zip(y).map(|(fitted, y)| (fitted - y).powi(2)).sum();
    let total: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let r_squared = if total > 0.0 { (1.0 - residual / total).clamp(0.0, 1.0) } else { 1.0 };
    let (between, within) = (degree as f64, n.saturating_sub(degree + 1) as f64);
    let f = ((total - residual) / between) / (residual / within);
    let p = if total > 0.0 && within > 0.0 { super::statistics::f_tail(f, between, within) } else { 1.0 };
    // Back from u = (x − c)/s: a + b u + d u².
    let (a, b, d) = (solution[0], solution[1] / scale, solution.get(2).map_or(0.0, |d| d / (scale * scale)));
    let mut coefficients = vec![a - b * centre + d * centre * centre, b - 2.0 * d * centre, d];
    coefficients.truncate(degree + 1);
    Some(Fit { coefficients, r_squared, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    fn rows(operation: MatrixOperation, a: &[Vec<f64>], b: Option<&[Vec<f64>]>) -> Vec<Vec<f64>> {
        match compute(operation, a, b).expect("a result") {
            MatrixResult::Rows(rows) => rows,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn matrices_are_computed_as_by_hand() {
        let (a, b) = (vec![vec![1.0, 2.0], vec![3.0, 4.0]], vec![vec![5.0, 6.0], vec![7.0, 8.0]]);
        assert_eq!(rows(MatrixOperation::Multiply, &a, Some(&b)), [[19.0, 22.0], [43.0, 50.0]]);
        assert_eq!(rows(MatrixOperation::Add, &a, Some(&b)), [[6.0, 8.0], [10.0, 12.0]]);
        assert_eq!(rows(MatrixOperation::Transpose, &a, None), [[1.0, 3.0], [2.0, 4.0]]);
        let Ok(MatrixResult::Number(determinant)) = compute(MatrixOperation::Determinant, &a, None) else { panic!() };
        near(determinant, -2.0);
        let inverse = rows(MatrixOperation::Inverse, &a, None);
        for (found, expected) in inverse.iter().flatten().zip([-2.0, 1.0, 1.5, -0.5]) {
            near(*found, expected);
        }
        let solution = rows(MatrixOperation::Solve, &a, Some(&[vec![5.0], vec![11.0]]));
        near(solution[0][0], 1.0);
        near(solution[1][0], 2.0);
        let Ok(MatrixResult::Pairs(values)) = compute(MatrixOperation::Eigenvalues, &a, None) else { panic!() };
        near(values[0][0], (5.0 + 33f64.sqrt()) / 2.0);
        let turn = [vec![0.0, -1.0], vec![1.0, 0.0]];
        let Ok(MatrixResult::Pairs(values)) = compute(MatrixOperation::Eigenvalues, &turn, None) else { panic!() };
        near(values[0][1], 1.0);
    }

    #[test]
    fn what_does_not_fit_says_so() {
        let (a, wide) = (vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![vec![1.0, 2.0, 3.0]]);
        assert_eq!(compute(MatrixOperation::Inverse, &a, None), Err(MatrixError::Singular));
        let error = compute(MatrixOperation::Add, &a, Some(&wide)).expect_err("other sizes");
        assert_eq!(error.to_string(), "add needs two matrices of one size, got 2×2 and 1×3");
        assert!(compute(MatrixOperation::Determinant, &wide, None).is_err());
        assert!(matches!(compute(MatrixOperation::Transpose, &[], None), Err(MatrixError::Shape("a"))));
        let ragged = [vec![1.0], vec![1.0, 2.0]];
        assert!(matches!(compute(MatrixOperation::Transpose, &ragged, None), Err(MatrixError::Shape("a"))));
    }

    #[test]
    fn curves_fit_with_their_share_of_the_variance() {
        // By hand: b = 6/10, a = 4 − 0.6·3, R² = 3.6/6.
        let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 5.0, 4.0, 5.0]);
        let line = fit(&x, &y, 1).expect("a line");
        near(line.coefficients[0], 2.2);
        near(line.coefficients[1], 0.6);
        near(line.r_squared, 0.6);
        near(line.p, super::super::statistics::correlation_p(0.6f64.sqrt(), 5));
        let far: Vec<f64> = (0..20).map(|n| 1.7e9 + f64::from(n)).collect();
        let parabola: Vec<f64> = far.iter().map(|x| 3.0 + 2.0 * (x - 1.7e9) - 0.5 * (x - 1.7e9).powi(2)).collect();
        let fitted = fit(&far, &parabola, 2).expect("a parabola");
        near(fitted.coefficients[2], -0.5);
        assert!(fitted.r_squared > 0.999_999 && fitted.p < 1e-12, "{fitted:?}");
        assert_eq!(fit(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0], 1), None);
        assert_eq!(fit(&x, &y, 3), None);
        assert_eq!(fit(&x[..2], &y[..2], 2), None);
    }
}
