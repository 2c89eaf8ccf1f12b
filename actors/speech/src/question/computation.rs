//! Questions that are sums: "what is 6 * 7?".

use maxim_language::numbers::arithmetic::is_expression;

/// The expression in "what is 6 * 7?" or in "6 * 7".
pub fn computation(text: &str) -> Option<String> {
    const LEADS: [&str; 5] = ["what is ", "what's ", "whats ", "how much is ", "how many is "];
    let text = text.trim().trim_end_matches(['?', '=', '.', ' ']);
    let lower = text.to_lowercase();
    let lead = LEADS.iter().find(|lead| lower.starts_with(**lead)).map_or(0, |lead| lead.len());
    // Outside of ASCII, lower case may have another length.
    let expression = text.get(lead..)?.trim();
    // A number or a name alone is no question.
    let computes =
        |text: &str| text.contains(|c: char| c.is_ascii_digit()) && text.contains(['+', '*', '/', '^', '%', '-']);
    (is_expression(expression) && (lead > 0 || computes(expression))).then(|| expression.to_owned())
}

#[cfg(test)]
mod tests {
    use super::computation;

    #[test]
    fn sums_are_told_from_other_questions() {
        assert_eq!(computation("What is 6 * 7?").as_deref(), Some("6 * 7"));
        assert_eq!(computation("6*7=").as_deref(), Some("6*7"));
        for other in ["42", "what is my name?", "a - b", ""] {
            assert_eq!(computation(other), None, "{other}");
        }
    }
}
