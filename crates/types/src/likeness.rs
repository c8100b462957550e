//! Which known name a mistyped one resembles: what stands behind every "did you mean".

/// Below this nothing is alike.
const ALIKE: f64 = 0.5;

/// Names told at most.
const TOLD: usize = 3;

/// How alike two names are, in any case: 1 for equal ones, 0 where nothing is shared.
#[must_use]
pub fn likeness(one: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(&one.to_lowercase(), &other.to_lowercase())
}

/// The known names that resemble a mistyped one, at most three, the most alike first.
pub fn near<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    near_by(known.into_iter().map(|name| (likeness(name, typed), name)))
}

/// The known name that resembles a mistyped one most.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(typed, known).first().copied()
}

/// As [`near`] for names whose likeness is known: those with several names have the highest.
pub fn near_by<T>(known: impl IntoIterator<Item = (f64, T)>) -> Vec<T> {
    let mut near: Vec<(f64, T)> =
        known.into_iter().filter(|(likeness, _)| *likeness >= ALIKE).collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    near.into_iter().take(TOLD).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_come_first_and_strangers_do_not_come() {
        let known = ["batch-sizes", "batch-size", "threads", "modes"];
        assert_eq!(near("batchsizes", known), ["batch-sizes", "batch-size"]);
        assert_eq!(nearest("Threds", known), Some("threads"));
        assert_eq!(nearest("abacus", known), None);
    }
}
