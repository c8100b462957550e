//! Histories as pictures.

use modelmeter_draw::{Theme, history, history_for_page, png};
use types::{
    CellKey, Device, Interval, Mode, Pooled, Precision, Trend, TrendChange, TrendPoint, TrendSeries,
};

fn trend(name: &str, count: usize) -> Trend {
    let point = |at: usize| TrendPoint {
        commit: Some(name.to_owned()),
        branch: None,
        began: (at as i64 * 3_600_000_000, at as i64 * 3_600_000_000),
        runs: Vec::new(),
        value: Pooled {
            value: if at < count / 2 { 0.010 } else { 0.0125 },
            interval: Some(Interval { low: 0.0095, high: 0.013 }),
        },
        valid: true,
    };
    let change = TrendChange {
        at: count / 2,
        before: 0.010,
        after: 0.0125,
        ratio: Pooled { value: 1.25, interval: Some(Interval { low: 1.2, high: 1.3 }) },
        adjusted_p: 0.0003,
        coincides: vec![name.to_owned()],
    };
    let series = TrendSeries {
        key: CellKey {
            model: name.into(),
            random_weights: false,
            mode: Mode::Inference,
            sequence_length: Some(128),
            imported: false,
            machine: "c0ffee".into(),
            device: Device::Cpu,
            engine: name.into(),
            precision: Precision::Fp32,
            threads: 2,
            variant: name.into(),
            batch_size: 4,
        },
        points: (0..count).map(point).collect(),
        changes: if count > 1 { vec![change] } else { Vec::new() },
        noise: Some(0.01),
        drift: None,
        needs: 0,
        suspicion: None,
    };
    Trend {
        series: vec![series],
        level: 0.01,
        smallest: 0.02,
        remarks: vec![types::Remark::new(types::RemarkCode::NoCommit, name)],
        ..Trend::default()
    }
}

#[test]
fn a_history_is_drawn_in_both_themes_and_can_be_painted() {
    for theme in Theme::ALL {
        let svg = history(&trend("bert", 30), theme).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(svg.matches("<circle").count(), 30);
        assert!(svg.contains("25 % slower [20, 30]"), "{svg}");
        png(&svg, 1.0).unwrap();
    }
}

#[test]
fn names_from_outside_are_words_and_nothing_else() {
    for name in ["<script>alert(1)</script>", "a & \"b\" ]]>", "\u{1b}[31m\u{0}", &"W".repeat(999)]
    {
        for count in [1, 2, 7, 300] {
            let found = trend(name, count);
            let svg = history(&found, Theme::Light).unwrap();
            roxmltree::Document::parse(&svg).unwrap();
            for svg in history_for_page(&found).unwrap() {
                roxmltree::Document::parse(&svg).unwrap();
                assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
                assert!(!svg.contains("NaN"), "{svg}");
            }
        }
    }
}

#[test]
fn no_history_is_no_picture() {
    assert!(history(&Trend::default(), Theme::Dark).is_err());
    assert!(history_for_page(&Trend::default()).is_err());
}

#[test]
fn a_page_gets_pictures_for_screens_and_phones_in_its_own_colours() {
    let [wide, narrow] = history_for_page(&trend("bert", 30)).unwrap();
    let width = |svg: &str| -> f64 {
        let document = roxmltree::Document::parse(svg).unwrap();
        let view = document.root_element().attribute("viewBox").unwrap();
        view.split(' ').nth(2).unwrap().parse().unwrap()
    };
    assert!(width(&wide) > 1.5 * width(&narrow));
    for svg in [wide, narrow] {
        assert!(svg.contains("var(--text)") && !svg.contains(">History</text>"), "{svg}");
    }
}
