//! Telling another program that a measurement ended or died.

use crate::{
    app::App,
    documents::{MEASUREMENT_SCHEMA, MeasurementDocument},
};
use live::{Activity, State};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);

/// Who is told: a sentence, and the same for programs.
pub type Hook = Box<dyn Fn(&str, &Value) + Send>;

/// Looks until the server is gone. What ended before is not told.
pub(crate) fn start(app: &Arc<App>, hook: Hook) -> std::io::Result<()> {
    let app = Arc::downgrade(app);
    thread::Builder::new().name("hook".into()).spawn(move || look(&app, &hook)).map(drop)
}

fn look(app: &Weak<App>, hook: &Hook) {
    let mut known: HashMap<String, State> = HashMap::new();
    let mut is_first = true;
    while let Some(app) = app.upgrade() {
        let activities = {
            let mut live = app.live();
            live.listen();
            live.activities()
        };
        for one in &activities {
            let before = known.insert(one.id.clone(), one.state);
            // What is not known yet began, and may have ended, since the last look.
            let was_running = before.map_or(!is_first, |state| state == State::Running);
            if was_running && one.state != State::Running {
                let (text, document) = told(one);
                hook(&text, &document);
            }
        }
        is_first = false;
        drop(app);
        thread::sleep(LOOK);
    }
}

fn told(one: &Activity) -> (String, Value) {
    let what = match (&one.plan, &one.cell) {
        (Some(plan), _) => format!("plan {}", plan.name),
        (None, Some(cell)) => cell.model.clone(),
        (None, None) => String::new(),
    };
    let (kind, how) = match (one.state, one.exit) {
        (State::Lost, _) => ("lost", "is gone without a word".to_owned()),
        (_, Some(0)) => ("finished", "finished".to_owned()),
        (_, exit) => ("failed", format!("ended with code {}", exit.unwrap_or_default())),
    };
    let runs = match one.run_count {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    };
    let text = report::clean(&format!("{} {what} {how}; {runs}", one.command));
    let document = report::to_json(&MeasurementDocument {
        schema: MEASUREMENT_SCHEMA,
        text: &text,
        kind,
        command: &one.command,
        pid: one.pid,
        exit: one.exit,
        runs: &one.runs,
        failures: &one.failures,
    });
    (text, document)
}
