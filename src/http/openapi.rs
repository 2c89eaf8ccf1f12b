//! `GET /v1/openapi.json`: the API's description, made from the router's own table.

use serde_json::{Map, Value, json};

use super::fields::{Field, Kind};
use super::problem::{Answer, ok};
use super::routes::{Access, Body, ROUTES, Route};

/// `GET /v1/openapi.json`.
pub async fn openapi() -> Answer {
    ok(&document())
}

/// The whole description, OpenAPI 3.1.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Maxim",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Errors are problem documents (RFC 9457). Unknown fields are refused with their name.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer",
                "description": "What `maxim token` prints, or the key of a session of the page. Needed unless http.open is set.",
            }},
            "schemas": {"Problem": problem_schema()},
        },
        "security": [{"bearer": []}],
    })
}

fn problem_schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "fix"],
        "properties": {
            "type": text, "title": text, "status": {"type": "integer"}, "detail": text,
            "fix": {"type": "string", "description": "what the caller can do"},
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = route.query.iter().map(|field| parameter(field, "query")).collect();
    if route.path.contains("{id}") {
        parameters.push(json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}));
    }
    let mut responses = Map::new();
    for (status, meaning) in route.answers {
        let mut response = json!({"description": meaning});
        if *status >= 400 && route.path != "/readyz" {
            let schema = json!({"$ref": "#/components/schemas/Problem"});
            response["content"] = json!({"application/problem+json": {"schema": schema}});
        }
        responses.insert(status.to_string(), response);
    }
    let mut operation = json!({"summary": route.summary, "responses": responses});
    match route.access {
        Access::Owner => {}
        // From this machine it needs none.
        Access::Stop => operation["security"] = json!([{}, {"bearer": []}]),
        Access::Page | Access::Probe | Access::Signed => operation["security"] = json!([]),
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    match route.body {
        Body::None => {}
        Body::Object(fields) => operation["requestBody"] = object_body(fields),
        Body::Schema(schema) => {
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema()}}});
        }
        Body::Signed => {
            operation["requestBody"] = json!({"required": true, "content": {"*/*": {"schema": {}}}});
        }
        Body::Lines => {
            operation["requestBody"] = json!({"content": {"application/x-ndjson": {"schema": {"type": "string"}}}});
        }
    }
    operation
}

fn parameter(field: &Field, place: &str) -> Value {
    let mut parameter =
        json!({"name": field.name, "in": place, "required": field.is_required, "schema": field.schema()});
    if matches!(field.kind, Kind::Wholes(..)) {
        parameter["explode"] = false.into();
    }
    parameter
}

fn object_body(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    json!({"required": !required.is_empty(), "content": {"application/json": {"schema": schema}}})
}
