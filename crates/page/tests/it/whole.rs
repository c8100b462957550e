//! The page as a whole: what is in it, how large it is, and that it is always the same.

use crate::scene::{dossier, subject};
use modelmeter_page::{Content, LARGEST, Pictures, page};
use report::Dossier;
use scraper::{Html, Selector};

pub(crate) fn written(dossier: &Dossier, pictures: Pictures) -> String {
    page(&Content { dossier, material: None, pictures, more: None })
}

fn texts(html: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).unwrap();
    html.select(&selector).map(|node| node.text().collect::<String>()).collect()
}

fn count(html: &Html, selector: &str) -> usize {
    html.select(&Selector::parse(selector).unwrap()).count()
}

#[test]
fn a_run_has_its_verdict_its_numbers_and_every_part() {
    let text = written(&dossier(vec![subject(300)]), Pictures::Drawn);
    let html = Html::parse_document(&text);
    assert!(html.errors.is_empty(), "{:?}", html.errors);
    assert_eq!(texts(&html, "h1"), ["distilbert-base-uncased"]);
    assert_eq!(texts(&html, ".verdict strong"), ["Valid, with one remark"]);
    assert_eq!(
        texts(&html, ".bar-of-tabs label"),
        ["Latency", "Layers", "Memory", "Advice", "Environment", "Reproduce"]
    );
    assert_eq!(count(&html, ".figures > div"), 6);
    let drawn = "distribution, order, roofline";
    assert_eq!(count(&html, "figure:not(.for-phones) svg"), 3, "{drawn}");
    assert_eq!(count(&html, "figure.for-phones svg"), 3, "{drawn}, drawn again for phones");
    assert_eq!(
        texts(&html, ".missing code"),
        ["modelmeter profile distilbert-base-uncased --memory"]
    );
    assert!(
        texts(&html, "pre.command").concat().contains("modelmeter profile distilbert-base-uncased")
    );
    // Every colour of the pictures is the page's own.
    let svg = text.split("<figure").nth(1).unwrap();
    assert!(svg.contains("fill=\"var(--series-1)\"") && !svg.contains("=\"#"), "{svg}");
}

#[test]
fn nothing_is_loaded_and_nothing_but_our_own_style_and_script_may_run() {
    let text = written(&dossier(vec![subject(300)]), Pictures::Drawn);
    for foreign in ["src=", "url(", "@import", "<link", "style=", "onclick", "javascript:"] {
        assert!(!text.contains(foreign), "{foreign}");
    }
    let addresses = text.matches("http").count() - text.matches("http-equiv").count();
    assert_eq!(addresses, text.matches("http://www.w3.org/2000/svg").count());
    assert!(text.contains("default-src &#39;none&#39;; style-src &#39;sha256-"));
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let make = || written(&dossier(vec![subject(5_000), subject(100)]), Pictures::Drawn);
    assert!(make() == make());
}

#[test]
fn a_hundred_thousand_samples_and_twelve_layers_are_far_from_too_large() {
    let text = written(&dossier(vec![subject(100_000)]), Pictures::Drawn);
    assert!(text.len() < 400_000, "{}", text.len());
    // The farthest sample is told although few are drawn.
    assert!(text.contains("Band: from the lowest to the highest"), "thinned");
}

#[test]
fn many_runs_stay_under_the_limit_and_what_is_left_out_is_said() {
    let many: Vec<_> = (0..120).map(|_| subject(2_000)).collect();
    let text = written(&dossier(many), Pictures::Drawn);
    assert!(text.len() <= LARGEST, "{}", text.len());
    let html = Html::parse_document(&text);
    assert_eq!(count(&html, "#overview ~ .scroll tbody tr"), 120);
    assert_eq!(count(&html, "details.run"), 120);
    let said = texts(&html, "#runs ~ .note").concat();
    assert!(said.contains("of 120 runs have") && said.contains("everything"), "{said}");
    let drawn = count(&html, "details.run figure svg");
    assert!(drawn > 0, "some pictures find room");
}

#[test]
fn without_pictures_and_in_brief_less_is_there() {
    let mut one = dossier(vec![subject(300)]);
    let html = Html::parse_document(&written(&one, Pictures::LeftOut));
    assert_eq!(count(&html, "figure"), 0);
    one.is_brief = true;
    let html = Html::parse_document(&written(&one, Pictures::Drawn));
    assert_eq!(texts(&html, ".bar-of-tabs label"), ["Latency", "Advice", "Reproduce"]);
}
