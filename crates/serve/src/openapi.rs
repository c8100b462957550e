//! Every address as an OpenAPI document, made from the list that answers.

use crate::{routes::ROUTES, views::api::parameters};
use serde_json::{Map, Value, json};

/// The document; `base` is what a proxy puts before every path.
#[must_use]
pub fn document(base: &str) -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let mut known: Vec<Value> = Vec::new();
        for part in
            route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        {
            known.push(json!({ "name": part, "in": "path", "required": true, "schema": { "type": "string" } }));
        }
        for name in parameters(route.path) {
            known.push(json!({ "name": name, "in": "query", "schema": { "type": "string" } }));
        }
        let kind = match route.path {
            "/events" => "text/event-stream",
            "/metrics" => "text/plain",
            path if path.ends_with("/flamegraph") => "image/svg+xml",
            path if path.starts_with("/api") => "application/json",
            path if path.starts_with("/assets") => "*/*",
            _ => "text/html",
        };
        // The schema itself is published, and `modelmeter schema` prints it.
        let schema = match route.document {
            Some(name) => json!({ "type": "object", "title": name }),
            None => json!({}),
        };
        let operation = json!({
            "summary": route.about,
            "parameters": known,
            "responses": {
                "200": { "description": "the answer", "content": { kind: { "schema": schema } } },
                "default": { "description": "a refusal: `modelmeter.refusal/1`; a page for browsers" },
            },
        });
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        entry[route.method.to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "modelmeter serve",
            "version": modelmeter::VERSION,
            "description": "Stored runs and running measurements. Documents are those of the command line.",
        },
        "servers": [{ "url": if base.is_empty() { "/" } else { base } }],
        "security": [{ "bearer": [] }, { "cookie": [] }],
        "components": { "securitySchemes": {
            "bearer": { "type": "http", "scheme": "bearer" },
            "cookie": { "type": "apiKey", "in": "cookie", "name": "modelmeter-7117" },
        } },
        "paths": paths,
    })
}
