//! Models × hardware: what was measured, what is predicted, and what nobody knows. Told apart by sign, frame and pattern, not
//! by colour alone.

use std::fmt::Write as _;

const ROW: f64 = 30.0;
const COLUMN: f64 = 150.0;
const SIDE: f64 = 230.0;
const TOP: f64 = 96.0;
/// Letters of a name that have room.
const LONGEST: usize = 28;
const LONGEST_HEAD: usize = 20;

/// One field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatrixCell {
    /// Samples per second, measured.
    Measured(f64),
    /// Samples per second, predicted, with its 90 % interval.
    Predicted {
        /// The prediction.
        rate: f64,
        /// Where its interval begins.
        low: f64,
        /// Where it ends.
        high: f64,
    },
    /// Neither measured nor in reach of a prediction.
    Unknown,
}

/// The picture as SVG; fields row by row, columns of hardware and engine.
#[must_use]
pub fn matrix(models: &[String], columns: &[(String, String)], cells: &[MatrixCell]) -> String {
    let width = SIDE + COLUMN * columns.len().max(3) as f64 + 20.0;
    let height = TOP + ROW * models.len() as f64 + 60.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" role=\"img\">\n<title>Samples per second: measured, predicted \
         and unknown</title>\n<defs><pattern id=\"predicted\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#fff6e0\"/><line x1=\"0\" y1=\"0\" x2=\"0\" \
         y2=\"7\" stroke=\"#f0d59a\" stroke-width=\"2\"/></pattern></defs>\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#ffffff\"/>\n<text x=\"16\" y=\"28\" font-size=\"17\" font-weight=\"600\" fill=\"#1a1a1a\">Samples per second \
         by model and hardware</text>\n"
    );
    for (at, (hardware, engine)) in columns.iter().enumerate() {
        let x = SIDE + COLUMN * (at as f64 + 0.5);
        text(&mut svg, x, TOP - 28.0, "middle", "#1a1a1a", &cut(hardware, LONGEST_HEAD));
        text(&mut svg, x, TOP - 10.0, "middle", "#555555", &cut(engine, LONGEST_HEAD));
    }
    for (row, model) in models.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        text(&mut svg, SIDE - 12.0, y + 19.0, "end", "#1a1a1a", &cut(model, LONGEST));
        for column in 0..columns.len() {
            let cell = cells.get(row * columns.len() + column).unwrap_or(&MatrixCell::Unknown);
            field(&mut svg, SIDE + COLUMN * column as f64, y, *cell);
        }
    }
    let y = TOP + ROW * models.len() as f64 + 18.0;
    for (at, (cell, words)) in [
        (MatrixCell::Measured(f64::NAN), "measured"),
        (
            MatrixCell::Predicted { rate: f64::NAN, low: f64::NAN, high: f64::NAN },
            "predicted, × ÷ 90 %",
        ),
        (MatrixCell::Unknown, "unknown"),
    ]
    .into_iter()
    .enumerate()
    {
        let x = 16.0 + 190.0 * at as f64;
        frame(&mut svg, x, y, 34.0, 20.0, cell);
        text(&mut svg, x + 42.0, y + 15.0, "start", "#1a1a1a", words);
    }
    svg.push_str("</svg>\n");
    svg
}

fn field(svg: &mut String, x: f64, y: f64, cell: MatrixCell) {
    frame(svg, x + 2.0, y + 2.0, COLUMN - 4.0, ROW - 4.0, cell);
    let words = match cell {
        MatrixCell::Measured(rate) => number::rate(rate),
        MatrixCell::Predicted { rate, low, high } => {
            format!("≈ {} × ÷ {:.2}", number::rate(rate), (high / low).sqrt())
        }
        MatrixCell::Unknown => "?".to_owned(),
    };
    text(svg, x + COLUMN / 2.0, y + 19.0, "middle", "#1a1a1a", &words);
}

fn frame(svg: &mut String, x: f64, y: f64, width: f64, height: f64, cell: MatrixCell) {
    let (fill, stroke) = match cell {
        MatrixCell::Measured(_) => ("#cfe6d5", "stroke=\"#2f7d4a\""),
        MatrixCell::Predicted { .. } => {
            ("url(#predicted)", "stroke=\"#a8741a\" stroke-dasharray=\"4 3\"")
        }
        MatrixCell::Unknown => ("#ffffff", "stroke=\"#bbbbbb\" stroke-dasharray=\"1 3\""),
    };
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\" fill=\"{fill}\" {stroke}/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, fill: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words: String = words.chars().filter(|letter| !letter.is_control()).collect();
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{words}</text>"
    );
}

fn cut(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    let begin: String = words.chars().take(most - 1).collect();
    format!("{begin}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_predicted_and_unknown_fields_are_told_apart_without_colour() {
        let predicted = MatrixCell::Predicted { rate: 10.0, low: 8.0, high: 12.5 };
        let svg = matrix(
            &["a<b".into(), "c".into()],
            &[("here".into(), "rten".into()), ("there".into(), "torch".into())],
            &[
                MatrixCell::Measured(20.0),
                predicted,
                MatrixCell::Unknown,
                MatrixCell::Measured(1.0),
            ],
        );
        assert!(svg.contains("a&lt;b") && svg.contains("× ÷ 1.25") && svg.contains(">?<"), "{svg}");
        assert_eq!(svg.matches("url(#predicted)").count(), 2, "one field and the legend");
        assert!(roxmltree::Document::parse(&svg).is_ok());
    }
}
