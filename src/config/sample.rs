//! The sample file: every key with its meaning and default.

use std::fmt::Write;

use maxim_actors::effectors::tool_servers::ServerKeys;

use super::shape::{Reads as _, to_toml};
use super::{Field, Shape, sections};

const HEAD: &str = "\
# The configuration of Maxim. Every key is here with its default; those without one are commented out.
#
# Layers, weakest first: built-in, /etc/maxim/maxim.toml, $XDG_CONFIG_HOME/maxim/maxim.toml, ./maxim.toml (or
# --config FILE), MAXIM__SECTION__KEY, flags. `maxim config explain KEY` says which one won.
";

const WIDTH: usize = 110;

/// The text of the sample file, as `maxim config init` writes it.
pub fn sample() -> String {
    let mut text = HEAD.to_owned();
    for section in sections() {
        text.push('\n');
        comment(&mut text, &section.about());
        let _ = writeln!(text, "[{}]", section.name);
        for field in section.fields {
            text.push('\n');
            write_field(&mut text, field);
        }
    }
    // There is one section per server, so the sample has none.
    text.push('\n');
    comment(&mut text, &ServerKeys::SECTION.about());
    text.push_str("# [mcp.NAME]\n");
    for field in ServerKeys::SECTION.fields {
        let mut lines = String::from("\n");
        write_field(&mut lines, field);
        for line in lines.lines() {
            let line = if line.starts_with('#') || line.is_empty() { line.to_owned() } else { format!("# {line}") };
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

fn write_field(text: &mut String, field: &Field) {
    comment(text, &field.meaning());
    let unit = if field.unit.is_empty() { String::new() } else { format!("Unit: {}. ", field.unit) };
    comment(text, &format!("{unit}Takes {}.", field.shape.takes()));
    let _ = match (&field.shape, field.default) {
        (Shape::Secret, _) => writeln!(text, "# {} comes only from {}", field.name, field.variable()),
        (_, "") if field.is_optional() => writeln!(text, "# {} =", field.name),
        _ => {
            let value = field.read(field.default).map_or_else(String::new, |value| to_toml(&value));
            writeln!(text, "{} = {value}", field.name)
        }
    };
}

fn comment(text: &mut String, sentence: &str) {
    let mut line = String::from("#");
    for word in sentence.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Places, Settings, fields, load};

    const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/maxim.toml");

    #[test]
    fn the_shipped_sample_is_complete_and_true() {
        if std::env::var_os("UPDATE_SAMPLE").is_some() {
            std::fs::write(SHIPPED, sample()).expect("written");
        }
        let shipped = std::fs::read_to_string(SHIPPED).expect("deploy/maxim.toml");
        assert!(shipped == sample(), "deploy/maxim.toml is out of date: run this test with UPDATE_SAMPLE=1");
        let places = Places { named: Some(SHIPPED.into()), ..Places::nowhere() };
        let loaded = load(&places, &[]).expect("the sample is valid");
        assert_eq!(loaded.settings, Settings::default());
        for key in loaded.explain_all() {
            let is_written = key.layer == SHIPPED;
            assert_eq!(is_written, !key.default.is_empty() || key.value.is_array(), "{} stands in the sample", key.key);
        }
        assert!(fields().all(|field| shipped.contains(&format!("{} ", field.name))));
    }
}
