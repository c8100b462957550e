//! Views of `serve` that need more than runs: the layers of one, the cells that others measure, GPUs.

use crate::{
    bench::{Home, quick},
    browser::Browser,
    postgresql::SHARED,
    serve::{Served, WIDE, begin, foreign, look_after, serve, soon},
    survey::{home_with, json, run},
};
use modelmeter::{Device, Run, Store};
use serde_json::Value;
use std::{fs, process::Stdio, time::Duration};
use types::{
    Bytes, Ceiling, Ceilings, CopyCeiling, CopyDirection, CopyMemory, Gpu, Interval, Precision,
};

const TRACE: &str = "[...document.querySelectorAll('.bar-of-tabs label')].find((one) => one.textContent === 'Trace').click()";

#[test]
fn the_layers_of_a_run_are_a_flame_graph_that_zooms_and_files_for_others() {
    let home = Home::calibrated();
    home.fine(&quick("small-transformer", &["--layers"]));
    home.fine(&quick("feed-forward-baseline", &[]));
    let served = serve(&home, &[]);
    let runs = json(&served.get("/api/runs").body);
    let id = |model: &str| {
        let rows = runs["runs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["model"] == model).unwrap_or(&rows[0]);
        row["id"].as_str().unwrap().to_owned()
    };
    let (profiled, plain) = (id("small-transformer"), id("feed-forward-baseline"));
    assert_ne!(profiled, plain, "{runs}");

    // The files: as many spans as modules, and none where no layer was looked at.
    let shown = json(&served.get(&format!("/api/runs/{profiled}")).body);
    let layers = shown["layers"]["layers"].as_array().unwrap().len();
    let trace = served.get(&format!("/api/runs/{profiled}/trace"));
    let kept = trace.header("content-disposition").unwrap();
    assert!(kept.starts_with("attachment; filename=\"trace-"), "{kept}");
    let trace = json(&trace.body);
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), layers + 1);
    assert_eq!(trace["otherData"]["run"], Value::from(profiled.clone()));
    let speedscope = json(&served.get(&format!("/api/runs/{profiled}/speedscope")).body);
    assert_eq!(speedscope["profiles"][0]["type"], "sampled", "{speedscope}");
    let svg = served.get(&format!("/api/runs/{profiled}/flamegraph"));
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    assert!(svg.body.starts_with("<svg"), "{}", svg.body);
    for name in ["trace", "speedscope", "flamegraph"] {
        let refused = served.get(&format!("/api/runs/{plain}/{name}"));
        assert_eq!(refused.status, 404, "{name}");
        assert!(refused.body.contains("--layers"), "{}", refused.body);
    }
    let page = served.get(&format!("/runs/{plain}")).body;
    assert!(!page.contains("class=\"flame\"") && page.contains("--trace trace.json"), "{page}");

    // The page: a click makes a frame as wide as the picture, a search dims the others.
    let mut browser = Browser::start();
    browser.visit(&served.page, WIDE, "light");
    let address = served.address(&format!("/runs/{profiled}"));
    look_after(&mut browser, &address, &served.host, TRACE);
    browser.visit(&address, WIDE, "light");
    browser.ask(TRACE);
    let frames = "[...document.querySelectorAll('svg.flame .frames:last-of-type g')]";
    let narrow =
        format!("{frames}.find((one) => one.querySelector('rect').width.baseVal.value < 500)");
    let width = format!("{narrow}.querySelector('rect').width.baseVal.value");
    assert!(browser.ask(&width).as_f64().unwrap() < 500.0);
    browser.ask(&format!(
        "globalThis.picked = {narrow}; picked.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))"
    ));
    soon(&mut browser, "Math.round(picked.querySelector('rect').width.baseVal.value) === 1168");
    browser.ask("{ const field = document.querySelector('.search input'); field.value = 'no such module'; field.dispatchEvent(new Event('input', { bubbles: true })); }");
    soon(&mut browser, &format!("{frames}.every((one) => one.classList.contains('faded'))"));
    browser.ask("document.querySelector('.flames').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))");
    soon(&mut browser, &format!("!{frames}.some((one) => one.classList.contains('faded'))"));
    assert!(
        browser.ask("picked.querySelector('rect').width.baseVal.value").as_f64().unwrap() < 500.0
    );
    assert_eq!(foreign(&browser, &served.host), Vec::<String>::new());
}

/// A plan of two cells that takes longer than any test.
const PLAN: &str = "name = \"night\"\nmodels = [\"small-transformer\"]\nengines = [\"rten\"]\nbatch-sizes = [1, 2]\nprocesses = 1\nduration = \"300s\"\n";

fn on_server(home: &Home, server: &str) -> Served {
    let mut command = home.command(&["serve", "--quiet", "--listen", "127.0.0.1:0"]);
    begin(command.env("MODELMETER_DB", server))
}

/// How many cells of the first plan are in a state, by its progress and by its cells.
fn counted(served: &Served, state: &str) -> (u64, usize) {
    let plans = json(&served.get("/api/plans").body);
    let plan = &plans["plans"][0];
    let name = plan["plan"].as_str().unwrap();
    let cells = json(&served.get(&format!("/api/plans/{name}")).body);
    let cells = cells["cells"].as_array().unwrap().iter();
    (plan[state].as_u64().unwrap(), cells.filter(|cell| cell["state"] == state).count())
}

#[test]
fn a_cell_that_others_measure_is_seen_and_lost_as_soon_as_that_is_known() {
    let (viewer, other) = (Home::calibrated(), Home::calibrated());
    let server = SHARED.database();
    let store = Store::open(&server).unwrap();
    let served = on_server(&viewer, &server);
    let mut browser = Browser::start();
    browser.visit(&served.page, WIDE, "light");
    browser.wait("document.querySelectorAll('#now .missing').length === 1");

    // Another user here, whose journal this one cannot read.
    fs::write(other.path("night.toml"), PLAN).unwrap();
    let mut bench = other.command(&["bench", "night.toml", "--quiet"]);
    bench.env("MODELMETER_DB", &server).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = bench.spawn().unwrap();
    let cards = |state: &str| {
        format!("document.querySelectorAll('#now [data-elsewhere][data-state={state}]').length")
    };
    soon(&mut browser, &format!("{} === 1", cards("running")));
    let text = browser.ask("document.querySelector('#now [data-elsewhere]').textContent");
    let text = text.as_str().unwrap();
    let told = format!("process {}", child.id());
    for part in ["small-transformer rten cpu", "being measured", "plan night", &*told, "since "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let now = json(&served.get("/api/now").body);
    assert_eq!(now["activities"], Value::Array(Vec::new()), "{now}");
    assert_eq!(now["elsewhere"][0]["pid"], child.id(), "{now}");
    assert_eq!((counted(&served, "leased"), counted(&served, "waiting")), ((1, 1), (1, 1)));

    // Killed here: its lease has most of a minute left, and nobody is told that it still measures.
    child.kill().unwrap();
    child.wait().unwrap();
    soon(&mut browser, &format!("{} === 1 && {} === 0", cards("lost"), cards("running")));
    assert_eq!((counted(&served, "leased"), counted(&served, "waiting")), ((0, 0), (2, 2)));
    assert!(served.get("/metrics").body.contains("state=\"leased\"} 0"));

    // A worker of another machine, of which nothing is known but its lease.
    let plan = store.plans().unwrap()[0].plan.clone();
    let worker = "rack-7:4711:99:4026531836";
    let lease = store.lease(&plan, worker, Duration::from_secs(3)).unwrap().unwrap();
    soon(&mut browser, &format!("{} === 1", cards("running")));
    let text = browser
        .ask("document.querySelector('#now [data-elsewhere][data-state=running]').textContent");
    assert!(text.as_str().unwrap().contains("rack-7, process 4711"), "{text}");
    store.heartbeat(&lease).unwrap();
    soon(&mut browser, &format!("{} === 0", cards("running")));
    let text = browser.ask("[...document.querySelectorAll('#now [data-elsewhere]')].map((one) => one.textContent).join()");
    let text = text.as_str().unwrap();
    assert!(text.contains("rack-7") && text.contains("its lease is over"), "{text}");
    assert_eq!((counted(&served, "leased"), counted(&served, "waiting")), ((0, 0), (2, 2)));
    assert_eq!(foreign(&browser, &served.host), Vec::<String>::new());
}

#[test]
fn a_machine_shows_its_gpus_with_memory_and_ceilings() {
    let gpu = |index: u32| Gpu {
        index,
        name: "NVIDIA H200".into(),
        uuid: format!("GPU-{index}"),
        memory: Bytes(150_000_000_000),
    };
    let mut measured: Run = run(1, Device::Cpu, 1, 40.0, 300.0);
    measured.environment.machine.gpus = vec![gpu(0), gpu(1)];
    let home = home_with(&[]);
    let store = Store::open(home.database()).unwrap();
    store.insert_run(&measured).unwrap();
    let ceiling =
        |value: f64| Ceiling { value, interval: Interval { low: value * 0.9, high: value } };
    let card = Ceilings {
        flops: vec![(Precision::Bf16, ceiling(792e12))],
        bandwidth: Some(ceiling(4.1e12)),
        copies: vec![CopyCeiling {
            direction: CopyDirection::HostToDevice,
            memory: CopyMemory::Pinned,
            ceiling: ceiling(55e9),
        }],
        ..Ceilings::of(Device::Cuda(0), 0)
    };
    store.save_ceilings(&measured.environment.machine, &card).unwrap();
    let served = serve(&home, &[]);
    let page = served.get("/machines").body;
    for part in [
        "cuda:0",
        "150 GB",
        "bf16 792 TFLOP/s",
        "4.10 TB/s",
        "host to device 55.0 GB/s",
        "97.5 % reach",
        "calibrate --device cuda:1",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("95 % from"), "{page}");
    let mut browser = Browser::start();
    browser.visit(&served.page, WIDE, "light");
    look_after(&mut browser, &served.address("/machines"), &served.host, "0");
}
