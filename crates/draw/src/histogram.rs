//! How the samples of one run are distributed: a bar for each span of time, median and percentiles marked.

use crate::{
    Absent, axis,
    canvas::{Area, Stroke},
    material::quantile,
    picture::{Drawn, RunMaterial},
    plot::{Plot, flags},
    scale::Scale,
};
use types::Unit;

/// Bars that can be told apart.
const MOST_BARS: f64 = 56.0;
const FEWEST_BARS: f64 = 8.0;

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let (sorted, summary) = material.sorted()?;
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Err(material.no_samples());
    };
    let at = |share: f64| quantile(&sorted, share).unwrap_or(*first);
    // A single sample far out would press all others together; it is told below.
    let edge = (at(0.99) + (at(0.99) - at(0.01)) * 0.35).min(*last);
    let inside = &sorted[..sorted.partition_point(|sample| *sample <= edge)];
    let beyond = sorted.len() - inside.len();
    // The width that Freedman and Diaconis advise.
    let wanted = 2.0 * (at(0.75) - at(0.25)) / (sorted.len() as f64).cbrt();
    let bars = if wanted > 0.0 { (edge - first) / wanted } else { FEWEST_BARS };
    let bars = bars.clamp(FEWEST_BARS, MOST_BARS).round() as usize;
    let wide = (edge - first) / bars as f64;
    let mut counts = vec![0_u64; bars];
    for sample in inside {
        let bar = if wide > 0.0 { ((sample - first) / wide) as usize } else { 0 };
        counts[bar.min(bars - 1)] += 1;
    }

    let mut plot = Plot::new(material.paper);
    let above = 48.0;
    let most = counts.iter().copied().max().unwrap_or(0) as f64;
    let probe = Scale::linear([most].into_iter(), 1.0, 0.0);
    let field = plot.field(&probe, Unit::Count, above);
    let y = Scale::linear([most].into_iter(), field.bottom(), field.y);
    let x = Scale::between(*first, edge.max(first + wide * bars as f64), field.x, field.right());
    let look = plot.canvas.look;
    axis::left(&mut plot.canvas, field, &y, Unit::Count, "");
    axis::below(&mut plot.canvas, field, &x, Unit::Seconds, &material.sample_name());
    for (number, count) in counts.iter().enumerate() {
        let (from, to) = (first + wide * number as f64, first + wide * (number + 1) as f64);
        let (left, right) = (x.at(from), x.at(to));
        let top = y.at(*count as f64);
        let bar = Area {
            x: left + 0.5,
            y: top,
            width: (right - left - 1.0).max(1.0),
            height: field.bottom() - top,
        };
        if *count > 0 {
            let words = format!(
                "{} samples from {} to {}",
                report::count(*count),
                report::seconds(from),
                report::seconds(to)
            );
            plot.canvas.begin_told(&words);
            plot.canvas.rectangle(bar, look.series(0), 0.75);
            plot.canvas.end();
        }
    }
    let mut named = Vec::new();
    let marks = [
        ("median", "p50", summary.median),
        ("p95", "p95", summary.p95),
        ("p99", "p99", summary.p99),
    ];
    for (number, (name, key, value)) in marks.into_iter().enumerate() {
        if !x.holds(value) {
            continue;
        }
        let place = x.at(value);
        let stroke = Stroke::new(look.text, if number == 0 { 2.0 } else { 1.3 });
        let stroke = if number == 0 { stroke } else { stroke.dashed("4 3") };
        plot.canvas.line((place, field.y - 4.0), (place, field.bottom()), stroke);
        let star = if summary.supports(key) { "" } else { "*" };
        named.push((place, format!("{name} {}{star}", report::seconds(value))));
    }
    flags(&mut plot.canvas, field, &named);
    let is_sure = summary.supports("p50") && summary.supports("p95") && summary.supports("p99");
    let notes = vec![
        format!(
            "{} samples in {} spans of equal length.",
            report::count(sorted.len() as u64),
            bars
        ),
        match beyond {
            0 => String::new(),
            1 => format!("1 sample lies beyond the right edge, at {}.", report::seconds(*last)),
            many => format!(
                "{} samples lie beyond the right edge, the largest at {}.",
                report::count(many as u64),
                report::seconds(*last)
            ),
        },
        if is_sure { String::new() } else { "* too few samples to support it.".into() },
    ];
    let about = format!(
        "{} samples from {} to {}, median {}, p95 {}, p99 {}",
        report::count(sorted.len() as u64),
        report::seconds(*first),
        report::seconds(*last),
        report::seconds(summary.median),
        report::seconds(summary.p95),
        report::seconds(summary.p99)
    );
    Ok(plot.finish("Distribution of the samples", &about, notes))
}
