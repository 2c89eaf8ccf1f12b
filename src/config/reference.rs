//! The guide's page of the configuration, made of the sections that the program reads.

use std::fmt::Write;

use maxim_actors::effectors::tool_servers::ServerKeys;

use super::shape::{Reads as _, to_toml};
use super::{Field, Section, Shape, find, sections};
use crate::guide::{cell, code, holds};

const HEAD: &str = "\
# Configuration

This page is generated from the code, and a test compares them. Write a file with every key and its default by
`maxim config init`. Ask about one key, or about a section, by `maxim config explain KEY`.

Layers, weakest first: built-in values, `/etc/maxim/maxim.toml`, `$XDG_CONFIG_HOME/maxim/maxim.toml`, `./maxim.toml`
or `--config FILE`, variables such as `MAXIM__GATEWAY__CREDIT`, flags. A key that nobody knows is an error that names
the nearest known one.
";

fn page() -> String {
    let mut text = HEAD.to_owned();
    for section in sections() {
        write_section(&mut text, section, section.name);
    }
    write_section(&mut text, &ServerKeys::SECTION, "mcp.NAME");
    text
}

fn write_section(text: &mut String, section: &Section, name: &str) {
    let _ = write!(text, "\n## `[{name}]`\n\n{}\n\n", section.about());
    text.push_str("| key | meaning | takes | default |\n|---|---|---|---|\n");
    for field in section.fields {
        let unit = if field.unit.is_empty() || matches!(field.shape, Shape::Span { .. } | Shape::Size { .. }) {
            String::new()
        } else {
            format!("; unit: {}", field.unit)
        };
        let takes = format!("{}{unit}", field.shape.takes());
        let _ =
            writeln!(text, "| `{}` | {} | {} | {} |", field.name, cell(&field.meaning()), cell(&takes), default(field));
    }
}

fn default(field: &Field) -> String {
    match (&field.shape, field.default) {
        (Shape::Secret, _) | (_, "") if field.is_optional() => "not set".into(),
        _ => field.read(field.default).map_or_else(String::new, |value| format!("`{}`", cell(&to_toml(&value)))),
    }
}

#[test]
fn the_guides_page_of_the_configuration_is_what_the_program_reads() {
    holds("configuration.md", &page());
}

#[test]
fn every_key_that_the_documents_name_exists() {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let mut named = 0;
    for (file, piece) in code() {
        let key = piece.split([' ', '=']).next().unwrap_or_default();
        let Some((section, name)) = key.split_once('.').filter(|(section, name)| is_word(section) && is_word(name))
        else {
            continue;
        };
        // Some files have names like keys, such as `stop.request`.
        if sections().any(|known| known.name == section) && !["toml", "rs", "md", "request"].contains(&name) {
            assert!(find(key).is_some(), "{file} names {key}, which is no key");
            named += 1;
        }
    }
    assert!(named > 30, "{named} keys were found in the documents");
}
