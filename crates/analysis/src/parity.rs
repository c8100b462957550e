//! Whether two computations give the same answer, within what their number formats allow.
//!
//! An output is judged by its own scale: the largest difference against its largest magnitude, the error's norm against its
//! norm. Where it fails, it may still be that rounding explains it (a sigmoid near 0, a difference of large numbers): what
//! rounding moves is a [`Floor`], learned by running the model again with noise of that size.

use number::{fixed, percent};
use types::{Elements, HostTensor, Precision};

/// How many times what rounding moved in a trial it may have moved between two engines: two trials show one end of a
/// scatter, seldom its extreme.
const MARGIN: f64 = 3.0;

/// Finite numbers of this size are masks (a score of −3.4e38): where both sides have the same they say nothing of scale.
const MASK: f64 = 1e30;

/// How far outputs may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Largest difference of an element, as a share of the largest magnitude of the output.
    pub difference: f64,
    /// Largest norm of the difference, as a share of the output's norm.
    pub norm: f64,
    /// Smallest cosine between the two outputs.
    pub cosine: f64,
    /// Largest share of whole numbers (indices, labels, truth values) that are others.
    pub changed: f64,
}

impl Tolerance {
    /// What the coarser of two formats allows.
    ///
    /// fp32: rounding of sums in another order, measured up to 1.4e-5 over our families, with room for deep models.
    /// The 16-bit formats have 11 and 8 bits of mantissa and some dozen layers to add up their rounding. Int8 rounds
    /// every activation to one of 256 steps: single elements may be far off, so direction and length of the whole are
    /// held to a bound. A norm of 0.35 is what a turn by the cosine of 0.95 makes (0.32) with a little room.
    #[must_use]
    pub fn of(a: Precision, b: Precision) -> Tolerance {
        let tolerance = |difference: f64, norm: f64, cosine: f64, changed: f64| Tolerance {
            difference,
            norm,
            cosine,
            changed,
        };
        match a.max(b) {
            Precision::Fp32 => tolerance(1e-3, 1e-3, 0.999_99, 0.0),
            Precision::Fp16 => tolerance(5e-2, 5e-2, 0.999, 0.01),
            Precision::Bf16 => tolerance(2e-1, 1.5e-1, 0.99, 0.05),
            Precision::Int8 | Precision::Stored => tolerance(f64::INFINITY, 0.35, 0.95, 0.1),
        }
    }
}

/// How much rounding a format puts on every number that is computed, as a share of it.
///
/// fp32: eight times its unit, because sums of many products add up the rounding of each; the other formats round what
/// they sum up in fp32 once.
#[must_use]
pub fn rounding_share(a: Precision, b: Precision) -> f32 {
    match a.max(b) {
        Precision::Fp32 => 2f32.powi(-21),
        Precision::Fp16 => 2f32.powi(-11),
        Precision::Bf16 | Precision::Int8 | Precision::Stored => 2f32.powi(-8),
    }
}

/// How far rounding alone moves an output.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Floor {
    /// Largest difference of an element.
    pub max_abs: f64,
    /// The norm of the difference.
    pub norm: f64,
    /// The share of whole numbers that became others.
    pub changed: f64,
}

impl Floor {
    /// What a trial with noise moved; `None` if the two cannot be compared.
    #[must_use]
    pub fn seen(plain: &HostTensor, noisy: &HostTensor) -> Option<Floor> {
        let found = difference(plain, noisy);
        // Noise may push a number over an edge (a logarithm of 0); the others still show what it moves.
        let usable = found.dims_agree && found.compared > 0;
        let Difference { max_abs, error, changed, .. } = found;
        usable.then_some(Floor { max_abs, norm: error, changed })
    }

    /// The larger of two trials.
    #[must_use]
    pub fn max(self, other: Floor) -> Floor {
        Floor {
            max_abs: self.max_abs.max(other.max_abs),
            norm: self.norm.max(other.norm),
            changed: self.changed.max(other.changed),
        }
    }

    /// The largest difference of an element that rounding explains.
    #[must_use]
    pub fn explains(&self) -> f64 {
        MARGIN * self.max_abs
    }
}

/// What may be said of one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// Equal within what its own scale allows.
    Equal,
    /// Further apart than that, but no further than rounding explains.
    Rounding,
    /// Different.
    Different,
    /// There is no number to compare.
    Undecided,
}

/// How far one output of two computations is apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The output.
    pub output: String,
    /// Largest difference of an element.
    pub max_abs: f64,
    /// Largest magnitude of an element of the reference.
    pub magnitude: f64,
    /// Norm of the difference.
    pub error: f64,
    /// Norm of the reference.
    pub norm: f64,
    /// Cosine between the two, in [-1, 1]; 1 where both are zero.
    pub cosine: f64,
    /// The share of elements that are not the same number.
    pub changed: f64,
    /// Elements that were compared.
    pub compared: usize,
    /// Elements that are not finite on both sides, in the same way.
    pub non_finite: usize,
    /// Why they cannot be compared at all.
    pub unlike: Option<String>,
    dims_agree: bool,
    kind: Kind,
}

/// What the numbers of an output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Quantities.
    Real,
    /// Quantities in 256 steps, which are rounded to the next one.
    Steps,
    /// Indices, labels, truth values: next to each other means nothing.
    Whole,
}

impl Kind {
    fn of(elements: &Elements) -> Kind {
        match elements {
            Elements::F32(_) | Elements::F64(_) | Elements::F16(_) | Elements::Bf16(_) => {
                Kind::Real
            }
            Elements::U8(_) | Elements::I8(_) => Kind::Steps,
            Elements::I64(_) | Elements::I32(_) | Elements::I16(_) | Elements::Bool(_) => {
                Kind::Whole
            }
        }
    }
}

impl Difference {
    /// Whether the difference is one that the tolerance allows.
    #[must_use]
    pub fn is_within(&self, tolerance: &Tolerance) -> bool {
        self.rule(tolerance, None) == Ruling::Equal
    }

    /// What may be said, where rounding is known to move the output so far.
    #[must_use]
    pub fn rule(&self, tolerance: &Tolerance, floor: Option<&Floor>) -> Ruling {
        if self.unlike.is_some() {
            return Ruling::Different;
        }
        if self.compared == 0 {
            return if self.non_finite > 0 { Ruling::Undecided } else { Ruling::Equal };
        }
        let scale = tolerance.difference * self.magnitude;
        let length = tolerance.norm * self.norm;
        let near = match self.kind {
            Kind::Whole => self.changed <= tolerance.changed,
            Kind::Steps if self.max_abs <= 1.0 => true,
            Kind::Real | Kind::Steps => {
                self.max_abs <= self.allowed(tolerance).unwrap_or(f64::INFINITY)
                    && self.error <= length
                    && self.cosine >= tolerance.cosine
            }
        };
        if near {
            return Ruling::Equal;
        }
        let explained = floor.is_some_and(|floor| match self.kind {
            Kind::Whole => self.changed <= tolerance.changed.max(MARGIN * floor.changed),
            Kind::Real | Kind::Steps => {
                (self.max_abs <= scale || self.max_abs <= floor.explains())
                    && self.error <= length.max(MARGIN * floor.norm)
            }
        });
        if explained { Ruling::Rounding } else { Ruling::Different }
    }

    /// What the largest difference may be by the output's own scale; `None` if it is not held to a bound.
    #[must_use]
    pub fn allowed(&self, tolerance: &Tolerance) -> Option<f64> {
        match self.kind {
            Kind::Whole => None,
            Kind::Steps | Kind::Real => Some(tolerance.difference * self.magnitude),
        }
        .filter(|allowed| allowed.is_finite())
    }

    /// The norm of the difference as a share of the reference's; `None` if that is zero or numbers are only names.
    #[must_use]
    pub fn relative_norm(&self) -> Option<f64> {
        (self.norm > 0.0 && self.kind != Kind::Whole).then(|| self.error / self.norm)
    }

    /// Why it does not hold, in words; `None` if the largest difference says so by itself.
    #[must_use]
    pub fn reason(&self, tolerance: &Tolerance) -> Option<String> {
        if let Some(unlike) = &self.unlike {
            return Some(unlike.clone());
        }
        if self.compared == 0 && self.non_finite > 0 {
            return Some("no number is finite on either side".into());
        }
        if self.kind == Kind::Whole {
            let share = percent(self.changed);
            return Some(format!("{share} of its whole numbers differ"));
        }
        let over = self.allowed(tolerance).is_some_and(|allowed| self.max_abs > allowed);
        if over {
            return None;
        }
        match self.relative_norm() {
            Some(share) if share > tolerance.norm => {
                let (found, allowed) = (percent(share), percent(tolerance.norm));
                Some(format!("the error is {found} of it, the limit is {allowed}"))
            }
            _ if self.cosine < tolerance.cosine => {
                Some(format!("the cosine is {}", fixed(self.cosine, 6)))
            }
            _ => None,
        }
    }

    /// What a reader must know though nothing differs.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let all = self.compared + self.non_finite;
        match (self.non_finite, self.compared) {
            (0, 0) if self.unlike.is_none() => Some("has no elements on either side".into()),
            (0, _) => None,
            (broken, _) => Some(format!("{broken} of {all} numbers are not finite on both sides")),
        }
    }
}

/// Compares the outputs that both have, in the reference's order.
#[must_use]
pub fn differences(reference: &[HostTensor], other: &[HostTensor]) -> Vec<Difference> {
    reference
        .iter()
        .filter_map(|a| Some((a, other.iter().find(|b| b.name == a.name)?)))
        .map(|(a, b)| difference(a, b))
        .collect()
}

/// How far two tensors are apart.
#[must_use]
pub fn difference(reference: &HostTensor, other: &HostTensor) -> Difference {
    let kinds = (Kind::of(&reference.elements), Kind::of(&other.elements));
    let mut found = Difference {
        output: reference.name.clone(),
        max_abs: 0.0,
        magnitude: 0.0,
        error: 0.0,
        norm: 0.0,
        cosine: 1.0,
        changed: 0.0,
        compared: 0,
        non_finite: 0,
        unlike: None,
        dims_agree: reference.dims == other.dims,
        // Only where both name things are names compared.
        kind: if kinds.0 == kinds.1 { kinds.0 } else { Kind::Real },
    };
    if !found.dims_agree {
        let text = format!("shapes {:?} and {:?}", reference.dims, other.dims);
        found.unlike = Some(text);
        return found;
    }
    let (mut dot, mut left, mut right, mut error) = (0.0, 0.0, 0.0, 0.0);
    let (mut changed, mut one_sided) = (0usize, 0usize);
    for_each(&reference.elements, &other.elements, &mut |x, y| {
        if !x.is_finite() || !y.is_finite() {
            // Infinity on both sides (a masked score) and no number on both sides are the same answer, which is told.
            match x == y || (x.is_nan() && y.is_nan()) {
                true => found.non_finite += 1,
                false => one_sided += 1,
            }
            return;
        }
        found.compared += 1;
        if x == y && x.abs() >= MASK {
            return;
        }
        changed += usize::from(x != y);
        found.max_abs = found.max_abs.max((x - y).abs());
        found.magnitude = found.magnitude.max(x.abs());
        error += (x - y) * (x - y);
        dot += x * y;
        left += x * x;
        right += y * y;
    });
    if one_sided > 0 {
        let all = reference.elements.len();
        let text = format!("{one_sided} of {all} numbers are not finite on one side");
        found.unlike = Some(text);
    }
    found.changed = changed as f64 / found.compared.max(1) as f64;
    (found.error, found.norm) = (error.sqrt(), left.sqrt());
    found.cosine = match (left > 0.0, right > 0.0) {
        (true, true) => (dot / (left.sqrt() * right.sqrt())).clamp(-1.0, 1.0),
        (false, false) => 1.0,
        _ => 0.0,
    };
    found
}

fn for_each(a: &Elements, b: &Elements, visit: &mut dyn FnMut(f64, f64)) {
    match (a, b) {
        // The usual case, without a call for each element's type.
        (Elements::F32(a), Elements::F32(b)) => {
            a.iter().zip(b).for_each(|(&x, &y)| visit(f64::from(x), f64::from(y)));
        }
        _ => (0..a.len().min(b.len())).for_each(|i| visit(number(a, i), number(b, i))),
    }
}

pub(crate) fn number(elements: &Elements, i: usize) -> f64 {
    match elements {
        Elements::F32(v) => f64::from(v[i]),
        Elements::F64(v) => v[i],
        Elements::F16(v) => half::f16::from_bits(v[i]).to_f64(),
        Elements::Bf16(v) => half::bf16::from_bits(v[i]).to_f64(),
        Elements::I64(v) => v[i] as f64,
        Elements::I32(v) => f64::from(v[i]),
        Elements::I16(v) => f64::from(v[i]),
        Elements::I8(v) => f64::from(v[i]),
        Elements::U8(v) | Elements::Bool(v) => f64::from(v[i]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FP32: Precision = Precision::Fp32;

    fn tensor(values: &[f32]) -> HostTensor {
        of(Elements::F32(values.to_vec()))
    }

    fn of(elements: Elements) -> HostTensor {
        HostTensor { name: "y".into(), dims: vec![elements.len()], elements }
    }

    fn rule(a: &[f32], b: &[f32], precision: Precision, floor: Option<&Floor>) -> Ruling {
        difference(&tensor(a), &tensor(b)).rule(&Tolerance::of(FP32, precision), floor)
    }

    #[test]
    fn rounding_passes_and_another_weight_does_not() {
        let tolerance = Tolerance::of(FP32, FP32);
        let a = tensor(&[1.0, -2.0, 3.0]);
        let near = difference(&a, &tensor(&[1.000_01, -2.0, 3.0]));
        assert!(near.is_within(&tolerance), "{near:?}");
        let far = difference(&a, &tensor(&[1.0, -2.0, 3.1]));
        assert!(!far.is_within(&tolerance));
        assert!((far.max_abs - 0.1).abs() < 1e-6);
        assert!(far.is_within(&Tolerance::of(FP32, Precision::Fp16)));
    }

    #[test]
    fn a_small_output_is_held_to_its_own_scale() {
        // One number always has the cosine 1; a quarter more is another answer however small it is.
        assert_eq!(rule(&[0.002], &[0.002_48], FP32, None), Ruling::Different);
        assert_eq!(rule(&[0.002], &[0.002_48], Precision::Bf16, None), Ruling::Different);
        assert_eq!(rule(&[2e-9, 1e-9], &[2e-9, 1.2e-9], FP32, None), Ruling::Different);
        assert_eq!(rule(&[0.002], &[0.002_000_1], FP32, None), Ruling::Equal);
        assert_eq!(rule(&[0.0, 0.0], &[0.0, 1e-12], FP32, None), Ruling::Different);
    }

    #[test]
    fn what_rounding_explains_is_no_difference_and_said_to_be_rounding() {
        // A sigmoid near 0: the cosine of the two measures rounding.
        let (a, b) = ([1e-8, 3e-8, 2e-8], [1.5e-7, 0.0, 4e-8]);
        assert_eq!(rule(&a, &b, FP32, None), Ruling::Different);
        let noisy = a.map(|x| x + 4.8e-7);
        let floor = Floor::seen(&tensor(&a), &tensor(&noisy)).unwrap();
        assert_eq!(rule(&a, &b, FP32, Some(&floor)), Ruling::Rounding);
        // The same floor explains nothing of a real difference.
        assert_eq!(rule(&[0.002], &[0.002_48], FP32, Some(&floor)), Ruling::Different);
        assert!(floor.explains() < 2e-6);
    }

    #[test]
    fn int8_is_held_to_a_length_as_well_as_a_direction() {
        let a = [1.0, -2.0, 3.0];
        assert_eq!(rule(&a, &a.map(|x| 2.0 * x), Precision::Int8, None), Ruling::Different);
        assert_eq!(rule(&a, &[1.1, -1.9, 3.1], Precision::Int8, None), Ruling::Equal);
        let doubled = difference(&tensor(&a), &tensor(&a.map(|x| 2.0 * x)));
        let why = doubled.reason(&Tolerance::of(FP32, Precision::Int8)).unwrap();
        assert_eq!(why, "the error is 100 % of it, the limit is 35 %");
    }

    #[test]
    fn numbers_that_are_finite_on_no_side_are_told_and_decide_nothing() {
        let tolerance = Tolerance::of(FP32, FP32);
        let (nan, inf) = (f32::NAN, f32::NEG_INFINITY);
        let some = difference(&tensor(&[nan, inf, 1.0]), &tensor(&[nan, inf, 1.0]));
        assert_eq!(some.rule(&tolerance, None), Ruling::Equal);
        assert_eq!(some.note().unwrap(), "2 of 3 numbers are not finite on both sides");
        let all = difference(&tensor(&[nan, nan]), &tensor(&[nan, nan]));
        assert_eq!(all.rule(&tolerance, None), Ruling::Undecided);
        assert_eq!(all.reason(&tolerance).unwrap(), "no number is finite on either side");
        // The rest is still compared.
        let rest = difference(&tensor(&[nan, 1.0]), &tensor(&[nan, 2.0]));
        assert_eq!(rest.rule(&tolerance, None), Ruling::Different);
        let other = difference(&tensor(&[nan, 1.0]), &tensor(&[inf, 1.0]));
        assert_eq!(other.rule(&tolerance, None), Ruling::Different);
        assert_eq!(other.unlike.unwrap(), "1 of 2 numbers are not finite on one side");
        assert_eq!(difference(&tensor(&[1.0]), &tensor(&[1.0])).note(), None);
        assert!(difference(&tensor(&[]), &tensor(&[])).note().unwrap().contains("no elements"));
    }

    #[test]
    fn a_mask_does_not_set_the_scale() {
        let lowest = f32::MIN;
        assert_eq!(rule(&[lowest, 0.5], &[lowest, 0.9], FP32, None), Ruling::Different);
        assert_eq!(rule(&[lowest, 0.5], &[lowest, 0.5], FP32, None), Ruling::Equal);
    }

    #[test]
    fn indices_are_equal_or_not_and_bytes_may_round_to_the_next() {
        let tolerance = Tolerance::of(FP32, FP32);
        let ids = |values: &[i64]| of(Elements::I64(values.to_vec()));
        let next = difference(&ids(&[30_000, 7]), &ids(&[30_001, 7]));
        assert_eq!(next.rule(&tolerance, None), Ruling::Different);
        assert_eq!(next.reason(&tolerance).unwrap(), "50 % of its whole numbers differ");
        let noisy = Floor::seen(&ids(&[3, 7]), &ids(&[4, 7])).unwrap();
        assert_eq!(next.rule(&tolerance, Some(&noisy)), Ruling::Rounding);
        let bytes = |values: &[u8]| of(Elements::U8(values.to_vec()));
        let step = difference(&bytes(&[1, 200]), &bytes(&[2, 200]));
        assert_eq!(step.rule(&tolerance, None), Ruling::Equal);
        let far = difference(&bytes(&[1, 200]), &bytes(&[4, 200]));
        assert_eq!(far.rule(&tolerance, None), Ruling::Different);
    }

    #[test]
    fn unlike_shapes_and_lost_numbers_are_said() {
        let tolerance = Tolerance::of(FP32, Precision::Int8);
        let a = tensor(&[1.0, 2.0]);
        assert!(!difference(&a, &tensor(&[1.0])).is_within(&tolerance));
        assert!(difference(&a, &tensor(&[1.0])).unlike.unwrap().contains("shapes"));
        assert!(!difference(&a, &tensor(&[1.0, f32::NAN])).is_within(&tolerance));
        assert_eq!(Floor::seen(&a, &tensor(&[1.0])), None);
        let masked = tensor(&[f32::NEG_INFINITY, 1.0]);
        assert!(difference(&masked, &masked).is_within(&tolerance));
    }

    #[test]
    fn formats_are_compared_by_value() {
        let half = HostTensor {
            name: "y".into(),
            dims: vec![2],
            elements: Elements::F16(vec![0x3c00, 0x4000]),
        };
        let found = difference(&tensor(&[1.0, 2.0]), &half);
        assert_eq!((found.max_abs, found.magnitude), (0.0, 2.0));
        assert!(found.cosine > 0.999_999);
    }

    #[test]
    fn only_outputs_that_both_have_are_compared() {
        let mut other = tensor(&[1.0]);
        other.name = "z".into();
        assert!(differences(&[tensor(&[1.0])], &[other]).is_empty());
    }
}
