//! Stored runs as pictures: `visualize`.

use crate::bench::{Home, quick};
use modelmeter::{Device, PICTURES, Run, RunId, Store};
use serde_json::Value;
use std::{fs, path::Path};
use types::{Ceiling, Ceilings, Interval, Precision, Reason, ReasonCode, Verdict};

/// A home with a real run at two batch sizes and the ceilings of this machine; valid, whatever else the machine does.
fn measured() -> Home {
    let home = Home::calibrated();
    home.fine(&quick("feed-forward-baseline", &[]));
    let store = Store::open(home.database()).unwrap();
    let list: Value = serde_json::from_str(&home.fine(&["runs", "list", "--json"]).out).unwrap();
    let mut run: Run = store.run(list["runs"][0]["id"].as_str().unwrap()).unwrap();
    run.verdict = Verdict::from_reasons(Vec::new());
    for number in 1..=2_u64 {
        run.id = RunId(format!("{:016x}", 0x7f3a_0000_0000_0000 + number));
        run.cell.batch_size = 4 * number as usize;
        store.insert_run(&run).unwrap();
    }
    let ceiling = |value: f64| Ceiling { value, interval: Interval { low: value, high: value } };
    let ceilings = Ceilings {
        flops: vec![(Precision::Fp32, ceiling(1e11))],
        bandwidth: Some(ceiling(2e10)),
        ..Ceilings::of(Device::Cpu, run.cell.threads)
    };
    store.save_ceilings(&run.environment.machine, &ceilings).unwrap();
    home
}

/// The same words on one line, however they were wrapped.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_picture_is_a_file_in_each_format_and_theme() {
    let home = measured();
    let told = home.fine(&["visualize", "--output", "shown"]);
    let found = files(&home.path("shown"));
    // No run trains, none writes token by token, and none is a load.
    let absent = ["training", "growth", "load"];
    for picture in PICTURES.iter().filter(|picture| !absent.contains(&picture.name)) {
        for theme in ["light", "dark"] {
            let [svg, png] =
                ["svg", "png"].map(|format| format!("{}-{theme}.{format}", picture.name));
            let out = words(&told.out);
            assert!(out.contains(&svg) && out.contains(picture.shows), "{}", told.out);
            let text = fs::read_to_string(home.path("shown").join(&svg)).unwrap();
            assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{svg}");
            assert!(fs::read(home.path("shown").join(&png)).unwrap().starts_with(b"\x89PNG"));
            assert!(found.contains(&svg) && found.contains(&png), "{found:?}");
        }
    }
    assert_eq!(found.len(), 24, "{found:?}");
    assert!(told.out.contains("24 files"), "{}", told.out);
    assert_eq!(told.err, "wrote 24 files into shown\n");
    let out = words(&told.out);
    for why in ["no valid training run is stored", "no valid run writes token by token"] {
        assert!(out.contains(&format!("not drawn: {why}")), "{}", told.out);
    }
    assert!(told.out.contains("`modelmeter profile MODEL --train`"), "{}", told.out);

    // Again: the same bytes, nothing left over.
    let before = fs::read(home.path("shown/latency-light.png")).unwrap();
    home.fine(&["visualise", "feed-forward", "-o", "shown", "--quiet"]);
    assert_eq!(fs::read(home.path("shown/latency-light.png")).unwrap(), before);
    assert_eq!(files(&home.path("shown")).len(), 24);
}

/// Thirty cells of three models, and one that other work disturbed.
fn many() -> Home {
    let home = measured();
    let store = Store::open(home.database()).unwrap();
    let first = store.run("7f3a000000000001").unwrap();
    let one = |number: u64| {
        let mut run = first.clone();
        run.id = RunId(format!("{:016x}", 0x8000_0000_0000_0000 + number));
        run.model.name = format!("model-{}", number % 3);
        run.cell.threads = 1 + number as u32;
        run
    };
    let runs: Vec<Run> = (0..30).map(one).collect();
    store.insert_runs(&runs).unwrap();
    let mut disturbed = one(31);
    disturbed.model.name = "model-9".into();
    disturbed.verdict = Verdict::from_reasons(vec![Reason {
        code: ReasonCode::BusyMachine,
        invalidates: true,
        text: "other work".into(),
        hint: None,
        about: None,
    }]);
    store.insert_run(&disturbed).unwrap();
    home
}

#[test]
fn what_finds_no_room_is_on_pages_with_numbers() {
    let home = many();
    let only = ["--only", "throughput,heat-map", "--format", "svg", "--theme", "light"];
    let told = home.fine(&[&["visualize", "model-"], &only[..]].concat());
    let names = files(&home.path("modelmeter-pictures"));
    let pages = ["throughput-1-light.svg", "throughput-2-light.svg", "throughput-3-light.svg"];
    assert_eq!(names[1..], [&pages[..], &["throughput-light.svg"]].concat(), "{names:?}");
    let read =
        |name: &str| fs::read_to_string(home.path("modelmeter-pictures").join(name)).unwrap();
    assert!(read("throughput-light.svg").contains("all cells are on 3 pages"));
    // Every cell is on one page: 30 rows, and each says its threads.
    let rows = |text: &str| text.matches(" thread").count();
    let all: usize = pages.iter().map(|page| rows(&read(page))).sum();
    assert_eq!(all, 30, "{}", told.out);
    assert!(read("throughput-3-light.svg").contains("Page 3 of 3."));
    // What was measured and is not valid is told from what was not measured.
    assert!(read("heat-map-light.svg").contains("not valid"));
    assert!(told.out.contains("1 cell without a valid run left out"), "{}", told.out);
    assert!(words(&told.out).contains("(1 not valid: 1 × other work)"), "{}", told.out);
    let shown = home.fine(&[&["visualize", "model-9", "--include-invalid"], &only[..]].concat());
    assert!(shown.out.contains("marked"), "{}", shown.out);
    assert!(read("throughput-light.svg").contains("not valid"));
    let told = home.run(&["visualize", "model-9", "-o", "none"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
    assert!(told.out.contains("no valid run has a throughput; 1 not valid"), "{}", told.out);
}

#[test]
fn what_was_drawn_is_a_result_in_every_format() {
    let home = measured();
    let only = ["--only", "latency,training", "--format", "svg", "-o", "shown"];
    let asked = [&["visualize"], &only[..], &["--json", "--html", "page.html"]].concat();
    let told = home.fine(&asked);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(found["schema"], "modelmeter.pictures/1");
    let names = ["latency-light.svg", "latency-dark.svg"];
    assert_eq!(found["pictures"][0]["files"], serde_json::json!(names));
    assert_eq!(found["pictures"][1]["absent"]["hint"], "modelmeter profile MODEL --train");
    assert_eq!(told.err, "wrote 2 files into shown\nwrote page.html\n");
    let page = fs::read_to_string(home.path("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 1, "the picture is in the page");
    let rows = home.fine(&[&["visualize"], &only[..], &["--csv"]].concat()).out;
    assert_eq!(rows.lines().count(), 4, "{rows}");
}

#[test]
fn only_what_was_asked_for_is_drawn() {
    let home = measured();
    let only = ["--only", "latency,heat-map", "--format", "svg", "--theme", "dark"];
    home.fine(&[&["visualize"], &only[..]].concat());
    let names = files(&home.path("modelmeter-pictures"));
    assert_eq!(names, ["heat-map-dark.svg", "latency-dark.svg"]);
    let told = home.run(&["visualize", "--only", "training", "-o", "none"]);
    assert_eq!(told.status, Some(4), "{}", told.err);
    assert!(told.out.contains("--train") && !home.path("none").exists(), "{}", told.out);
    let told = home.run(&["visualize", "--device", "cuda", "-o", "none"]);
    assert_eq!(told.status, Some(4), "{}", told.err);
    assert_eq!(told.out.matches("not drawn").count(), PICTURES.len(), "{}", told.out);
}

#[test]
fn wrong_asks_are_told() {
    let home = Home::new();
    home.refused(&["visualize"], 2, &["no database", "hint:"]);
    home.fine(&["db", "init"]);
    home.refused(&["visualize"], 2, &["no run is stored yet", "modelmeter profile"]);
    let home = measured();
    home.refused(
        &["visualize", "fed-forward-baseline"],
        2,
        &["did you mean `feed-forward-baseline`"],
    );
    home.refused(&["visualize", "--only", "pie"], 2, &["pie", "heat-map", "roofline"]);
    home.refused(&["visualize", "--format", "gif"], 2, &["gif", "svg"]);
    home.refused(&["visualize", "--theme", "pink"], 2, &["pink", "light"]);
    fs::write(home.path("file"), "kept").unwrap();
    home.refused(
        &["visualize", "--output", "file"],
        2,
        &["`file` is not a folder", "--output DIR"],
    );
    home.refused(&["visualize", "--output", "file/below"], 2, &["file/below", "hint:"]);
    home.refused(&["visualize", "--output", ""], 2, &["--output"]);
    home.refused(&["visualize", "--output", "/proc/none"], 2, &["/proc/none", "hint:"]);
    assert_eq!(fs::read_to_string(home.path("file")).unwrap(), "kept");
    assert!(!home.path("modelmeter-pictures").exists());
}

#[test]
fn the_document_of_the_pictures_has_every_one() {
    let text = include_str!("../../../../docs/PICTURES.md");
    for picture in PICTURES {
        assert!(
            text.contains(&format!("| `{}` | {} |", picture.name, picture.shows)),
            "{}",
            picture.name
        );
    }
}
