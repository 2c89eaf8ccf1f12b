//! Results in the XML that continuous integration reads.

use std::fmt::Write;

use super::Checked;

/// A suite for each scenario, by name and with its checks.
pub fn junit(scenarios: &[(String, Vec<Checked>)]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (name, checked) in scenarios {
        let failures = checked.iter().filter(|checked| !checked.holds).count();
        let name = escaped(name);
        let _ = writeln!(xml, "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\">", checked.len());
        for Checked { expectation, holds, found } in checked {
            let case = format!("    <testcase classname=\"{name}\" name=\"{}\"", escaped(expectation));
            let _ = match holds {
                true => writeln!(xml, "{case}/>"),
                false => writeln!(xml, "{case}><failure message=\"found {}\"/></testcase>", escaped(found)),
            };
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Escapes text for an attribute; characters that XML can't hold are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_can_hold_anything() {
        let checked = |holds, found: &str| Checked { expectation: "tool_used <a>".into(), holds, found: found.into() };
        let xml = junit(&[("a \"b\"".into(), vec![checked(true, ""), checked(false, "1 < 2 & \"x\"\n\u{1}")])]);
        assert!(xml.contains("<testsuite name=\"a &quot;b&quot;\" tests=\"2\" failures=\"1\">"), "{xml}");
        assert!(xml.contains("<failure message=\"found 1 &lt; 2 &amp; &quot;x&quot; \"/>"), "{xml}");
        assert_eq!(xml.matches("tool_used &lt;a&gt;").count(), 2);
    }
}
