//! Any JSON as an indented outline, for people.

use serde_json::Value;

use super::table::printable;

/// An outline of `value`; each line is indented by `depth` steps of two blanks.
pub fn tree(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| match member {
                Value::Object(_) | Value::Array(_) if !is_flat(member) => {
                    format!("{indent}{}:\n{}", printable(name), tree(member, depth + 1))
                }
                _ => format!("{indent}{}: {}\n", printable(name), flat(member)),
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::Object(_) | Value::Array(_) if !is_flat(item) => {
                    let text = tree(item, depth + 1);
                    let start = indent.len() + 2;
                    format!("{indent}- {}", text.get(start..).unwrap_or_default())
                }
                _ => format!("{indent}- {}\n", flat(item)),
            })
            .collect(),
        _ => format!("{indent}{}\n", flat(value)),
    }
}

/// True for what fits on one line: a single value, or a list of single values.
fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => !items.iter().any(|item| item.is_object() || item.is_array()),
        _ => true,
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => printable(text),
        Value::Array(items) if items.is_empty() => "-".into(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join(", "),
        Value::Object(_) => "-".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_values_become_an_outline() {
        let value = json!({"a": 1, "b": [{"c": "x\ny", "d": null}, {"c": [1, 2]}], "e": {"f": true}, "g": {}});
        assert_eq!(tree(&value, 0), "a: 1\nb:\n  - c: x y\n    d: -\n  - c: 1, 2\ne:\n  f: true\ng: -\n");
    }
}
