//! The flame graph: valid, small, the same each time, and honest about what it leaves out.

use crate::encoder::layers;
use std::{collections::BTreeMap, fs, path::Path, process::Command};
use types::{LayerReport, Seconds};

const MODEL: &str = "bert-base-uncased";
const SETTING: &str =
    "rten 0.27.0 on cpu (Xeon, 2 cores) · fp32 · batch 4 × 128 tokens · 2 threads";

fn flamegraph(report: &LayerReport) -> String {
    modelmeter_draw::flamegraph(report, MODEL, SETTING)
}

/// Frames of each panel by the first line of their tooltip: the place in pixels and the whole tooltip.
fn panels(svg: &str) -> Vec<BTreeMap<String, ([f64; 3], String)>> {
    let panels = svg.split("<g class=\"frames\"").skip(1);
    panels.map(|panel| frames(panel.split_once("\n</g>").unwrap().0)).collect()
}

fn frames(panel: &str) -> BTreeMap<String, ([f64; 3], String)> {
    let attribute = |frame: &str, name: &str| -> f64 {
        let value = frame.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0;
        value.parse().unwrap()
    };
    let mut frames = BTreeMap::new();
    for frame in panel.split("<g class=").skip(1) {
        let title = frame.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
        let rect = frame.split_once("<rect").unwrap().1;
        let place = ["x", "y", "width"].map(|name| attribute(rect, name));
        let first = title.lines().next().unwrap().to_string();
        assert!(frames.insert(first, (place, title.to_string())).is_none());
    }
    frames
}

#[test]
fn widths_are_shares_of_the_time_and_what_is_inside_stays_inside() {
    let report = layers(12);
    let frames = panels(&flamegraph(&report)).pop().unwrap();
    let whole = frames["bert-base-uncased"].0;
    assert_eq!(whole[2], 1168.0);
    let wide = |share: f64| share * 1168.0 >= 0.1;
    for layer in report.layers.iter().filter(|layer| wide(layer.spent.share.0)) {
        let [x, y, width] = frames[&layer.path].0;
        assert!((width - layer.spent.share.0 * 1168.0).abs() < 0.02, "{}", layer.path);
        let around = layer.path.rsplit_once('.').map(|(around, _)| around);
        if let Some(([outer_x, outer_y, outer], _)) = around.and_then(|path| frames.get(path)) {
            assert!(x >= outer_x - 0.02 && x + width <= outer_x + outer + 0.02, "{}", layer.path);
            assert_eq!(y, *outer_y + 22.0);
        }
    }
}

#[test]
fn a_tooltip_tells_time_share_work_and_bound() {
    let panels = panels(&flamegraph(&layers(12)));
    let told = |panel: usize, name: &str| panels[panel][name].1.clone();
    assert_eq!(
        told(1, "encoder.layer.3.attention.self"),
        "encoder.layer.3.attention.self\n\
         attention · MatMul, Softmax, MatMul\n\
         6.21 ms · 2.3 % of all layers · 1 call\n\
         1.41 ms of it outside the modules inside\n\
         167 GFLOP/s · 245 FLOP/B\n\
         bound by compute · 46 % of attainable"
    );
    assert_eq!(
        told(1, "encoder.layer.3.attention.self, outside the modules inside"),
        "encoder.layer.3.attention.self, outside the modules inside\n\
         attention · MatMul, Softmax, MatMul\n\
         1.41 ms · 0.5 % of all layers"
    );
    assert_eq!(
        told(0, "encoder.layer.*.attention.self.query (12 modules)"),
        "encoder.layer.*.attention.self.query (12 modules)\n\
         attention · MatMul, Add\n\
         19.3 ms · 7.2 % of all layers · 12 calls\n\
         190 GFLOP/s · 63.3 FLOP/B\n\
         bound by compute · 63 % of attainable"
    );
    assert_eq!(
        told(0, "bert-base-uncased"),
        "bert-base-uncased\n267 ms in all layers, the median of 24 inferences with instruments"
    );
}

#[test]
fn a_model_without_repetition_is_drawn_once() {
    let mut report = layers(1);
    assert_eq!(panels(&flamegraph(&report)).len(), 1);
    report = layers(2);
    let panels = panels(&flamegraph(&report));
    assert_eq!(panels.len(), 2);
    let [together, apart] =
        [&panels[0]["encoder"], &panels[1]["encoder"]].map(|encoder| encoder.0[2]);
    assert_eq!(together, apart);
}

#[test]
fn nothing_from_outside_is_markup() {
    let mut report = layers(1);
    report.layers[0].path = "</title><script>alert(1)</script>\u{1b}[31m\u{0}&\"'".into();
    report.layers[1].class = "]]></style><b onload=\"x\">".into();
    report.remarks.push(types::Remark::new(types::RemarkCode::CoarseTimes, "<i>\u{202e}"));
    let svg = modelmeter_draw::flamegraph(&report, "<svg onload='x'>", "a&b");
    for markup in
        ["<script>alert", "</style><b", "<i>", "<svg onload", "a&b", "\u{1b}", "\u{0}", "\u{202e}"]
    {
        assert!(!svg.contains(markup), "{markup}");
    }
    assert_eq!(svg.matches("<script>").count(), 1);
    assert!(svg.contains("&lt;/title&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn the_picture_needs_nothing_from_outside() {
    let svg = flamegraph(&layers(2));
    let without_name = svg.replacen("http://www.w3.org/2000/svg", "", 1);
    for reach in ["http", "url(", "@import", "href", "src="] {
        assert!(!without_name.contains(reach), "{reach}");
    }
}

#[test]
fn many_layers_stay_small_and_what_is_left_out_is_said() {
    let svg = flamegraph(&layers(48));
    assert!(svg.len() < 500_000, "{}", svg.len());
    // The pooler and what lies in no module take 0.06 ms of a second.
    assert!(svg.contains("2 frames are too narrow to be drawn: 59.8 µs · &lt; 0.1 %."));

    let many = layers(2_000);
    let svg = flamegraph(&many);
    assert!(svg.len() < 500_000, "{}", svg.len());
    assert!(svg.contains("frames are too narrow to be drawn: "));

    let mut long = layers(300);
    for layer in &mut long.layers {
        layer.path = layer.path.replace("encoder", &"&".repeat(400));
        layer.class = "<".repeat(4_000);
    }
    assert!(flamegraph(&long).len() < 500_000);
}

#[test]
fn the_same_layers_give_the_same_bytes() {
    assert_eq!(flamegraph(&layers(12)), flamegraph(&layers(12)));
}

#[test]
fn no_layers_give_a_picture_that_says_so() {
    let report = LayerReport { layers: Vec::new(), ..layers(1) };
    let svg = flamegraph(&report);
    assert!(svg.contains("empty: no layers were recorded"));
    assert!(svg.contains("bert-base-uncased"));
}

#[test]
fn times_that_are_no_numbers_do_not_break_the_picture() {
    let mut report = layers(1);
    for (layer, time) in report.layers.iter_mut().zip([f64::NAN, -1.0, f64::INFINITY]) {
        layer.spent.own = Seconds(time);
    }
    let svg = flamegraph(&report);
    assert!(!svg.contains("NaN") && !svg.contains("\"inf") && !svg.contains(" inf "));
    for layer in &mut report.layers {
        layer.spent.own = Seconds(0.0);
    }
    let svg = flamegraph(&report);
    assert!(!svg.contains("NaN") && svg.contains("too narrow to be drawn"));
}

#[test]
fn an_xml_parser_takes_every_flame_graph() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flame");
    fs::create_dir_all(&folder).unwrap();
    let mut hostile = layers(1);
    hostile.layers[0].path = "]]></title>\u{0}\u{b}\u{ffff}&\"<'".into();
    let reports =
        [layers(12), layers(48), hostile, LayerReport { layers: Vec::new(), ..layers(1) }];
    let names = ["bert.svg", "deep.svg", "hostile.svg", "empty.svg"];
    let pictures = names.map(|name| folder.join(name));
    for (path, report) in pictures.iter().zip(&reports) {
        fs::write(path, flamegraph(report)).unwrap();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    let script = root.join("tests/python/svg_facts.py");
    let output = Command::new(python).arg(script).arg(&folder).args(&pictures).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the Python script failed:\n{talk}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for picture in &pictures {
        let found = &found[picture.to_str().unwrap()];
        assert_eq!(found["root"], "{http://www.w3.org/2000/svg}svg");
        assert_eq!(found["frames"], found["titles"]);
    }
}

#[test]
fn one_for_a_page_has_the_same_frames_and_nothing_active() {
    let report = layers(12);
    let name = "<svg onload='x'>\"";
    let alone = modelmeter_draw::flamegraph(&report, MODEL, SETTING);
    let inside = modelmeter_draw::flamegraph_for_page(&report, MODEL);
    assert_eq!(panels(&inside), panels(&alone));
    let strange = modelmeter_draw::flamegraph_for_page(&report, name);
    for word in ["<script", "<style", "style=", "onload='", "<svg onload"] {
        assert!(!strange.contains(word), "{word}");
    }
    assert_eq!(strange.matches("<svg").count(), 1);
    // A model of many blocks does not make the page heavy.
    let large = modelmeter_draw::flamegraph_for_page(&layers(400), MODEL);
    assert!(large.len() < 260_000, "{}", large.len());
}
