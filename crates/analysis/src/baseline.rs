//! Which side the others are compared with.

use crate::CompareError;

/// Which side the others are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline<'a> {
    /// The side with this label.
    Side(&'a str),
    /// The first side of this engine that was measured, else the first that was.
    Engine(&'a str),
    /// The first side that was measured.
    First,
}

impl<'a> Baseline<'a> {
    /// The engine that others are compared with by default, if there is one.
    #[must_use]
    pub fn usual(engine: Option<&'a str>) -> Baseline<'a> {
        engine.map_or(Baseline::First, Baseline::Engine)
    }
}

/// What the choice of a baseline needs to know of a side.
pub(crate) struct Candidate<'a> {
    pub(crate) label: &'a str,
    pub(crate) engine: &'a str,
    /// Why it has no times, where it has none.
    pub(crate) missing: Option<String>,
}

/// The baseline's place in the list.
pub(crate) fn choose(
    candidates: &[Candidate<'_>],
    baseline: Baseline<'_>,
) -> Result<usize, CompareError> {
    if candidates.len() < 2 {
        return Err(CompareError::TooFewSides(candidates.len()));
    }
    for (at, candidate) in candidates.iter().enumerate() {
        if candidates[..at].iter().any(|earlier| earlier.label == candidate.label) {
            return Err(CompareError::SameLabel(candidate.label.into()));
        }
    }
    if let Baseline::Side(asked) = baseline {
        let Some(at) = candidates.iter().position(|candidate| candidate.label == asked) else {
            let known: Vec<&str> = candidates.iter().map(|candidate| candidate.label).collect();
            return Err(CompareError::UnknownBaseline {
                asked: asked.into(),
                known: known.join(", "),
            });
        };
        return match &candidates[at].missing {
            Some(why) => {
                Err(CompareError::BaselineFailed { label: asked.into(), why: why.clone() })
            }
            None => Ok(at),
        };
    }
    let measured = || (0..candidates.len()).filter(|&at| candidates[at].missing.is_none());
    let usual = measured().find(|&at| baseline == Baseline::Engine(candidates[at].engine));
    usual.or_else(|| measured().next()).ok_or_else(|| {
        let each = candidates.iter().filter_map(|candidate| {
            Some(format!("`{}`: {}", candidate.label, candidate.missing.as_ref()?))
        });
        CompareError::NothingMeasured(each.collect::<Vec<_>>().join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides<'a>(sides: &[(&'a str, &'a str, bool)]) -> Vec<Candidate<'a>> {
        let missing = |measured: bool| (!measured).then(|| "it crashed".to_owned());
        let candidate = |&(label, engine, measured): &(&'a str, &'a str, bool)| Candidate {
            label,
            engine,
            missing: missing(measured),
        };
        sides.iter().map(candidate).collect()
    }

    #[test]
    fn the_usual_engine_is_the_baseline_wherever_it_stands() {
        let usual = Baseline::usual(Some("usual"));
        let both = sides(&[("a", "a", true), ("eager", "usual", true)]);
        assert_eq!(choose(&both, usual), Ok(1));
        assert_eq!(choose(&both, Baseline::First), Ok(0));
        assert_eq!(choose(&both, Baseline::Side("a")), Ok(0));
        let without = sides(&[("a", "a", true), ("b", "b", true)]);
        assert_eq!(choose(&without, usual), Ok(0));
        assert_eq!(Baseline::usual(None), Baseline::First);
    }

    #[test]
    fn a_side_without_times_is_nobodys_baseline() {
        let failed = sides(&[("torch", "torch", false), ("a", "x", false), ("rten", "rten", true)]);
        assert_eq!(choose(&failed, Baseline::Engine("torch")), Ok(2));
        let error = choose(&failed, Baseline::Side("torch")).unwrap_err();
        assert_eq!(error.to_string(), "the baseline `torch` was not measured: it crashed");
        assert!(error.hint().is_some());
        let error = choose(&failed[..2], Baseline::First).unwrap_err();
        assert!(error.to_string().contains("`a`: it crashed"), "{error}");
    }

    #[test]
    fn names_must_be_known_and_unlike() {
        let two = sides(&[("rten", "rten", true), ("rten", "rten", true)]);
        assert_eq!(choose(&two, Baseline::First), Err(CompareError::SameLabel("rten".into())));
        assert_eq!(choose(&two[..1], Baseline::First), Err(CompareError::TooFewSides(1)));
        let two = sides(&[("rten", "rten", true), ("torch", "torch", true)]);
        let error = choose(&two, Baseline::Side("tract")).unwrap_err();
        assert_eq!(error.to_string(), "unknown side `tract`; the sides are rten, torch");
    }
}
