//! Names and numbers that mean no good.

use crate::sample;
use modelmeter_draw::{Material, PICTURES, Picture, Theme, png};
use types::{Bytes, Device, Interval, Pooled, Precision, Reading};

/// Every picture that can be drawn is well formed, inside of its paper and can be painted.
fn drawn(material: &Material) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for picture in PICTURES {
        let Ok(svg) = picture.svg(material, Theme::Light) else { continue };
        let document = roxmltree::Document::parse(&svg)
            .unwrap_or_else(|error| panic!("{}: {error}\n{svg}", picture.name));
        let root = document.root_element();
        let height: f64 = root.attribute("height").unwrap().parse().unwrap();
        assert!(height < 3000.0, "{}: {height}", picture.name);
        assert!(svg.len() < 2_000_000, "{}: {} bytes", picture.name, svg.len());
        for node in document.descendants().filter(|node| node.has_tag_name("text")) {
            let at = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
            assert!((0.0..=960.0).contains(&at("x")), "{}: {node:?}", picture.name);
            assert!((0.0..=height).contains(&at("y")), "{}: {node:?}", picture.name);
        }
        for broken in ["NaN", "inf\"", "\"inf"] {
            assert!(!svg.contains(broken), "{}: {broken}", picture.name);
        }
        found.push((picture.name, svg));
    }
    found
}

#[test]
fn names_from_outside_are_words_and_nothing_else() {
    for name in [
        "<script>alert(1)</script>",
        "a & b \"quoted\" 'so' ]]> <!-- -->",
        "two\nlines\tand a \u{1b}[31mcolour\u{0}",
        "🦀🦀🦀 modèle 模型 \u{202e}backwards",
        "",
        &"long".repeat(75),
        &"wide ".repeat(60),
        &"W".repeat(5000),
    ] {
        let mut material = sample::usual();
        for cell in &mut material.cells {
            cell.key.model = name.into();
            cell.key.engine = format!("{name}{}", cell.key.engine);
            cell.key.variant = name.into();
        }
        let cells = std::mem::take(&mut material.cells);
        let mut material = sample::of(cells);
        material.machines.values_mut().for_each(|host| *host = name.into());
        let pictures = drawn(&material);
        assert!(pictures.len() >= 6, "{name}");
        for (_, svg) in pictures {
            assert!(!svg.contains("<script") && !svg.contains('\u{1b}') && !svg.contains('\u{0}'));
            png(&svg, 1.0).unwrap();
        }
    }
}

#[test]
fn numbers_that_are_none_harm_no_picture() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300, 5e-324] {
        for every in [1, 2, 3] {
            let mut material = sample::usual();
            for cell in material.cells.iter_mut().step_by(every) {
                let pooled =
                    Pooled { value, interval: Some(Interval { low: -value, high: value }) };
                cell.latency = pooled;
                cell.throughput = Reading::of(pooled);
                cell.memory = Reading::of(Bytes(if value > 1.0 { u64::MAX } else { 0 }));
                cell.memory_spread = Reading::of(pooled);
                material.samples.insert(cell.key.clone(), vec![value; 3]);
                let detail = material.details.get_mut(&cell.key).unwrap();
                detail.phases.iter_mut().for_each(|phase| phase.1 = value);
            }
            for (_, svg) in drawn(&material) {
                png(&svg, 1.0).unwrap();
            }
        }
    }
}

#[test]
fn one_cell_is_enough_for_most_pictures() {
    let material = sample::of(vec![sample::cell("tiny", "rten", Precision::Fp32, 1, 0.001)]);
    let names: Vec<&str> = drawn(&material).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["throughput", "latency", "memory", "roofline", "heat-map"]);
}

#[test]
fn lengths_of_one_model_are_rows_of_their_own_and_never_compared() {
    let mut short = sample::cell("tiny", "rten", Precision::Fp32, 1, 0.001);
    short.key.sequence_length = Some(3);
    let long = |engine: &str, seconds| {
        let mut cell = sample::cell("tiny", engine, Precision::Fp32, 1, seconds);
        cell.key.sequence_length = Some(128);
        cell
    };
    let cells = vec![short, long("rten", 0.040), long("onnxruntime", 0.050)];
    let pictures = drawn(&sample::of(cells));
    let heat_map = &pictures.iter().find(|(name, _)| *name == "heat-map").unwrap().1;
    assert!(heat_map.contains("tiny · 3 tokens") && heat_map.contains("tiny · 128 tokens"));
    assert!(heat_map.contains("80 %"), "ONNX Runtime against rten at 128 tokens");
}

#[test]
fn of_two_hundred_cells_the_best_are_shown_and_the_rest_is_counted() {
    let mut cells = Vec::new();
    for number in 0..200_u32 {
        let name = format!("model-{:02}", number % 20);
        let seconds = 0.001 * f64::from(1 + number);
        let mut cell =
            sample::cell(&name, &format!("engine-{}", number / 20), Precision::Fp32, 1, seconds);
        cell.key.device = if number % 2 == 0 { Device::Cpu } else { Device::Cuda(0) };
        cells.push(cell);
    }
    let pictures = drawn(&sample::of(cells));
    let of = |name: &str| &pictures.iter().find(|(known, _)| *known == name).unwrap().1;
    for name in ["throughput", "latency", "memory"] {
        assert!(of(name).contains("188 more cells are not shown"), "{name}");
    }
    assert!(of("throughput").contains("model-00") && !of("throughput").contains("model-15"));
    assert!(of("heat-map").contains("more fields are not shown"));
    assert!(!of("heat-map").contains(">not measured<"), "a row of nothing tells nothing");
}

#[test]
fn a_cell_without_repetition_has_a_mark_and_no_whiskers() {
    let mut material = sample::usual();
    for cell in &mut material.cells {
        let value = cell.throughput.value.unwrap().value;
        cell.throughput = Reading::of(Pooled { value, interval: None });
    }
    let of = |material: &Material| {
        Picture::by_name("throughput").unwrap().svg(material, Theme::Light).unwrap()
    };
    let lines = |svg: &str| svg.matches("<line").count();
    assert!(lines(&of(&material)) < lines(&of(&sample::usual())));
}
