//! Stored runs as a page, Markdown, JSON, CSV and JUnit XML; the page is opened in a real browser.

use crate::{
    bench::{Home, quick},
    browser::Browser,
};
use modelmeter::{Run, RunId, Store};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use types::{Reason, ReasonCode, Verdict};

const AUDIT: &str = include_str!("audit.js");
const WIDE: (u32, u32) = (1280, 900);
const NARROW: (u32, u32) = (390, 844);

/// A name that would do harm where it were not escaped.
const HOSTILE: &str =
    "<img src=x onerror=alert(1)>\"'&]]>\u{202e}</script><script>alert(2)</script>";

/// A home with a run that has everything, and copies of it: another engine, a hostile name, one that is not valid.
fn home() -> Home {
    let home = Home::calibrated();
    home.run(&quick("small-transformer", &["--layers", "--memory"]));
    let store = Store::open(home.database()).unwrap();
    let list: Value = serde_json::from_str(&home.fine(&["runs", "list", "--json"]).out).unwrap();
    let mut run: Run = store.run(list["runs"][0]["id"].as_str().unwrap()).unwrap();
    // Only copies stay: what the machine thought of this one must not matter.
    store.delete(std::slice::from_ref(&run.id)).unwrap();
    run.verdict = Verdict::from_reasons(Vec::new());
    let store_as = |number: u64, change: &dyn Fn(&mut Run)| {
        let mut copy = run.clone();
        copy.id = RunId(format!("{:016x}", 0xaaaa_0000_0000_0000 + (number << 44)));
        change(&mut copy);
        store.insert_run(&copy).unwrap();
    };
    store_as(1, &|_| {});
    store_as(2, &|run| {
        run.engine.id = "onnxruntime".into();
        run.cell.engine = "onnxruntime".into();
        run.model.name = HOSTILE.into();
        run.cell.model = HOSTILE.into();
        run.tags = vec!["<b>".into()];
    });
    store_as(3, &|run| {
        run.cell.batch_size = 16;
        run.layers = None;
        run.memory = None;
        run.verdict = Verdict::from_reasons(vec![Reason {
            code: ReasonCode::BusyMachine,
            invalidates: true,
            text: "other work used 70 % of the machine".into(),
            hint: Some("stop other programs".into()),
            about: None,
        }]);
    });
    home
}

fn page(home: &Home, arguments: &[&str]) -> PathBuf {
    let path = home.path("report.html");
    home.fine(&[&["report"], arguments, &["--html", path.to_str().unwrap()]].concat());
    path
}

/// Opens the page at two sizes in both themes, and looks at everything that a script can see.
fn look(browser: &mut Browser, path: &std::path::Path, pictures: u64) {
    let mut backgrounds = Vec::new();
    for (size, theme) in [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")] {
        browser.open(path, size, theme);
        let seen = browser.ask(AUDIT);
        assert_eq!(seen["defects"], json!([]), "{theme} at {size:?}\n{seen:#}");
        assert_eq!(seen["pictures"], pictures, "{theme} at {size:?}");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{theme} at {size:?}");
        backgrounds.push(seen["background"].clone());
    }
    assert!(
        backgrounds[0] == backgrounds[2]
            && backgrounds[1] == backgrounds[3]
            && backgrounds[0] != backgrounds[1]
    );
}

const SHOWN: &str =
    "[...document.querySelectorAll('.panel')].map(panel => panel.getClientRects().length > 0)";

#[test]
fn the_page_of_a_run_works_in_a_real_browser() {
    let home = home();
    let path = page(&home, &["aaaa1"]);
    let mut browser = Browser::start();
    look(&mut browser, &path, 4);

    // Tabs by the keyboard alone: from the first to the second with an arrow.
    browser.open(&path, WIDE, "light");
    assert_eq!(browser.ask(SHOWN), json!([true, false, false, false, false, false]));
    browser.ask("document.querySelector('.bar-of-tabs input').focus()");
    browser.press("ArrowRight", 39);
    assert_eq!(browser.ask(SHOWN), json!([false, true, false, false, false, false]));
    let audit = browser.ask(AUDIT);
    assert_eq!(audit["defects"], json!([]), "the layers\n{audit:#}");

    // Zooming changes what is shown of a picture, and back.
    let view = "document.querySelector('.panel .picture svg').getAttribute('viewBox')";
    let before = browser.ask(view);
    browser.ask("document.querySelector('.zoom button').click()");
    assert_ne!(browser.ask(view), before);
    browser.ask("document.querySelectorAll('.zoom button')[1].click()");
    assert_eq!(browser.ask(view), before);

    // The theme is chosen and kept.
    let theme = "document.documentElement.dataset.theme";
    browser.ask("document.querySelector('#tools button').click()");
    browser.ask("document.querySelector('#tools button').click()");
    assert_eq!(browser.ask(theme), "dark");
    browser.open(&path, WIDE, "light");
    assert_eq!(browser.ask(theme), "dark");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.ask("localStorage.clear()");

    // Paper has every part, in light colours, whatever the screen has.
    browser.look("print", "dark");
    assert_eq!(browser.ask(SHOWN), json!([true, true, true, true, true, true]));
    let words = "getComputedStyle(document.querySelector('.panel p')).color";
    assert_eq!(browser.ask(words), "rgb(87, 96, 106)");
    let printed = browser.call("Page.printToPDF", &json!({}));
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi"), "no PDF");
}

#[test]
fn the_page_of_a_run_works_with_scripts_off() {
    let home = home();
    let path = page(&home, &["aaaa1"]);
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(&path, NARROW, "light");
    assert_eq!(browser.ask("document.querySelectorAll('button').length"), 0);
    let seen = browser.ask(AUDIT);
    assert_eq!(seen["defects"], json!([]), "{seen:#}");
    browser.ask("document.querySelector('.bar-of-tabs input').focus()");
    browser.press("ArrowRight", 39);
    browser.press("ArrowRight", 39);
    assert_eq!(browser.ask(SHOWN), json!([false, false, true, false, false, false]));
}

#[test]
fn the_page_of_several_runs_works_in_a_real_browser() {
    let home = home();
    let path = page(&home, &["aaaa1", "aaaa2", "aaaa3", "--title", HOSTILE]);
    let mut browser = Browser::start();
    browser.open(&path, WIDE, "light");
    let seen = browser.ask(AUDIT);
    look(&mut browser, &path, seen["pictures"].as_u64().unwrap());
    assert!(seen["pictures"].as_u64().unwrap() >= 10, "{seen}");

    // The name is on the page, letter by letter, and did nothing.
    let heading = browser.ask("document.querySelector('h1').textContent");
    assert_eq!(heading, HOSTILE.replace('\u{202e}', ""));
    assert_eq!(browser.ask("document.querySelectorAll('img, main script').length"), 0);

    // A link in the table opens its run.
    browser.ask("document.querySelectorAll('tbody a')[1].click()");
    assert_eq!(browser.ask("document.querySelectorAll('details')[1].open"), true);
    let audit = browser.ask(AUDIT);
    assert_eq!(audit["defects"], json!([]), "an open run\n{audit:#}");
}

#[test]
fn pages_of_other_results_work_in_a_real_browser() {
    let home = home();
    let mut browser = Browser::start();
    let drawn =
        ["visualize", "--only", "latency,throughput", "--format", "svg", "--theme", "light"];
    for line in [&["compare", "aaaa1", "aaaa2"][..], &["analyze"], &["runs", "list"], &drawn] {
        let path = home.path(&format!("{}.html", line[0]));
        home.run(&[line, &["--html", path.to_str().unwrap()]].concat());
        browser.open(&path, WIDE, "light");
        let seen = browser.ask(AUDIT);
        look(&mut browser, &path, seen["pictures"].as_u64().unwrap());
        // The script came to its end: pictures zoom, and the theme can be chosen.
        assert_eq!(browser.ask("document.querySelectorAll('#tools button').length"), 1, "{line:?}");
    }
    let zooms = "document.querySelectorAll('.zoom button').length";
    assert_eq!(browser.ask(zooms), 4, "two pictures, each with two buttons");
}

#[test]
fn every_form_is_written_and_the_same_runs_give_the_same_bytes() {
    let home = home();
    let forms = ["html", "markdown", "json", "csv", "junit"];
    let write = |folder: &str| {
        fs::create_dir(home.path(folder)).unwrap();
        let mut arguments: Vec<String> = ["report", "--model", "small"].map(str::to_owned).into();
        for form in forms {
            arguments.extend([format!("--{form}"), format!("{folder}/{form}")]);
        }
        home.fine(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        forms.map(|form| fs::read_to_string(home.path(folder).join(form)).unwrap())
    };
    let (first, second) = (write("one"), write("two"));
    assert!(first == second, "the same runs give other bytes");
    let [html, markdown, json, csv, junit] = first;
    assert!(html.len() < 2_000_000 && html.starts_with("<!DOCTYPE html>"), "{}", html.len());
    assert!(markdown.starts_with("# small-transformer\n"), "{markdown}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2, "the newest run of either batch size");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let junit = roxmltree::Document::parse(&junit).unwrap();
    assert_eq!(junit.root_element().attribute("tests"), Some("2"));
    assert_eq!(junit.root_element().attribute("failures"), Some("1"));
}

#[test]
fn less_is_told_where_less_is_asked_for() {
    let home = home();
    let read = |arguments: &[&str]| fs::read_to_string(page(&home, arguments)).unwrap();
    let whole = read(&["aaaa1"]);
    assert!(whole.contains("class=\"scroll picture\"") && whole.contains(">Layers<"));
    let bare = read(&["aaaa1", "--no-graphs"]);
    assert!(!bare.contains("class=\"scroll picture\"") && bare.contains(">Layers<"));
    let brief = read(&["aaaa1", "--brief"]);
    assert!(!brief.contains(">Layers<") && !brief.contains(">Environment<"));
    assert!(brief.contains("Percentiles and their support") && brief.contains("Reproduce"));
    assert!(brief.len() < whole.len());
    // What is not stored says what would bring it.
    assert!(read(&["aaaa3"]).contains("--batch-size 16"), "the command");
    assert!(read(&["aaaa3"]).contains(" --layers</code>"), "what is missing");
}

#[test]
fn without_a_form_the_terminal_has_it_and_what_is_asked_wrongly_is_said() {
    let home = home();
    let told = home.fine(&["report", "aaaa1"]);
    let shown = home.fine(&["runs", "show", "aaaa1"]).out;
    assert_eq!(told.out.lines().next(), shown.lines().next());
    assert!(told.out.contains("Environment") && told.out.contains("measure again"), "{}", told.out);
    let told = home.fine(&["report", "aaaa1", "aaaa3"]);
    assert!(told.out.contains("aaaa1") && told.out.contains("not valid"), "{}", told.out);
    let told = home.fine(&["report", "aaaa1", "--markdown", "-", "--brief"]);
    assert!(told.out.starts_with("# small-transformer") && told.err.is_empty(), "{}", told.err);

    home.refused(&["report", "ffff", "--html", "x.html"], 2, &["ffff"]);
    home.refused(&["report", "--plan", "nightly", "--html", "x.html"], 2, &["plan `nightly`"]);
    home.refused(&["report", "--model", "gpt", "--html", "x.html"], 2, &["model `gpt`"]);
    home.refused(&["report", "aaaa1", "--html", "none/x.html"], 2, &["no folder `none`"]);
    home.refused(&["report", "aaaa1", "--html", "-", "--json", "-"], 2, &["standard output"]);
    home.refused(&["report", "aaaa1", "--html=x", "--json=x"], 2, &["same file"]);
    assert!(!home.path("x.html").exists());
    assert_eq!(home.run(&["report", "--html", "x.html"]).status, Some(2));
    assert_eq!(home.run(&["report", "aaaa1", "--model", "x"]).status, Some(2));
}
