//! Watches a duel: tells what is known while it is measured, and ends it when its questions are answered.

use analysis::{Contest, InterimRows, interim_rows};
use meter::SoFar;
use stats::Looks;
use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};
use types::{Event, Interim, Seconds, Turn};

/// What a duel's gate has decided, for whoever watches afterwards.
#[derive(Debug, Default, Clone)]
pub(crate) struct Opened {
    /// The place of the baseline.
    pub(crate) baseline: usize,
    /// Why a side has no speed-up although it is timed.
    pub(crate) refused: Vec<Option<String>>,
}

/// Watches one duel.
pub(crate) struct DuelWatch<'a> {
    pub(crate) labels: &'a [String],
    pub(crate) opened: &'a RefCell<Opened>,
    /// When it looks; `None` if all rounds are measured whatever they say.
    pub(crate) looks: Option<Looks>,
    /// The most rounds, and the sweeps of each.
    pub(crate) rounds: u32,
    pub(crate) sweeps: u32,
    /// Rounds of an earlier part of the same comparison, side by side.
    pub(crate) earlier: &'a [Vec<Vec<Turn>>],
    /// Rounds that may follow in a later part.
    pub(crate) later: u32,
    pub(crate) seed: u64,
    pub(crate) begin: Instant,
    /// When the table was told last.
    pub(crate) told: Cell<Option<Instant>>,
}

/// The table is told no more often than this between two rounds: turns may be short, and telling takes time.
const PAUSE: Duration = Duration::from_millis(200);

impl DuelWatch<'_> {
    /// Tells what is known, and who is measured further.
    pub(crate) fn see(&self, so_far: &SoFar, sink: &mut dyn FnMut(Event)) -> Vec<bool> {
        let ended = so_far.sweeps.is_none();
        if !ended && self.told.get().is_some_and(|told| told.elapsed() < PAUSE) {
            return vec![true; self.labels.len()];
        }
        let opened = self.opened.borrow();
        let none = vec![None; self.labels.len()];
        let refused = if opened.refused.is_empty() { &none } else { &opened.refused };
        let mut rounds = so_far.rounds.clone();
        for (own, earlier) in rounds.iter_mut().zip(self.earlier) {
            own.splice(0..0, earlier.iter().cloned());
        }
        let contest = Contest {
            labels: self.labels,
            rounds: &rounds,
            baseline: opened.baseline,
            failed: &so_far.failed,
            refused,
            looks: self.looks,
            seed: self.seed,
        };
        let is_look = |looks: &Looks| ended && looks.is_look(so_far.finished);
        let look = self.looks.filter(is_look).map(|_| so_far.finished);
        let found = interim_rows(&contest, look);
        let (left, left_at_most) = self.left(so_far, &found, look);
        let before = self.earlier.first().map_or(0, Vec::len) as u32;
        let table = Interim {
            baseline: self.labels.get(opened.baseline).cloned().unwrap_or_default(),
            rows: found.rows,
            processes: before + so_far.finished,
            at_most: before + self.rounds + self.later,
            is_round: ended,
            left,
            left_at_most,
        };
        sink(Event::Interim { table: Box::new(table), label: None });
        self.told.set(Some(Instant::now()));
        match look {
            Some(_) => {
                let goes_on = found.open.iter().any(|open| *open);
                let mut open = found.open;
                open[opened.baseline] = goes_on;
                open
            }
            None => vec![true; self.labels.len()],
        }
    }

    /// How much longer it takes as far as the rounds so far tell, and at most.
    fn left(
        &self,
        so_far: &SoFar,
        found: &InterimRows,
        look: Option<u32>,
    ) -> (Option<Duration>, Option<Duration>) {
        let part =
            so_far.sweeps.map_or(0.0, |done| f64::from(done) / f64::from(self.sweeps.max(1)));
        let done = f64::from(so_far.finished) + part;
        if done <= 0.0 {
            return (None, None);
        }
        let each = self.begin.elapsed().as_secs_f64() / done;
        let until = |rounds: u32| {
            let left = (f64::from(rounds) - done).max(0.0) * each;
            Seconds(left).duration()
        };
        let is_over = look.is_some() && found.open.iter().all(|open| !open);
        let at_most = if is_over { Duration::ZERO } else { until(self.rounds) };
        let expected = match (is_over, found.expected) {
            (true, _) => Duration::ZERO,
            (_, Some(expected)) => until(expected.max(so_far.finished)),
            _ => at_most,
        };
        (Some(expected), Some(at_most))
    }
}
