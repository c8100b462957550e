//! The newest numbers for Prometheus, with the names of docs/TREND.md, and what only a server knows.

use crate::{
    answer::{Answer, METRICS, Refusal},
    app::App,
    leases,
    request::Request,
};
use live::State;
use modelmeter::Survey;
use std::fmt::Write;
use store::{CellState, Filter};

pub(crate) fn metrics(app: &App, _: &Request) -> Result<Answer, Refusal> {
    let mut text = String::new();
    head(&mut text, "modelmeter_build_info", "The program that answers.");
    let _ = writeln!(text, "modelmeter_build_info{{version=\"{}\"}} 1", modelmeter::VERSION);
    let running = {
        let mut live = app.live();
        live.listen();
        live.activities().iter().filter(|one| one.state == State::Running).count()
    };
    head(&mut text, "modelmeter_measuring", "Processes of this user that measure now.");
    let _ = writeln!(text, "modelmeter_measuring {running}");
    // Without a database there is nothing stored, which is no error.
    if app.stores.is_there() {
        text += &app.stores.with(|store| {
            let mut text = String::new();
            head(&mut text, "modelmeter_stored_runs", "Runs in the database, by validity.");
            for valid in [true, false] {
                let filter = Filter { valid: Some(valid), ..Filter::default() };
                let _ = writeln!(
                    text,
                    "modelmeter_stored_runs{{valid=\"{valid}\"}} {}",
                    store.count(&filter)?
                );
            }
            let plans = leases::progress(store)?;
            if !plans.is_empty() {
                head(&mut text, "modelmeter_cell_state", "Cells of a plan, by state.");
            }
            for plan in &plans {
                let counts = [plan.waiting, plan.leased, plan.done, plan.failed];
                for (state, count) in CellState::ALL.iter().zip(counts) {
                    let name = report::clean(&plan.plan).replace('\\', "\\\\").replace('"', "\\\"");
                    let state = state.name();
                    let _ = writeln!(
                        text,
                        "modelmeter_cell_state{{plan=\"{name}\",state=\"{state}\"}} {count}"
                    );
                }
            }
            match (Survey { include_invalid: false, ..Survey::default() }).analyse(store) {
                Ok(analysis) => text += &report::prometheus(&analysis, None),
                // No run that could be told of.
                Err(modelmeter::Error::NoRuns) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(text)
        })?;
    }
    Ok(Answer::new(METRICS, text))
}

fn head(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
}
