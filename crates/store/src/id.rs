//! Names of runs: made to be typed.

use types::RunId;

/// The fewest digits a short id has; fewer look like a number.
pub const SHORTEST_ID: usize = 4;

/// A new run's name: eight random hexadecimal digits, then eight of the time in seconds.
///
/// The random digits come first because people type beginnings, and beginnings made of the time would all be alike.
/// Order in time is kept by `started_at`. Two runs share a name only if they begin in the same second and draw the same of
/// 2³² numbers.
#[must_use]
pub fn new_run_id(now_micros: i64, random: u64) -> RunId {
    let seconds = now_micros.div_euclid(1_000_000) as u32;
    // Folded, so that a source that is random only in its upper or lower half serves as well.
    let random = (random >> 32) as u32 ^ random as u32;
    RunId(format!("{random:08x}{seconds:08x}"))
}

/// For each id the shortest beginning that no other of them has, at least [`SHORTEST_ID`] digits; in the given order.
#[must_use]
pub fn short_ids(ids: &[RunId]) -> Vec<String> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by(|&a, &b| ids[a].cmp(&ids[b]));
    let mut short = vec![String::new(); ids.len()];
    for (place, &index) in order.iter().enumerate() {
        let neighbour = |place: Option<usize>| {
            let other = order.get(place?)?;
            Some(ids[*other].0.as_str())
        };
        let sides = [neighbour(place.checked_sub(1)), neighbour(Some(place + 1))];
        short[index] = shorten(&ids[index].0, sides.into_iter().flatten());
    }
    short
}

/// The shortest beginning of `id` that none of its neighbours in sorted order has.
pub(crate) fn shorten<'a>(id: &str, neighbours: impl Iterator<Item = &'a str>) -> String {
    let shared = neighbours
        .map(|other| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count())
        .max()
        .unwrap_or(0);
    id.chars().take((shared + 1).max(SHORTEST_ID)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_sixteen_digits_with_the_random_ones_first() {
        assert_eq!(new_run_id(1_700_000_000_999_999, 0x7f3a_0c11).0, "7f3a0c116553f100");
        assert_eq!(new_run_id(0, 0).0, "0000000000000000");
        assert_eq!(new_run_id(-1, u64::MAX).0.len(), 16);
    }

    #[test]
    fn runs_of_one_second_have_different_beginnings() {
        let ids: Vec<RunId> = (1u64..200)
            .map(|i| new_run_id(5_000_000, i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        assert!(short_ids(&ids).iter().all(|short| short.len() <= 7));
    }

    #[test]
    fn a_short_id_is_as_long_as_it_takes_to_tell_it_apart() {
        let ids = ["abcdef01", "1234567", "abcdee01", "ab990000"].map(|id| RunId(id.into()));
        assert_eq!(short_ids(&ids), ["abcdef", "1234", "abcdee", "ab99"]);
        assert_eq!(short_ids(&ids[..1]), ["abcd"]);
        assert!(short_ids(&[]).is_empty());
    }
}
