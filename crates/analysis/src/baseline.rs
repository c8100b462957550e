//! Which side the others are held against.

use crate::CompareError;

/// The engine that people compare with, where nobody says otherwise.
const USUAL: &str = "torch";

/// What the choice of a baseline needs to know of a side.
pub(crate) struct Candidate<'a> {
    pub(crate) label: &'a str,
    pub(crate) engine: &'a str,
    /// Why it has no times, where it has none.
    pub(crate) missing: Option<String>,
}

/// The baseline's place in the list: the one asked for, else the first `torch` that was measured, else the first side
/// that was.
pub(crate) fn choose(
    candidates: &[Candidate<'_>],
    asked: Option<&str>,
) -> Result<usize, CompareError> {
    if candidates.len() < 2 {
        return Err(CompareError::TooFewSides(candidates.len()));
    }
    for (at, candidate) in candidates.iter().enumerate() {
        if candidates[..at].iter().any(|earlier| earlier.label == candidate.label) {
            return Err(CompareError::SameLabel(candidate.label.into()));
        }
    }
    if let Some(asked) = asked {
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
    let usual = measured().find(|&at| candidates[at].engine == USUAL);
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
    fn torch_is_the_baseline_wherever_it_stands() {
        let both = sides(&[("rten", "rten", true), ("eager", "torch", true)]);
        assert_eq!(choose(&both, None), Ok(1));
        assert_eq!(choose(&both, Some("rten")), Ok(0));
        let without = sides(&[("rten", "rten", true), ("openvino", "openvino", true)]);
        assert_eq!(choose(&without, None), Ok(0));
    }

    #[test]
    fn a_side_without_times_is_nobodys_baseline() {
        let failed = sides(&[("torch", "torch", false), ("a", "x", false), ("rten", "rten", true)]);
        assert_eq!(choose(&failed, None), Ok(2));
        let error = choose(&failed, Some("torch")).unwrap_err();
        assert_eq!(error.to_string(), "the baseline `torch` was not measured: it crashed");
        assert!(error.hint().is_some());
        let error = choose(&failed[..2], None).unwrap_err();
        assert!(error.to_string().contains("`a`: it crashed"), "{error}");
    }

    #[test]
    fn names_must_be_known_and_unlike() {
        let two = sides(&[("rten", "rten", true), ("rten", "rten", true)]);
        assert_eq!(choose(&two, None), Err(CompareError::SameLabel("rten".into())));
        assert_eq!(choose(&two[..1], None), Err(CompareError::TooFewSides(1)));
        let two = sides(&[("rten", "rten", true), ("torch", "torch", true)]);
        let error = choose(&two, Some("tract")).unwrap_err();
        assert_eq!(error.to_string(), "no side is called `tract`; there are rten, torch");
    }
}
