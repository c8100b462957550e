//! The paper of a picture of one run: small, without a title of its own, for a page that has one above it.

use crate::{
    axis,
    canvas::{Area, Canvas, Ink},
    look::Theme,
    picture::Drawn,
    scale::Scale,
};
use types::Unit;

/// What a picture is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paper {
    /// A wide screen, and print.
    #[default]
    Screen,
    /// A phone: as narrow as it is, so that words keep their size.
    Phone,
}

impl Paper {
    /// Points from edge to edge.
    pub(crate) fn width(self) -> f64 {
        match self {
            Paper::Screen => 560.0,
            Paper::Phone => 360.0,
        }
    }
}

/// Points from top to bottom.
pub(crate) const HEIGHT: f64 = 300.0;

/// Points that stay free at the left and right edge.
const EDGE: f64 = 10.0;

/// The size of words in the field.
pub(crate) const SIZE: f64 = 12.0;

/// A picture under way.
pub(crate) struct Plot {
    pub(crate) canvas: Canvas,
    /// Points from edge to edge.
    pub(crate) width: f64,
}

impl Plot {
    pub(crate) fn new(paper: Paper) -> Plot {
        Plot { canvas: Canvas::new(Theme::Light.look()), width: paper.width() }
    }

    /// The place for the data beside an axis with these numbers at the left, below so many points for words.
    pub(crate) fn field(&self, scale: &Scale, unit: Unit, above: f64) -> Area {
        let left = EDGE + axis::width_of(scale, unit) + 10.0;
        Area {
            x: left,
            y: above,
            width: self.width - left - EDGE - 8.0,
            height: HEIGHT - above - axis::BELOW,
        }
    }

    /// The picture with what it shows and what must be said below it.
    pub(crate) fn finish(self, title: &str, about: &str, notes: Vec<String>) -> Drawn {
        let svg = self.canvas.finish(self.width, HEIGHT, title, about);
        Drawn { svg, notes: notes.into_iter().filter(|note| !note.is_empty()).collect() }
    }
}

/// Names of upright lines in rows above the field, so that none touches another.
pub(crate) fn flags(canvas: &mut Canvas, field: Area, named: &[(f64, String)]) {
    let ink = Ink::new(SIZE, canvas.look.text);
    let mut ends: Vec<f64> = Vec::new();
    for (x, words) in named {
        let wide = ink.width(words);
        // To the left of its line where there is no room to the right.
        let begin = if x + 4.0 + wide > field.right() + 8.0 { x - 4.0 - wide } else { x + 4.0 };
        let row = ends.iter().position(|end| *end <= begin).unwrap_or(ends.len());
        match ends.get_mut(row) {
            Some(end) => *end = begin + wide + 6.0,
            None => ends.push(begin + wide + 6.0),
        }
        canvas.text(begin, field.y - 6.0 - 14.0 * row as f64, words, ink);
    }
}

/// Samples in a stretch: how low and how high they go, and the one in the middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    /// The number of its first sample.
    pub(crate) first: usize,
    /// The number after its last one.
    pub(crate) end: usize,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) middle: f64,
}

/// So many stretches of equal length; the lowest and the highest of all samples are in them.
pub(crate) fn stretches(samples: &[f64], most: usize) -> Vec<Stretch> {
    let count = most.clamp(1, samples.len().max(1));
    let place = |index: usize| index * samples.len() / count;
    let stretch = |index: usize| {
        let (first, end) = (place(index), place(index + 1));
        let mut part = samples.get(first..end)?.to_vec();
        part.sort_by(f64::total_cmp);
        let (low, high) = (*part.first()?, *part.last()?);
        Some(Stretch { first, end, low, high, middle: part[part.len() / 2] })
    };
    (0..count).filter_map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_keep_the_lowest_and_the_highest() {
        let mut samples: Vec<f64> =
            (0..100_000).map(|number| 1.0 + f64::from(number % 7)).collect();
        samples[4_321] = 99.0;
        samples[77_777] = 0.01;
        let all = stretches(&samples, 300);
        assert_eq!(all.len(), 300);
        assert_eq!(all.iter().map(|one| one.high).fold(0.0, f64::max), 99.0);
        assert_eq!(all.iter().map(|one| one.low).fold(9.0, f64::min), 0.01);
        assert_eq!((all[0].first, all[299].end), (0, 100_000));
        assert!(all.windows(2).all(|pair| pair[0].end == pair[1].first));
        assert_eq!(stretches(&[1.0, 2.0], 300).len(), 2);
        assert!(stretches(&[], 300).is_empty());
    }
}
