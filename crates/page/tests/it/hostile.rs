//! Whatever a name holds, it stays in its element.

use crate::{
    scene::{dossier, subject},
    whole::written,
};
use modelmeter_page::Pictures;
use proptest::prelude::*;
use scraper::{Html, Node, Selector};

/// Everything in a page that is no text: names of elements and of attributes, in order.
fn bones(text: &str) -> Vec<String> {
    let html = Html::parse_document(text);
    let element = |node: &Node| {
        let element = node.as_element()?;
        let names: Vec<&str> = element.attrs().map(|(name, _)| name).collect();
        Some(format!("{} {}", element.name(), names.join(" ")))
    };
    html.tree.nodes().filter_map(|node| element(node.value())).collect()
}

/// A page in which every word from outside is this one.
fn page_with(word: &str) -> String {
    let mut one = subject(40);
    let run = &mut one.run;
    run.model.name = word.into();
    run.cell.model = word.into();
    run.engine.id = word.into();
    run.engine.version = word.into();
    run.engine.placement = word.into();
    run.tags = vec![word.into()];
    run.environment.machine.hostname = word.into();
    run.environment.machine.cpu.model = word.into();
    run.environment.versions.insert(word.into(), word.into());
    run.verdict.reasons[0].text = word.into();
    run.verdict.reasons[0].hint = Some(word.into());
    run.layers.as_mut().unwrap().layers.iter_mut().for_each(|layer| layer.class = word.into());
    run.layers.as_mut().unwrap().operators[0].name = word.into();
    run.probes[0].unavailable = Some(word.into());
    one.command = Ok(word.into());
    one.advice[0].title = word.into();
    one.advice[0].command = Some(word.into());
    let mut all = dossier(vec![one.clone(), one]);
    all.title = word.into();
    all.unmeasured = vec![(word.into(), word.into())];
    written(&all, Pictures::Drawn)
}

/// What a page is without the words of its tables and lists, which differ in length: elements that could do something.
fn doers(text: &str) -> Vec<String> {
    let harmless = [
        "code", "bdi", "li", "text", "title", "g", "circle", "polygon", "th", "td", "div", "dt",
        "dd",
    ];
    let is_doer = |bone: &String| harmless.iter().all(|name| bone.split(' ').next() != Some(name));
    let mut kept: Vec<String> = bones(text).into_iter().filter(is_doer).collect();
    kept.sort();
    kept.dedup();
    kept
}

const WORST: [&str; 9] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></style></script><h1>",
    "]]><!-- --><![CDATA[",
    "&lt;b&gt;&amp;",
    "\u{0}\u{1b}[31m\u{7f}\u{85}\u{202e}abc\u{2066}",
    "`</code><script>` `",
    "שלום \u{200f}<b>",
];

#[test]
fn the_worst_words_stay_words() {
    let plain = doers(&page_with("plain"));
    for word in WORST {
        let text = page_with(word);
        assert_eq!(doers(&text), plain, "{word}");
        let html = Html::parse_document(&text);
        let heading = html.select(&Selector::parse("h1").unwrap()).next().unwrap();
        let shown: String = heading.text().collect();
        assert_eq!(shown, report::clean(word), "{word}");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}') && !text.contains('\u{0}'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_word_leaves_its_element(word in "[<>\"'&/=a-z!\\-\\]\\[`\u{0}\u{202e}\u{2066}; ]{1,40}") {
        prop_assume!(!report::clean(&word).is_empty());
        prop_assert_eq!(doers(&page_with(&word)), doers(&page_with("plain")));
    }
}
