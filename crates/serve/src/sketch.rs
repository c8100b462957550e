//! Small drawings of what goes on, in the colours of the page.

use page::Html;

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 64.0;

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
    fn a_line_needs_two_points_and_a_number_that_is_none_harms_nothing() {
        let mut html = Html::default();
        line(&mut html, "nothing", &[1.0], None);
        assert_eq!(html.finish(), "");
        let mut html = Html::default();
        line(&mut html, "x", &[1.0, f64::NAN, 0.5], Some(2.0));
        assert!(html.finish().contains("<polyline"));
    }
}
