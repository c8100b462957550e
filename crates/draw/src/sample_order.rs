//! Every sample of one run in its order: the first inference, warm-up, what was measured, and what stood apart.

use crate::{
    Absent, axis,
    canvas::{Area, Ink, Stroke},
    material::quantile,
    picture::{Drawn, RunMaterial},
    plot::{Plot, SIZE, stretches},
    scale::Scale,
};
use types::{Summary, Unit};

/// More samples than this are drawn as a band from the lowest to the highest of each stretch.
const MOST_DOTS: usize = 700;

/// Stretches of a band.
const STRETCHES: usize = 260;

/// Crosses that are drawn; the farthest first.
const MOST_CROSSES: usize = 250;

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let (sorted, summary) = material.sorted()?;
    let samples = material.in_order();
    let run = material.run;
    let seconds = |nanos: &u64| *nanos as f64 / 1e9;
    let mut warm: Vec<f64> = run.warmup.nanos.iter().map(seconds).collect();
    if run.tells("cold.first_inference") && run.imported.is_none() {
        warm.insert(0, run.cold.first_inference.as_secs_f64());
    }
    let at = |share: f64| quantile(&sorted, share).unwrap_or(summary.median);
    // What is far above everything else is drawn at the edge and told below.
    let roof = (at(0.95) * 2.5).max(summary.median * 1.5);
    let all = || warm.iter().chain(&samples).copied();
    let high = all().filter(|value| *value <= roof).fold(at(0.95), f64::max);
    let low = all().fold(f64::INFINITY, f64::min);
    // From nothing, unless that would leave half of the paper empty.
    let floor = if low > high * 0.5 { (low - (high - low) * 0.25).max(0.0) } else { 0.0 };
    let top = high + (high - floor) * 0.06;

    let mut plot = Plot::new(material.paper);
    let field = plot.field(&Scale::between(floor, top, 1.0, 0.0), Unit::Seconds, 30.0);
    let y = Scale::between(floor, top, field.bottom(), field.y);
    let count = (warm.len() + samples.len()) as f64;
    let x = Scale::between(0.0, count.max(1.0), field.x, field.right());
    let look = plot.canvas.look;
    let place = |number: usize, value: f64| (x.at(number as f64 + 0.5), y.at(value));
    if !warm.is_empty() {
        let until = x.at(warm.len() as f64);
        let before = Area { x: field.x, y: field.y, width: until - field.x, height: field.height };
        plot.canvas.rectangle(before, look.grid, 0.6);
    }
    axis::left(&mut plot.canvas, field, &y, Unit::Seconds, "");
    let name = format!("{}s in order", material.sample_word());
    axis::below(&mut plot.canvas, field, &x, Unit::Count, &name);
    let band = Area {
        x: x.at(warm.len() as f64),
        y: y.at(summary.ci95_median.high),
        width: field.right() - x.at(warm.len() as f64),
        height: y.at(summary.ci95_median.low) - y.at(summary.ci95_median.high),
    };
    plot.canvas.rectangle(band, look.series(2), 0.25);
    let apart = apart(&samples, &summary);
    if samples.len() <= MOST_DOTS {
        let is_within =
            |(number, _): &(usize, &f64)| apart.iter().all(|(other, _)| other != number);
        let within = samples.iter().enumerate().filter(is_within);
        let dots: Vec<(f64, f64)> =
            within.map(|(number, value)| place(warm.len() + number, *value)).collect();
        // Few may be larger.
        let radius = if samples.len() <= 150 { 2.6 } else { 1.7 };
        plot.canvas.dots(&dots, radius, look.series(0), 0.75);
    } else {
        let parts = stretches(&samples, STRETCHES);
        let middle =
            |first: usize, end: usize| x.at(warm.len() as f64 + (first + end) as f64 / 2.0);
        let upper = parts.iter().map(|one| (middle(one.first, one.end), y.at(one.high)));
        let lower = parts.iter().rev().map(|one| (middle(one.first, one.end), y.at(one.low)));
        let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
        plot.canvas.polygon(&outline, look.series(0), 0.3);
        let line: Vec<(f64, f64)> =
            parts.iter().map(|one| (middle(one.first, one.end), y.at(one.middle))).collect();
        plot.canvas.polyline(&line, Stroke::new(look.series(0), 1.3));
    }
    let dots: Vec<(f64, f64)> =
        warm.iter().enumerate().map(|(number, value)| place(number, *value)).collect();
    // A warm-up of thousands is one smear; its ends and every so many say enough.
    let every = dots.len().div_ceil(MOST_DOTS).max(1);
    let dots: Vec<(f64, f64)> = dots.into_iter().step_by(every).collect();
    plot.canvas.dots(&dots, 2.1, look.axis, 1.0);
    let line = y.at(summary.median);
    let from = x.at(warm.len() as f64);
    plot.canvas.line((from, line), (field.right(), line), Stroke::new(look.text, 1.2));
    let outliers = apart.len();
    let crosses: Vec<(f64, f64)> = apart
        .iter()
        .take(MOST_CROSSES)
        .map(|(number, value)| place(warm.len() + number, *value))
        .collect();
    plot.canvas.crosses(&crosses, 3.2, Stroke::new(look.series(1), 1.5));
    let ink = Ink::new(SIZE, look.muted);
    if !warm.is_empty() {
        plot.canvas.text(field.x, field.y - 8.0, "warm-up", ink);
    }
    let words = format!("median {}", report::seconds(summary.median));
    let named = Ink::new(SIZE, look.text).end();
    let beside = field.x + Ink::new(SIZE, look.muted).width("warm-up") + 20.0;
    if field.right() - named.width(&words) > beside {
        plot.canvas.text(field.right(), field.y - 8.0, &words, named);
    }
    let beyond = all().filter(|value| *value > top).count();
    let most = all().fold(0.0, f64::max);
    let notes = vec![
        match outliers {
            0 => "No outliers.".into(),
            1 => "Cross: 1 outlier (modified Z-score above 3.5); it is counted, too.".into(),
            many => format!(
                "Crosses: {} outliers (modified Z-score above 3.5); they are counted, too.",
                report::count(many as u64)
            ),
        },
        warm_words(material, warm.len()),
        if samples.len() > MOST_DOTS {
            "Band: from the lowest to the highest sample of each section; line: its median.".into()
        } else {
            String::new()
        },
        match beyond {
            0 => String::new(),
            1 => format!("1 sample is above the upper edge, at {}.", report::seconds(most)),
            many => format!(
                "{} samples are above the upper edge, the highest at {}.",
                report::count(many as u64),
                report::seconds(most)
            ),
        },
        "Green: 95 % interval of the median.".into(),
    ];
    let about = format!(
        "{} warm-up and {} measured samples in order; {outliers} outliers",
        warm.len(),
        samples.len()
    );
    Ok(plot.finish("Samples in order", &about, notes))
}

fn warm_words(material: &RunMaterial<'_>, shown: usize) -> String {
    let word = material.sample_word();
    let first = report::duration(material.run.cold.first_inference);
    match (shown, material.run.warmup.settled) {
        (0, _) => String::new(),
        (_, true) => format!("Grey: warm-up, which is not counted; the first {word} took {first}."),
        (_, false) => format!(
            "Grey: warm-up, which did not settle and is not counted; the first {word} took {first}."
        ),
    }
}

/// The samples that the summary counts as outliers, the farthest first: its rule goes by the distance from the median alone.
fn apart(samples: &[f64], summary: &Summary) -> Vec<(usize, f64)> {
    let far = |value: f64| (value - summary.median).abs();
    let mut all: Vec<(usize, f64)> = samples.iter().copied().enumerate().collect();
    all.sort_by(|one, other| far(other.1).total_cmp(&far(one.1)).then(one.0.cmp(&other.0)));
    all.truncate(usize::try_from(summary.outliers).unwrap_or(usize::MAX));
    all
}
