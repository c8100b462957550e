//! Small drawings of what goes on: bars and a line, in the colours of the page.

use page::Html;

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 64.0;

/// Bars of a histogram.
const BINS: usize = 40;

/// How samples lie; the longest hundredth is left out, so that one outlier does not hide the rest.
pub(crate) fn histogram(html: &mut Html, nanos: &[u64]) {
    let mut sorted = nanos.to_vec();
    sorted.sort_unstable();
    let (Some(first), Some(last)) =
        (sorted.first(), sorted.get((sorted.len().saturating_sub(1)) * 99 / 100))
    else {
        return;
    };
    let (low, high) = (*first as f64, (*last as f64).max(*first as f64 + 1.0));
    let mut bins = [0_usize; BINS];
    for value in sorted.iter().filter(|value| *value <= last) {
        let place = (*value as f64 - low) / (high - low) * BINS as f64;
        bins[(place as usize).min(BINS - 1)] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(1).max(1) as f64;
    let name = format!(
        "How {} samples lie, from {} to {}",
        nanos.len(),
        report::seconds(low / 1e9),
        report::seconds(high / 1e9)
    );
    svg(html, &name, |html| {
        let step = WIDTH / BINS as f64;
        for (number, count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let height = (*count as f64 / most * (HEIGHT - 2.0)).max(1.0);
            let place = |value: f64| format!("{value:.1}");
            html.inside(
                "rect",
                &[
                    ("x", &place(number as f64 * step)),
                    ("y", &place(HEIGHT - height)),
                    ("width", &place(step - 1.0)),
                    ("height", &place(height)),
                ],
                |_| {},
            );
        }
    });
}

/// Numbers over time, from 0; `limit` is drawn as a line of its own.
pub(crate) fn line(html: &mut Html, name: &str, values: &[f64], limit: Option<f64>) {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let most = finite.chain(limit).fold(0.0, f64::max);
    if values.len() < 2 || most <= 0.0 {
        return;
    }
    let height = |value: f64| HEIGHT - 1.0 - value.clamp(0.0, most) / most * (HEIGHT - 3.0);
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(number, value)| {
            let x = number as f64 / (values.len() - 1) as f64 * WIDTH;
            format!("{x:.1},{:.1}", height(*value))
        })
        .collect();
    svg(html, name, |html| {
        if let Some(limit) = limit {
            let y = format!("{:.1}", height(limit));
            let ends = [("x1", "0"), ("x2", "320"), ("y1", &*y), ("y2", &*y)];
            html.inside("line", &ends, |_| {});
        }
        html.inside("polyline", &[("points", &points.join(" "))], |_| {});
    });
}

fn svg(html: &mut Html, name: &str, fill: impl FnOnce(&mut Html)) {
    let view = format!("0 0 {WIDTH} {HEIGHT}");
    let attributes = [
        ("class", "sketch"),
        ("viewBox", view.as_str()),
        ("preserveAspectRatio", "none"),
        ("role", "img"),
        ("aria-label", name),
    ];
    html.inside("svg", &attributes, |html| {
        html.element("title", &[], name);
        fill(html);
    });
}

/// How much of something is done.
pub(crate) fn bar(html: &mut Html, share: f64, name: &str) {
    let value = format!("{:.3}", share.clamp(0.0, 1.0));
    let text = format!("{:.0} %", share.clamp(0.0, 1.0) * 100.0);
    html.element("progress", &[("value", &value), ("max", "1"), ("aria-label", name)], &text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_but_the_longest_is_in_a_bar() {
        let mut html = Html::default();
        histogram(&mut html, &[]);
        line(&mut html, "nothing", &[1.0], None);
        assert_eq!(html.finish(), "");
        let mut html = Html::default();
        let mut nanos: Vec<u64> = (0..1000).map(|i| 1_000_000 + i).collect();
        nanos.push(1_000_000_000);
        histogram(&mut html, &nanos);
        let text = html.finish();
        assert_eq!(text.matches("<rect").count(), BINS, "{text}");
        assert!(text.contains("<title>How 1001 samples lie"), "{text}");
        let mut html = Html::default();
        line(&mut html, "x", &[1.0, f64::NAN, 0.5], Some(2.0));
        assert!(html.finish().contains("<polyline"));
    }
}
