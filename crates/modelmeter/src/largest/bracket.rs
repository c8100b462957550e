//! Which batch to try next, between one that fits and one that does not.

/// What is known of the batches so far.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    /// The largest that fits; 0 while none is known.
    largest: usize,
    /// The smallest that does not.
    refused: usize,
    /// What may be resident.
    budget: Option<u64>,
    /// What was resident, by batch.
    peaks: Vec<(usize, u64)>,
    /// What one more sample should take, until two peaks tell better.
    each: Option<u64>,
    /// How wide the bracket was before each try.
    widths: Vec<usize>,
    /// What to try before anything else is known.
    first: Option<usize>,
    /// How wide, as a share of the largest, the bracket may stay.
    slack: f64,
}

impl Bracket {
    /// Nothing is known but that this batch does not fit, and how much memory there is.
    pub(crate) fn below(refused: usize, budget: Option<u64>) -> Bracket {
        let (peaks, widths) = (Vec::new(), Vec::new());
        let refused = refused.max(1);
        Bracket { largest: 0, refused, budget, peaks, each: None, widths, first: None, slack: 0.0 }
    }

    /// Tries this one first, because something foretold it.
    pub(crate) fn starting_at(mut self, first: usize) -> Bracket {
        self.first = Some(first);
        self
    }

    /// Is content with a bracket that is at most so wide, as a share of the largest that fits.
    pub(crate) fn within(mut self, slack: f64) -> Bracket {
        self.slack = slack;
        self
    }

    /// The largest that fits.
    pub(crate) fn largest(&self) -> Option<usize> {
        (self.largest > 0).then_some(self.largest)
    }

    /// The smallest that does not.
    pub(crate) fn refused(&self) -> usize {
        self.refused
    }

    /// A batch that ran, what was resident, and what a sample takes by the graph.
    pub(crate) fn fits(&mut self, batch: usize, peak: Option<u64>, each: Option<u64>) {
        self.widths.push(self.width());
        self.largest = self.largest.max(batch);
        self.peaks.extend(peak.map(|peak| (batch, peak)));
        self.each = self.each.or(each);
    }

    /// A batch that did not.
    pub(crate) fn refuses(&mut self, batch: usize) {
        self.widths.push(self.width());
        self.refused = self.refused.min(batch);
    }

    /// The next to try; `None` when the bracket is closed.
    pub(crate) fn next(&self) -> Option<usize> {
        if self.width() <= 1.max((self.largest as f64 * self.slack) as usize) {
            return None;
        }
        if self.largest == 0 {
            // One sample alone tells what the engine and the weights take, and whether looking on makes sense.
            let first = self.first.filter(|first| (1..self.refused).contains(first));
            return Some(first.unwrap_or(1));
        }
        let middle = self.largest + self.width() / 2;
        // Foretelling must be twice as good as nothing: two tries halve the bracket, or halving does.
        let stuck = self.widths.len() >= 3
            && self.widths.get(self.widths.len() - 2).is_some_and(|then| self.width() > then / 2);
        let foretold = self.foretold().filter(|_| !stuck);
        Some(foretold.unwrap_or(middle).clamp(self.largest + 1, self.refused - 1))
    }

    fn width(&self) -> usize {
        self.refused - self.largest
    }

    /// The batch at which a straight line through what is known meets the budget.
    fn foretold(&self) -> Option<usize> {
        let budget = self.budget? as f64;
        let &(batch, peak) = self.peaks.last()?;
        let before = self.peaks.iter().rev().skip(1).find(|(other, _)| *other != batch);
        let each = match before {
            Some(&(other, then)) => (peak as f64 - then as f64) / (batch as f64 - other as f64),
            None => self.each? as f64,
        };
        let more = (budget - peak as f64) / each;
        (each > 0.0 && more >= 0.0).then(|| batch.saturating_add(more as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a search against a machine on which `base + each × batch` must not exceed `budget`.
    fn play(
        refused: usize,
        budget: u64,
        peak: impl Fn(usize) -> u64,
        tells: bool,
    ) -> (Bracket, usize) {
        let mut bracket = Bracket::below(refused, Some(budget));
        let mut tries = 0;
        while let Some(batch) = bracket.next() {
            tries += 1;
            assert!(tries < 40, "no end: {bracket:?}");
            match peak(batch) {
                peak if peak <= budget => bracket.fits(batch, tells.then_some(peak), Some(7)),
                _ => bracket.refuses(batch),
            }
        }
        (bracket, tries)
    }

    #[test]
    fn a_straight_line_is_found_in_few_tries() {
        let (bracket, tries) = play(4096, 10_000, |batch| 300 + 9 * batch as u64, true);
        assert_eq!(bracket.largest(), Some(1077));
        // Halving alone takes twelve.
        assert!(tries <= 8, "{tries} tries");
    }

    #[test]
    fn a_staircase_is_found_all_the_same() {
        let stairs = |batch: usize| 300 + 512 * (batch as u64).div_ceil(50);
        let (bracket, tries) = play(4096, 10_000, stairs, true);
        assert_eq!(bracket.largest(), Some(900));
        assert!(tries <= 24, "{tries} tries");
    }

    #[test]
    fn without_peaks_it_halves() {
        let (bracket, tries) = play(64, 1000, |batch| 20 * batch as u64, false);
        assert_eq!((bracket.largest(), bracket.refused()), (Some(50), 51));
        assert!(tries <= 7, "{tries} tries");
    }

    #[test]
    fn a_good_estimate_saves_tries_and_a_bad_one_costs_one() {
        let line = |batch: usize| 300 + 9 * batch as u64;
        let played = |first: usize| {
            let mut bracket = Bracket::below(4096, Some(10_000)).starting_at(first).within(0.05);
            let mut tried = Vec::new();
            while let Some(batch) = bracket.next() {
                tried.push(batch);
                match line(batch) {
                    peak if peak <= 10_000 => bracket.fits(batch, Some(peak), Some(9)),
                    _ => bracket.refuses(batch),
                }
            }
            (bracket.largest().unwrap(), bracket.refused(), tried)
        };
        let (largest, refused, tried) = played(1024);
        assert_eq!(tried[0], 1024);
        assert!((1026..=1077).contains(&largest) && refused > 1077, "{tried:?}");
        assert!(tried.len() <= 3, "{tried:?}");
        let (largest, _, tried) = played(2048);
        assert_eq!(tried[..2], [2048, 1]);
        assert!((1026..=1077).contains(&largest), "{tried:?}");
        assert_eq!(played(5000).2[0], 1, "what is known not to fit is not tried");
    }

    #[test]
    fn where_one_sample_does_not_fit_one_try_is_enough() {
        let (bracket, tries) = play(64, 10, |_| 11, true);
        assert_eq!((bracket.largest(), bracket.refused(), tries), (None, 1, 1));
        let (bracket, tries) = play(1, 10, |_| 11, true);
        assert_eq!((bracket.largest(), tries), (None, 0));
    }
}
