//! The steps of writing over the tokens in the cache: every step a dot, and the line through them with its interval.

use crate::{
    canvas::{Area, Canvas, Stroke},
    look::Colour,
    scale::Scale,
};
use types::{Run, StepGrowth};

/// Steps that are kept of one run; more are one smear.
const MOST: usize = 600;

/// The steps of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steps {
    /// Tokens in the cache and seconds, the fewest tokens first.
    points: Vec<(f64, f64)>,
    /// The straight line through all of them, where it was told.
    growth: Option<StepGrowth>,
    /// The middle of all points, about which the line may turn.
    centre: (f64, f64),
}

impl Steps {
    /// The steps of a run that writes; `None` for others.
    #[must_use]
    pub fn of(run: &Run) -> Option<Steps> {
        let steps = run.steps().into_iter();
        let points = steps.map(|(depth, nanos)| (depth as f64, nanos as f64 / 1e9)).collect();
        Steps::new(points, run.generation.as_ref().and_then(|report| report.growth))
    }

    /// Steps by their tokens in the cache and their seconds; `None` if there are none.
    #[must_use]
    pub fn new(mut points: Vec<(f64, f64)>, growth: Option<StepGrowth>) -> Option<Steps> {
        points.retain(|(depth, time)| depth.is_finite() && time.is_finite());
        if points.is_empty() {
            return None;
        }
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let centre = (mean(|point| point.0), mean(|point| point.1));
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        // Whole numbers only, so that the same steps are chosen everywhere.
        let shown = points.len().min(MOST);
        let last = points.len() - 1;
        let chosen = (0..shown).map(|index| points[index * last / (shown - 1).max(1)]);
        Some(Steps { points: chosen.collect(), growth, centre })
    }

    /// The fewest and the most tokens.
    pub(crate) fn span(&self) -> (f64, f64) {
        let depth = |point: Option<&(f64, f64)>| point.map_or(0.0, |point| point.0);
        (depth(self.points.first()), depth(self.points.last()))
    }

    /// The time below which this share of the steps lies.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut times: Vec<f64> = self.points.iter().map(|point| point.1).collect();
        times.sort_by(f64::total_cmp);
        crate::material::quantile(&times, share).unwrap_or(0.0)
    }

    pub(crate) fn growth(&self) -> Option<StepGrowth> {
        self.growth
    }

    /// Tokens and time in the middle of the run.
    pub(crate) fn middle(&self) -> (f64, f64) {
        (self.centre.0, self.quantile(0.5))
    }

    /// How many steps are above this time.
    pub(crate) fn above(&self, time: f64) -> usize {
        self.points.iter().filter(|point| point.1 > time).count()
    }

    /// Draws the dots, then the line with the room in which its slope may lie.
    pub(crate) fn draw(&self, canvas: &mut Canvas, (x, y): (&Scale, &Scale), colour: Colour) {
        let dots: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter(|(_, time)| y.holds(*time))
            .map(|(depth, time)| (x.at(*depth), y.at(*time)))
            .collect();
        canvas.dots(&dots, 1.6, colour, 0.45);
        let (from, to) = self.span();
        if let Some(StepGrowth { per_thousand, interval, .. }) = self.growth {
            let height =
                |slope: f64, depth: f64| self.centre.1 + slope / 1000.0 * (depth - self.centre.0);
            let place = |slope: f64, depth: f64| (x.at(depth), y.at(height(slope, depth)));
            let (low, high) = (interval.low, interval.high);
            let room = [place(low, from), place(low, to), place(high, to), place(high, from)];
            canvas.polygon(&room, colour, 0.22);
            let ends = (place(per_thousand.0, from), place(per_thousand.0, to));
            canvas.line(ends.0, ends.1, Stroke::new(canvas.look.text, 1.6));
        }
    }
}

/// The time that the field goes up to: what is far above everything else is told below.
pub(crate) fn roof<'a>(all: impl Iterator<Item = &'a Steps>) -> f64 {
    all.map(|steps| (steps.quantile(0.98) * 1.15).max(steps.middle().1 * 1.25)).fold(0.0, f64::max)
}

/// A scale for tokens: from the fewest to the most.
pub(crate) fn tokens<'a>(all: impl Iterator<Item = &'a Steps>, area: Area) -> Scale {
    let (low, high) = all
        .map(Steps::span)
        .fold((f64::INFINITY, 0.0_f64), |found, span| (found.0.min(span.0), found.1.max(span.1)));
    let low = if low.is_finite() { low } else { 0.0 };
    // From nothing, unless that would leave half of the paper empty.
    let floor = if low > high * 0.5 { low - (high - low) * 0.05 } else { 0.0 };
    Scale::between(floor, high + (high - floor) * 0.02, area.x, area.right())
}

/// What is said of dots, lines and rooms.
pub(crate) const LEGEND: &str = "Dot: one step. Line: least squares through all steps of a run, from 256 tokens on; shaded: 95 % interval of its slope.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_middle_of_the_steps_are_kept() {
        let points: Vec<(f64, f64)> = (0..5).map(|step| (f64::from(step), 0.001)).collect();
        let steps = Steps { points, growth: None, centre: (2.0, 0.001) };
        assert_eq!((steps.span(), steps.middle()), ((0.0, 4.0), (2.0, 0.001)));
        assert_eq!(steps.above(0.0005), 5);
    }
}
