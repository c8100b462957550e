//! Sets of time: unions, differences, lengths.

/// Intervals that neither touch nor overlap, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    /// The union of intervals in the order of their starts.
    pub(super) fn union(sorted: impl Iterator<Item = (u64, u64)>) -> Intervals {
        let mut all: Vec<(u64, u64)> = Vec::new();
        for (start, end) in sorted {
            match all.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => all.push((start, end)),
            }
        }
        Intervals(all)
    }

    /// The union of two sets.
    pub(super) fn or(&self, other: &Intervals) -> Intervals {
        let mut both: Vec<(u64, u64)> = self.0.iter().chain(&other.0).copied().collect();
        both.sort_unstable();
        Intervals::union(both.into_iter())
    }

    /// What is in this set and not in the other.
    pub(super) fn without(&self, other: &Intervals) -> Intervals {
        let (mut left, mut at) = (Vec::new(), 0);
        for (start, end) in &self.0 {
            let mut from = *start;
            // What ends before this one ends before all that follow.
            while other.0.get(at).is_some_and(|hole| hole.1 <= from) {
                at += 1;
            }
            for hole in other.0[at..].iter().take_while(|hole| hole.0 < *end) {
                if hole.0 > from {
                    left.push((from, hole.0));
                }
                from = from.max(hole.1);
            }
            if from < *end {
                left.push((from, *end));
            }
        }
        Intervals(left)
    }

    /// Its length.
    pub(super) fn length(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// The share of time covered, in parts of equal length from `begin` to `end`.
    pub(super) fn shares(&self, begin: u64, end: u64, parts: usize) -> Vec<f64> {
        let width = (end.saturating_sub(begin)) as f64 / parts as f64;
        let mut shares = vec![0.0; parts];
        if width <= 0.0 {
            return shares;
        }
        for (start, stop) in &self.0 {
            let place = |time: u64| (time.saturating_sub(begin)) as f64 / width;
            let (from, to) = (place(*start), place(*stop).min(parts as f64));
            let mut at = from;
            while at < to {
                let next = (at.floor() + 1.0).min(to);
                if let Some(share) = shares.get_mut(at as usize) {
                    *share += next - at;
                }
                at = next;
            }
        }
        shares.iter_mut().for_each(|share| *share = share.min(1.0));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(intervals: &[(u64, u64)]) -> Intervals {
        Intervals::union(intervals.iter().copied())
    }

    #[test]
    fn unions_and_differences_are_those_of_single_moments() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let mut draw = || {
                let mut all: Vec<(u64, u64)> = (0..next(8))
                    .map(|_| {
                        let start = next(60);
                        (start, start + next(12))
                    })
                    .collect();
                all.sort_unstable();
                all
            };
            let (a, b) = (draw(), draw());
            let moments = |all: &[(u64, u64)]| -> Vec<bool> {
                (0..100)
                    .map(|t| all.iter().any(|(start, end)| (*start..*end).contains(&t)))
                    .collect()
            };
            let (in_a, in_b) = (moments(&a), moments(&b));
            let count =
                |is_in: &dyn Fn(usize) -> bool| (0..100).filter(|t| is_in(*t)).count() as u64;
            assert_eq!(set(&a).length(), count(&|t| in_a[t]));
            assert_eq!(set(&a).or(&set(&b)).length(), count(&|t| in_a[t] || in_b[t]));
            assert_eq!(set(&a).without(&set(&b)).length(), count(&|t| in_a[t] && !in_b[t]));
        }
    }

    #[test]
    fn shares_of_parts_add_up() {
        let all = set(&[(0, 5), (10, 30), (95, 100)]);
        let shares = all.shares(0, 100, 10);
        assert_eq!(shares[0], 0.5);
        assert_eq!(&shares[1..3], [1.0, 1.0]);
        assert!((shares.iter().sum::<f64>() * 10.0 - 30.0).abs() < 1e-9);
        assert_eq!(all.shares(5, 5, 4), [0.0; 4]);
    }
}
