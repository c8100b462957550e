//! Machines: what they are, what they can do at best, how noisy they are.

use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    request::Request,
};
use page::Html;
use report::CeilingsView;
use store::Store;
use types::Machine;

pub(crate) fn page(app: &App, _: &Request) -> Result<View, Refusal> {
    let mut html = Html::default();
    frame::hero(
        &mut html,
        "Machines",
        "Measured ceilings and noise of every machine in the database.",
    );
    if !app.stores.is_there() {
        frame::nothing(
            &mut html,
            "Nothing is stored yet.",
            "`modelmeter calibrate` measures this machine.",
        );
        return Ok(view(html));
    }
    app.stores.with(|store| {
        let machines = store.all_machines()?;
        let machines: Vec<&Machine> =
            machines.iter().filter(|one| !Machine::is_imported_key(&one.key)).collect();
        if machines.is_empty() {
            frame::nothing(
                &mut html,
                "No machine is known yet.",
                "`modelmeter calibrate` measures this one.",
            );
        }
        for machine in machines {
            html.open("section", &[("class", "card machine")]);
            one(&mut html, store, machine)?;
            html.close("section");
        }
        Ok(view(html))
    })
}

fn one(html: &mut Html, store: &Store, machine: &Machine) -> Result<(), Refusal> {
    html.inside("h2", &[], |html| html.element("bdi", &[], &report::clean(&machine.hostname)));
    let cpu = &machine.cpu;
    // A browser tells the number of cores and nothing else of its processor.
    let words = [report::clean(cpu.model.trim()), format!("{} cores", cpu.cores)];
    let words: Vec<String> = words.into_iter().filter(|text| !text.is_empty()).collect();
    let mut facts =
        vec![("processor", words.join(", ")), ("memory", report::bytes(machine.memory.0))];
    for gpu in &machine.gpus {
        facts.push(("gpu", report::clean(&gpu.name)));
    }
    if let Some(hypervisor) = &machine.hypervisor {
        facts.push(("virtual on", report::clean(hypervisor)));
    }
    facts.push(("key", machine.key.clone()));
    html.open("dl", &[("class", "facts")]);
    for (label, text) in facts {
        html.open("div", &[]);
        html.element("dt", &[], label);
        html.element("dd", &[], &text);
        html.close("div");
    }
    html.close("dl");
    let ceilings = store.all_ceilings(&machine.key)?;
    // No command runs in the browser of another device.
    let is_browser = Machine::is_browser_key(&machine.key);
    if ceilings.is_empty() && !is_browser {
        frame::nothing(
            html,
            "Its ceilings are not known.",
            "`modelmeter calibrate` measures them there.",
        );
    }
    for standing in &ceilings {
        let view = CeilingsView { machine, standing, measured: None, stored: Some(store.path()) };
        fold(html, &report::ceilings_document(&view));
    }
    let noise = store.noise(&machine.key)?;
    match noise.split_first() {
        Some((newest, earlier)) => fold(html, &report::noise_document(newest, earlier)),
        None if is_browser => {}
        None => {
            frame::nothing(html, "Its noise is not known.", "`modelmeter noise` measures it there.")
        }
    }
    Ok(())
}

/// A result behind its title.
fn fold(html: &mut Html, document: &report::ResultDocument) {
    let title: Vec<String> =
        document.title.iter().chain(&document.facts).map(|text| report::clean(text)).collect();
    html.open("details", &[("open", "")]);
    html.element("summary", &[], &title.join(" · "));
    let inner = report::ResultDocument { title: Vec::new(), facts: Vec::new(), ..document.clone() };
    html.append(page::result_section(&inner));
    html.close("details");
}

fn view(body: Html) -> View {
    View { name: "Machines", title: "Machines".into(), body, follows: Follows::Data }
}
