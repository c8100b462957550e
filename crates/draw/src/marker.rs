//! Shapes that tell number formats apart, so that colour need not.

use crate::{
    canvas::{Canvas, Stroke},
    look::Colour,
};
use types::Precision;

/// A shape on a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Marker {
    Circle,
    Square,
    Diamond,
    Triangle,
}

impl Marker {
    /// The shape of a number format.
    pub(crate) fn of(precision: Precision) -> Marker {
        match precision {
            Precision::Fp32 => Marker::Circle,
            Precision::Fp16 => Marker::Square,
            Precision::Bf16 => Marker::Diamond,
            Precision::Int8 | Precision::Stored => Marker::Triangle,
        }
    }

    /// Draws it with a thin rim of the background, so that neighbours stay apart.
    pub(crate) fn draw(self, canvas: &mut Canvas, (x, y): (f64, f64), size: f64, colour: Colour) {
        let rim = canvas.look.background;
        let corners: &[(f64, f64)] = match self {
            Marker::Circle => {
                canvas.circle((x, y), size + 1.2, rim, 1.0);
                canvas.circle((x, y), size, colour, 1.0);
                return;
            }
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            Marker::Triangle => &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
        };
        let place = |(dx, dy): &(f64, f64)| (x + dx * size, y + dy * size);
        let mut points: Vec<(f64, f64)> = corners.iter().map(place).collect();
        canvas.polygon(&points, colour, 1.0);
        points.push(points[0]);
        canvas.polyline(&points, Stroke::new(rim, 1.2));
    }
}
