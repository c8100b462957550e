//! A comparison while it is measured: the table of the moment, and which sides still have an open question.

use crate::{
    disturbed::disturbed_pairs,
    duel::{Ratios, estimate, unseen},
    outcome::{LEVEL, Pending, decide},
};
use stats::{Looks, SURE, expected_rounds, mean_ratio};
use types::{Disturbed, InterimRow, InterimState, Outcome, Remark, RemarkCode, Seconds, Turn};

/// Sides while they are measured.
#[derive(Debug)]
pub struct Contest<'a> {
    /// What the sides are called.
    pub labels: &'a [String],
    /// The turns of every side so far, round by round; the last round may not be finished.
    pub rounds: &'a [Vec<Vec<Turn>>],
    /// The place of the baseline.
    pub baseline: usize,
    /// Sides that dropped out.
    pub failed: &'a [bool],
    /// Why a side has no speed-up although it is timed.
    pub refused: &'a [Option<String>],
    /// When it is looked at; `None` if the number of rounds is fixed.
    pub looks: Option<Looks>,
    /// Seed of intervals.
    pub seed: u64,
}

/// After so many rounds, each pair of turns of which was disturbed, more would tell no more: the fewest that a gate looks at.
const BUSY_ROUNDS: usize = 3;

/// The table of the moment and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct InterimRows {
    /// A row per side.
    pub rows: Vec<InterimRow>,
    /// Which sides have a question that is still open; the baseline has none.
    pub open: Vec<bool>,
    /// After how many rounds all are expected to be answered if all stays as it is; `None` without looks.
    pub expected: Option<u32>,
}

/// What is known of every side. `finished` says after how many rounds this is a look; between two looks nothing is decided.
#[must_use]
pub fn interim_rows(contest: &Contest<'_>, finished: Option<u32>) -> InterimRows {
    let Contest { labels, rounds, baseline, failed, refused, looks, seed } = contest;
    let longest = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let others: Vec<usize> =
        (0..labels.len()).filter(|place| place != baseline && !failed[*place]).collect();
    let found: Vec<Ratios> =
        others.iter().map(|place| Ratios::of(&rounds[*baseline], &rounds[*place])).collect();
    let pending = others.iter().zip(&found).map(|(&place, found)| {
        let own = rounds[place].len();
        let at = match (looks, finished) {
            // Answered before, and not measured since.
            (Some(looks), _) if own < longest && looks.is_look(own as u32) => own as u32,
            (Some(_), Some(look)) => look,
            // As wide as at the first look: whoever looks between two looks must not believe more.
            _ => 2,
        };
        let known = match looks {
            Some(looks) => estimate(&found.rounds, Some((*looks, at)), *seed),
            // Nothing is decided before the end, so the bootstrap of the result is not drawn between turns.
            None => mean_ratio(&found.rounds),
        };
        let estimate = match &refused[place] {
            Some(why) => Err(Remark::new(RemarkCode::OutputsDiffer, why.as_str())),
            None => {
                known.ok_or_else(|| Remark::new(RemarkCode::NotComparable, "no turn has a pair"))
            }
        };
        Pending {
            side: labels[place].clone(),
            estimate,
            unseen: unseen(&found.rounds),
            invalid: Vec::new(),
            disturbed: disturbed_pairs(&rounds[*baseline], &rounds[place]),
            remarks: Vec::new(),
        }
    });
    let level = if looks.is_some() { SURE } else { LEVEL };
    let comparisons = decide(pending.collect(), &labels[*baseline], level);
    let mut open = vec![false; labels.len()];
    let mut rows: Vec<InterimRow> = (0..labels.len())
        .map(|place| InterimRow {
            label: labels[place].clone(),
            processes: rounds[place].len() as u32,
            median: median(&rounds[place]),
            ratio: None,
            interval: None,
            state: match () {
                () if failed[place] => InterimState::Failed,
                () if place == *baseline => InterimState::Baseline,
                () => InterimState::Open,
            },
        })
        .collect();
    for (&place, comparison) in others.iter().zip(comparisons) {
        let is_refused = refused[place].is_some();
        let is_busy = comparison.disturbed.as_ref().is_some_and(Disturbed::is_too_much);
        let dropped = rounds[place].len() < longest && looks.is_some();
        let is_look = dropped || (looks.is_some() && finished.is_some());
        let is_answered = is_look && comparison.outcome != Outcome::CannotTell;
        let is_hopeless = is_look
            && rounds[place].len() >= BUSY_ROUNDS
            && comparison.disturbed.as_ref().is_some_and(|found| found.left_out == found.pairs);
        open[place] = !is_answered && !is_refused && !dropped && !is_hopeless;
        rows[place].ratio = comparison.speed_up.as_ref().map(|found| found.ratio);
        // One process has no interval that could be believed.
        let is_told = rounds[place].len() > 1;
        rows[place].interval =
            comparison.speed_up.and_then(|found| found.interval).filter(|_| is_told);
        if is_answered || is_refused {
            rows[place].state = InterimState::Answered { outcome: comparison.outcome };
        } else if is_busy {
            rows[place].state = InterimState::Settled { words: "machine too busy".into() };
        }
    }
    let expected = looks.map(|looks| {
        let each = others.iter().zip(&found).filter(|(place, _)| open[**place]);
        each.map(|(_, found)| expected_rounds(&found.rounds, &looks)).max().unwrap_or(0)
    });
    InterimRows { rows, open, expected }
}

/// The median of the samples of all turns that nothing disturbed; of all of them where there are no others.
fn median(rounds: &[Vec<Turn>]) -> Option<Seconds> {
    let turns = || rounds.iter().flatten();
    let all = turns().all(|turn| turn.disturbed.is_some());
    let counted = turns().filter(|turn| all || turn.disturbed.is_none());
    let samples: Vec<u64> = counted.flat_map(|turn| &turn.samples).copied().collect();
    stats::median(&samples).map(Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of two turns of three samples each, in microseconds.
    fn rounds(each: &[u64]) -> Vec<Vec<Turn>> {
        each.iter().map(|micros| vec![Turn::quiet(vec![micros * 1000; 3]); 2]).collect()
    }

    fn look(sides: &[Vec<Vec<Turn>>], finished: Option<u32>) -> InterimRows {
        let labels: Vec<String> =
            ["base", "fast", "same"][..sides.len()].iter().map(|label| (*label).into()).collect();
        let contest = Contest {
            labels: &labels,
            rounds: sides,
            baseline: 0,
            failed: &vec![false; sides.len()],
            refused: &vec![None; sides.len()],
            looks: Some(Looks::new(8, None)),
            seed: 1,
        };
        interim_rows(&contest, finished)
    }

    #[test]
    fn a_clear_side_is_answered_at_a_look_and_others_stay_open() {
        let sides = [rounds(&[1000, 1010]), rounds(&[700, 705]), rounds(&[1000, 1005])];
        let between = look(&sides, None);
        assert_eq!(between.open, [false, true, true], "nothing is decided between looks");
        assert!(between.rows[1].interval.is_some_and(|interval| interval.low > 1.0));
        let found = look(&sides, Some(2));
        assert_eq!(found.open, [false, false, true]);
        assert_eq!(found.rows[1].state, InterimState::Answered { outcome: Outcome::Better });
        assert_eq!(found.rows[0].state, InterimState::Baseline);
        assert_eq!(found.expected, Some(8), "what is equal goes on to the end");
        assert!((found.rows[0].median.unwrap().0 - 1.005e-3).abs() < 1e-9);
        // What was answered stays answered while the others go on.
        let more = [rounds(&[1000, 1010, 1000]), rounds(&[700, 705]), rounds(&[1000, 1005, 1001])];
        let later = look(&more, Some(3));
        assert_eq!(later.open, [false, false, true]);
        assert_eq!(later.rows[1].state, InterimState::Answered { outcome: Outcome::Better });
    }

    #[test]
    fn where_every_turn_is_disturbed_it_ends_after_three_rounds() {
        let disturb = |mut rounds: Vec<Vec<Turn>>| {
            let busy = Some(types::ReasonCode::BusyMachine);
            rounds.iter_mut().flatten().for_each(|turn| turn.disturbed = busy);
            rounds
        };
        let of = |count: usize| [rounds(&vec![1000; count]), disturb(rounds(&vec![700; count]))];
        assert_eq!(look(&of(2), Some(2)).open, [false, true]);
        assert_eq!(look(&of(3), None).open, [false, true], "nothing is decided between looks");
        let found = look(&of(3), Some(3));
        assert_eq!(found.open, [false, false]);
        let words = "machine too busy".to_owned();
        assert_eq!(found.rows[1].state, InterimState::Settled { words });
        let [base, mut side] = of(3);
        side[2][1].disturbed = None;
        assert_eq!(look(&[base, side], Some(3)).open, [false, true], "a pair that counts is hope");
    }

    #[test]
    fn one_round_has_a_ratio_and_no_interval() {
        let found = look(&[rounds(&[1000]), rounds(&[500])], None);
        assert!((found.rows[1].ratio.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(found.rows[1].interval, None);
        assert_eq!((found.open[1], found.expected), (true, Some(2)));
    }
}
