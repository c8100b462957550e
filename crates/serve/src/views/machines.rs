//! Machines: what they are, what they can do at best, how noisy they are.

use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    request::Request,
};
use page::Html;
use report::{CeilingsView, ResultDocument};
use std::collections::BTreeSet;
use store::Store;
use types::Machine;

pub(crate) fn page(app: &App, _: &Request) -> Result<View, Refusal> {
    let mut html = Html::default();
    frame::hero(
        &mut html,
        "Machines",
        "Devices of every machine in the database, what they can do at best, and how noisy they are.",
    );
    if !app.stores.is_there() {
        frame::nothing(
            &mut html,
            "Nothing is stored yet.",
            "`modelmeter calibrate` measures this machine.",
        );
        return Ok(view(html));
    }
    let here = hardware::machine();
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
            one(&mut html, store, machine, &here)?;
            html.close("section");
        }
        Ok(view(html))
    })
}

/// What does not change with a reboot, beside the devices.
fn facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let cpu = &machine.cpu;
    let threads = format!("{} logical processors", cpu.threads);
    let nodes = format!("{} NUMA nodes", cpu.numa_nodes);
    let cache = cpu.cache.map(|size| format!("{} last cache", report::bytes(size.0)));
    let words = [
        Some(report::clean(cpu.model.trim())),
        Some(report::clean(&cpu.architecture)),
        (cpu.threads > 0).then_some(threads),
        (cpu.numa_nodes > 1).then_some(nodes),
        cache,
    ];
    let words: Vec<String> = words.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let mut facts = vec![("processor", words.join(", "))];
    if !cpu.features.is_empty() {
        facts.push(("vector units", report::clean(&cpu.features.join(" "))));
    }
    let mut system = report::clean(&machine.os);
    if let Some(hypervisor) = &machine.hypervisor {
        system += &format!(", virtual on {}", report::clean(hypervisor));
    }
    facts.push(("system", system));
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

fn one(html: &mut Html, store: &Store, machine: &Machine, here: &Machine) -> Result<(), Refusal> {
    let is_here = machine.key == here.key;
    html.open("h2", &[]);
    html.element("bdi", &[], &report::clean(&machine.hostname));
    if is_here {
        html.text(" ");
        html.element("span", &[("class", "pill busy")], "this machine");
    }
    html.close("h2");
    let ceilings = store.all_ceilings(&machine.key)?;
    // In the browser of another device no command runs, and a page learns nothing of its processors.
    let is_browser = Machine::is_browser_key(&machine.key);
    if !is_browser {
        html.append(page::result_section(&ResultDocument {
            blocks: vec![report::machine_devices(machine, &ceilings)],
            ..ResultDocument::default()
        }));
    }
    let mut facts = facts(machine);
    if is_here {
        let drivers =
            hardware::devices().into_iter().filter_map(|one| Some((one.driver?, one.note)));
        let drivers: BTreeSet<String> = drivers
            .map(
                |(driver, note)| if note.is_empty() { driver } else { format!("{driver}, {note}") },
            )
            .collect();
        facts.extend(drivers.into_iter().map(|driver| ("driver", report::clean(&driver))));
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
