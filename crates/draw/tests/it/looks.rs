//! What people see.

use crate::sample;
use modelmeter_draw::{Material, PICTURES, Picture, Theme, png};
use types::{MissingCode, Mode, Reading};

#[test]
fn every_picture_looks_as_it_did() {
    let material = sample::usual();
    for picture in PICTURES {
        let svg = picture.svg(&material, Theme::Light).unwrap();
        insta::assert_snapshot!(picture.name, svg);
    }
}

#[test]
fn themes_differ_in_colours_alone() {
    let material = sample::usual();
    let without_colours = |svg: String| -> String {
        let mut out = String::new();
        let mut rest = svg.as_str();
        while let Some(at) = rest.find("\"#") {
            out.push_str(&rest[..at]);
            rest = &rest[at + 8..];
        }
        out + rest
    };
    for picture in PICTURES {
        let light = picture.svg(&material, Theme::Light).unwrap();
        let dark = picture.svg(&material, Theme::Dark).unwrap();
        assert_ne!(light, dark);
        assert_eq!(without_colours(light), without_colours(dark), "{}", picture.name);
    }
}

#[test]
fn on_a_phone_words_keep_their_size() {
    let material = sample::usual();
    for name in ["latency", "throughput", "batch-scaling", "memory", "training"] {
        let drawn = Picture::by_name(name).unwrap().for_phone(&material).unwrap();
        let document = roxmltree::Document::parse(&drawn.svg).unwrap();
        assert_eq!(document.root_element().attribute("width"), Some("380"), "{name}");
        let sizes = document.descendants().filter_map(|node| node.attribute("font-size"));
        let sizes: Vec<f64> = sizes.map(|size| size.parse().unwrap()).collect();
        assert!(sizes.len() > 10 && sizes.iter().all(|size| *size >= 12.0), "{name}: {sizes:?}");
        let ends = document.descendants().filter(|node| node.has_tag_name("text"));
        let places = ends.map(|node| node.attribute("x").unwrap().parse::<f64>().unwrap());
        assert!(places.into_iter().all(|x| (0.0..=380.0).contains(&x)), "{name}");
    }
}

#[test]
fn equal_material_gives_equal_bytes() {
    for picture in PICTURES {
        let [one, other] = [sample::usual(), sample::usual()]
            .map(|material| picture.svg(&material, Theme::Dark).unwrap());
        assert_eq!(one, other);
    }
}

#[test]
fn a_png_has_two_pixels_a_point_and_something_on_it() {
    let material = sample::usual();
    for picture in PICTURES {
        let svg = picture.svg(&material, Theme::Dark).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let root = document.root_element();
        let points = |name: &str| root.attribute(name).unwrap().parse::<u32>().unwrap();
        let bytes = png(&svg, 2.0).unwrap();
        assert_eq!(&bytes[1..4], b"PNG");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((number(16), number(20)), (points("width") * 2, points("height") * 2));
        // An empty sheet of that size packs into a few hundred bytes a thousand lines; words and marks do not.
        let blank = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\"/>",
            points("width"),
            points("height")
        );
        let blank = png(&blank, 2.0).unwrap();
        assert!(bytes.len() > 3 * blank.len(), "{}: {}", picture.name, bytes.len());
    }
}

#[test]
fn words_are_painted_with_the_font_that_is_carried_along() {
    let with = |text: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\" \
             font-family=\"No Such Font, sans-serif\"><text x=\"9\" y=\"30\">{text}</text></svg>"
        )
    };
    assert_ne!(png(&with("latency"), 1.0).unwrap(), png(&with(""), 1.0).unwrap());
}

#[test]
fn every_picture_says_what_it_shows_and_what_it_rests_on() {
    let material = sample::usual();
    for picture in PICTURES {
        let svg = picture.svg(&material, Theme::Light).unwrap();
        assert!(svg.contains("pooled in"), "{}", picture.name);
    }
    let latency = Picture::by_name("latency").unwrap().svg(&material, Theme::Light).unwrap();
    for words in ["bench", "p95", "median", "density", "batch 1"] {
        assert!(latency.contains(words), "{words}");
    }
    let roofline = Picture::by_name("roofline").unwrap().svg(&material, Theme::Light).unwrap();
    for words in ["180 GFLOP/s", "memory 21.0 GB/s", "of attainable", "L3"] {
        assert!(roofline.contains(words), "{words}");
    }
}

#[test]
fn a_picture_without_material_says_what_to_run() {
    for picture in PICTURES {
        let absent = picture.svg(&Material::default(), Theme::Light).unwrap_err();
        assert!(absent.hint.starts_with("modelmeter "), "{}", picture.name);
        assert!(!absent.why.is_empty());
    }
    let mut material = sample::usual();
    material.cells.retain(|cell| cell.key.mode == Mode::Training);
    let absent = Picture::by_name("training").unwrap().svg(&material, Theme::Light).unwrap_err();
    assert!(absent.why.contains("inference"), "{}", absent.why);
    let mut material = sample::usual();
    material.cells.iter_mut().for_each(|cell| cell.key.mode = Mode::Load);
    for name in ["throughput", "batch-scaling", "heat-map"] {
        let absent = Picture::by_name(name).unwrap().svg(&material, Theme::Light).unwrap_err();
        assert!(absent.why.contains("every valid run is a load"), "{name}: {}", absent.why);
        assert!(absent.hint.starts_with("modelmeter load "), "{name}: {}", absent.hint);
    }
    let mut material = sample::usual();
    for cell in &mut material.cells {
        cell.memory = Reading::missing(MissingCode::NotMeasured, "no");
    }
    assert!(Picture::by_name("memory").unwrap().svg(&material, Theme::Light).is_err());
}
