//! Which runs to list, and how to ask for them.

use crate::value::Value;
use types::{Device, Mode, Precision};

/// Which runs to list; empty means all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// A part of the model's name, or a pattern with `*` and `?` for the whole name; case does not matter.
    pub model: Option<String>,
    /// The engine's id.
    pub engine: Option<String>,
    /// The device.
    pub device: Option<Device>,
    /// The number format.
    pub precision: Option<Precision>,
    /// Inference or training.
    pub mode: Option<Mode>,
    /// Samples in one inference.
    pub batch_size: Option<usize>,
    /// The beginning of the machine's key, or its host name.
    pub machine: Option<String>,
    /// Only valid or only invalid runs.
    pub valid: Option<bool>,
    /// A label.
    pub tag: Option<String>,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The beginning of the commit that was checked out.
    pub commit: Option<String>,
    /// Begun at or after, in microseconds since the epoch.
    pub since: Option<i64>,
    /// Begun before, in microseconds since the epoch.
    pub until: Option<i64>,
    /// At most so many.
    pub limit: Option<u64>,
    /// So many of the newest are passed over.
    pub offset: u64,
}

/// The `WHERE` clause and its values, in order.
pub(crate) fn conditions(filter: &Filter) -> (String, Vec<Value<'static>>) {
    let mut clauses: Vec<String> = Vec::new();
    let mut values: Vec<Value<'static>> = Vec::new();
    let mut add = |clause: &str, value: Value<'static>| {
        values.push(value);
        clauses.push(clause.replace("{}", &format!("${}", values.len())));
    };
    if let Some(model) = &filter.model {
        add(
            r"model IN (SELECT key FROM model WHERE LOWER(name) LIKE {} ESCAPE '\')",
            Value::from(pattern(model)),
        );
    }
    if let Some(engine) = &filter.engine {
        add("engine IN (SELECT key FROM engine WHERE id = {})", Value::from(engine.clone()));
    }
    // The plus keeps the index by cell out of it: most runs share a device, and the index by time ends sooner.
    if let Some(device) = filter.device {
        add("+cell IN (SELECT key FROM cell WHERE device = {})", Value::from(device.to_string()));
    }
    if let Some(precision) = filter.precision {
        add("+cell IN (SELECT key FROM cell WHERE precision = {})", Value::from(precision.name()));
    }
    if let Some(mode) = filter.mode {
        add("+cell IN (SELECT key FROM cell WHERE mode = {})", Value::from(mode.name()));
    }
    if let Some(batch_size) = filter.batch_size {
        add("+cell IN (SELECT key FROM cell WHERE batch_size = {})", Value::from(batch_size));
    }
    if let Some(machine) = &filter.machine {
        add(
            "machine IN (SELECT key FROM machine WHERE SUBSTR(LOWER(key), 1, LENGTH({})) = {} \
             OR LOWER(hostname) = {})",
            Value::from(machine.to_ascii_lowercase()),
        );
    }
    if let Some(valid) = filter.valid {
        add("valid = {}", Value::from(valid));
    }
    if let Some(tag) = &filter.tag {
        add("id IN (SELECT run FROM tag WHERE tag = {})", Value::from(tag.clone()));
    }
    if let Some(branch) = &filter.branch {
        add("id IN (SELECT run FROM revision WHERE branch = {})", Value::from(branch.clone()));
    }
    if let Some(commit) = &filter.commit {
        let beginning = format!("{}%", escape(&commit.to_ascii_lowercase()));
        add(
            r"id IN (SELECT run FROM revision WHERE hash LIKE {} ESCAPE '\')",
            Value::from(beginning),
        );
    }
    if let Some(since) = filter.since {
        add("started_at >= {}", Value::from(since));
    }
    if let Some(until) = filter.until {
        add("started_at < {}", Value::from(until));
    }
    if clauses.is_empty() {
        return (String::new(), values);
    }
    (format!(" WHERE {}", clauses.join(" AND ")), values)
}

/// What a person types for a model, as a pattern of SQL: a part of the name, or the whole with `*` and `?`.
fn pattern(model: &str) -> String {
    let escaped = escape(&model.to_ascii_lowercase());
    if model.contains(['*', '?']) {
        escaped.replace('*', "%").replace('?', "_")
    } else {
        format!("%{escaped}%")
    }
}

/// Takes their meaning from the characters that mean something in a pattern.
fn escape(text: &str) -> String {
    text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_")
}
