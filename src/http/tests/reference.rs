//! The guide's page of the HTTP door, made of the table that the router is made of.

use std::fmt::Write;

use super::super::fields::Field;
use super::super::routes::{Access, Body, ROUTES, Route};
use crate::guide::{cell, holds};

const HEAD: &str = "\
# HTTP

This page is generated from the table of routes, and a test compares them. The running daemon serves the same as an
OpenAPI document: `GET /v1/openapi.json`.

Send the token as `Authorization: Bearer TOKEN`; `maxim token` prints it. Every path may also answer 401 (no token, or
a wrong one), 403 (not from here), 404, 405 and 429. Errors are problem documents (RFC 9457) with a `fix`. Fields that
nobody knows are refused with their name. [Bounds](../../bounds.md) says how long a field may be.
";

fn page() -> String {
    let mut text = HEAD.to_owned();
    for route in ROUTES {
        write_route(&mut text, route);
    }
    text
}

fn write_route(text: &mut String, route: &Route) {
    let _ = write!(text, "\n## `{} {}`\n\n{}. ", route.method.to_uppercase(), route.path, cell(route.summary));
    let _ = writeln!(text, "{}", who(route.access));
    write_fields(text, "Query", route.query);
    match route.body {
        Body::None => {}
        Body::Object(fields) => write_fields(text, "Body, JSON", fields),
        Body::Schema(_) => text.push_str("\nBody: JSON; its schema is in the OpenAPI document.\n"),
        Body::Lines => text.push_str("\nBody: JSON lines.\n"),
        Body::Signed => text.push_str("\nBody: as the provider signs it.\n"),
    }
    let answers: Vec<String> =
        route.answers.iter().map(|(status, meaning)| format!("- {status}: {}", cell(meaning))).collect();
    let _ = write!(text, "\n{}\n", answers.join("\n"));
}

fn who(access: Access) -> &'static str {
    match access {
        Access::Owner => "For the owner.",
        Access::Stop => "For every program of this machine; from elsewhere for the owner.",
        Access::Page => "Without a token.",
        Access::Probe => "For everybody.",
        Access::Signed => "For providers, by their signature.",
    }
}

fn write_fields(text: &mut String, title: &str, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    let _ = write!(text, "\n| {title} | takes | meaning |\n|---|---|---|\n");
    for field in fields {
        let needed = if field.is_required { " (needed)" } else { "" };
        let _ = writeln!(text, "| `{}`{needed} | {} | {} |", field.name, cell(&field.expected()), cell(field.meaning));
    }
}

#[test]
fn the_guides_page_of_the_http_door_is_what_is_served() {
    holds("http.md", &page());
}
