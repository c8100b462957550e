//! Functions that exporters write as several nodes and engines fuse into one kernel: GELU, SiLU, norms.
//!
//! Found here, they are differentiated as one. Nothing between their nodes is kept, so engines can still fuse them, and
//! their gradient is a short formula of the input instead of a chain.

use super::tape::{Step, Tape};
use crate::{Attribute, Node};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// Joins the steps of every pattern into one step.
pub(super) fn join(tape: &mut Tape) {
    let found: Vec<Found> = {
        let graph = View::new(tape);
        (0..tape.steps.len()).filter_map(|at| graph.find(at)).collect()
    };
    let mut taken: HashSet<usize> = HashSet::new();
    for Found { function, mut steps } in found {
        steps.sort_unstable();
        steps.dedup();
        if steps.iter().any(|at| taken.contains(at)) {
            continue;
        }
        taken.extend(&steps);
        let Some(last) = steps.last().copied() else { continue };
        let forward: Vec<Node> =
            steps.iter().flat_map(|at| tape.steps[*at].forward.clone()).collect();
        let path = tape.steps[last].path.clone();
        for at in &steps {
            tape.steps[*at].forward.clear();
        }
        tape.steps[last] = Step { node: function, forward, path };
    }
    tape.steps.retain(|step| !step.forward.is_empty());
}

/// A function and the steps that compute it.
struct Found {
    function: Node,
    steps: Vec<usize>,
}

/// Who makes and who reads each value.
struct View<'t> {
    tape: &'t Tape,
    maker: HashMap<&'t str, usize>,
    readers: HashMap<&'t str, Vec<usize>>,
}

impl<'t> View<'t> {
    fn new(tape: &'t Tape) -> View<'t> {
        let mut view = View { tape, maker: HashMap::new(), readers: HashMap::new() };
        for (at, step) in tape.steps.iter().enumerate() {
            for name in step.makes() {
                view.maker.insert(name, at);
            }
            for name in step.reads() {
                view.readers.entry(name).or_default().push(at);
            }
        }
        view
    }

    fn find(&self, at: usize) -> Option<Found> {
        match self.node(at).op_type.as_str() {
            "Erf" => self.gelu_erf(at),
            "Tanh" => self.gelu_tanh(at),
            "Sigmoid" => self.swish(at),
            "Reciprocal" => self.rms(at),
            "Div" => self.layer_norm(at).or_else(|| self.rms(at)),
            _ => None,
        }
    }

    fn node(&self, at: usize) -> &'t Node {
        &self.tape.steps[at].node
    }

    fn is(&self, at: usize, op: &str) -> bool {
        self.node(at).is_standard() && self.node(at).op_type == op
    }

    fn output(&self, at: usize) -> &'t str {
        self.node(at).outputs.first().map_or("", String::as_str)
    }

    /// The only step that reads what this one makes.
    fn next(&self, at: usize, op: &str) -> Option<usize> {
        let name = self.output(at);
        match self.readers.get(name)?[..] {
            [reader] if name != self.tape.output => Some(reader).filter(|at| self.is(*at, op)),
            _ => None,
        }
    }

    /// The step that makes a value which nobody else reads.
    fn made(&self, name: &str, op: &str) -> Option<usize> {
        let alone = self.readers.get(name)?.len() == 1 && name != self.tape.output;
        let at = *self.maker.get(name)?;
        (alone && self.is(at, op)).then_some(at)
    }

    /// The other input of a step of two inputs, where one is `known`.
    fn other(&self, at: usize, known: &str) -> Option<&'t str> {
        match &self.node(at).inputs[..] {
            [a, b] if a == known => Some(b),
            [a, b] if b == known => Some(a),
            _ => None,
        }
    }

    /// The input that is no number, where the other one is about this number.
    fn with_number(&self, at: usize, wanted: f64) -> Option<&'t str> {
        let (value, number) = self.scaled(at)?;
        let near = (number - wanted).abs() <= 1e-3 * wanted.abs();
        near.then_some(value)
    }

    /// The input that is no number, and the one that is.
    fn scaled(&self, at: usize) -> Option<(&'t str, f64)> {
        let [a, b] = &self.node(at).inputs[..] else { return None };
        let number = |name: &str| {
            self.tape.constants.get(name)?;
            self.tape.number(name)
        };
        match (number(a), number(b)) {
            (None, Some(number)) => Some((a, number)),
            (Some(number), None) if !self.is(at, "Div") && !self.is(at, "Pow") => Some((b, number)),
            _ => None,
        }
    }

    fn found(
        &self,
        op_type: &str,
        inputs: Vec<&str>,
        steps: Vec<usize>,
        attributes: &[(&str, Attribute)],
    ) -> Option<Found> {
        let last = steps.iter().max()?;
        let function = Node {
            name: self.node(*last).name.clone(),
            op_type: op_type.to_string(),
            domain: String::new(),
            inputs: inputs.into_iter().map(str::to_string).collect(),
            outputs: vec![self.output(*last).to_string()],
            attributes: attributes
                .iter()
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
        };
        Some(Found { function, steps })
    }

    /// What multiplies (1 + f(x)): x · (1 + f) · ½ or (x · ½) · (1 + f).
    fn gate(&self, shifted: usize, x: &str) -> Option<Vec<usize>> {
        let product = self.next(shifted, "Mul")?;
        let other = self.other(product, self.output(shifted))?;
        if other == x {
            let half = self.next(product, "Mul")?;
            self.with_number(half, 0.5)?;
            return Some(vec![product, half]);
        }
        let half = self.made(other, "Mul")?;
        (self.with_number(half, 0.5)? == x).then(|| vec![product, half])
    }

    /// x · (erf(x / √2) + 1) · ½
    fn gelu_erf(&self, erf: usize) -> Option<Found> {
        let inner = self.node(erf).input(0)?;
        let (scaled, x) = match self.made(inner, "Div") {
            Some(at) => (at, self.with_number(at, SQRT_2)?),
            None => {
                let at = self.made(inner, "Mul")?;
                (at, self.with_number(at, FRAC_1_SQRT_2)?)
            }
        };
        let shifted = self.next(erf, "Add")?;
        self.with_number(shifted, 1.0)?;
        let mut steps = vec![scaled, erf, shifted];
        steps.extend(self.gate(shifted, x)?);
        self.found("Gelu", vec![x], steps, &[])
    }

    /// ½ · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
    fn gelu_tanh(&self, tanh: usize) -> Option<Found> {
        let scaled = self.made(self.node(tanh).input(0)?, "Mul")?;
        let sum = self.made(self.with_number(scaled, (2.0 / PI).sqrt())?, "Add")?;
        let [a, b] = &self.node(sum).inputs[..] else { return None };
        let cubic = |name: &str| {
            let factor = self.made(name, "Mul")?;
            let cube = self.made(self.with_number(factor, 0.044_715)?, "Pow")?;
            Some((factor, cube, self.with_number(cube, 3.0)?))
        };
        let (factor, cube, x) =
            cubic(b).filter(|(_, _, x)| x == a).or_else(|| cubic(a).filter(|(_, _, x)| x == b))?;
        let shifted = self.next(tanh, "Add")?;
        self.with_number(shifted, 1.0)?;
        let mut steps = vec![cube, factor, sum, scaled, tanh, shifted];
        steps.extend(self.gate(shifted, x)?);
        self.found("Gelu", vec![x], steps, &[("approximate", "tanh".into())])
    }

    /// x · σ(x) or x · σ(α · x)
    fn swish(&self, sigmoid: usize) -> Option<Found> {
        let inner = self.node(sigmoid).input(0)?;
        let product = self.next(sigmoid, "Mul")?;
        let x = self.other(product, self.output(sigmoid))?;
        if x == inner {
            return self.found("Swish", vec![x], vec![sigmoid, product], &[]);
        }
        let scaled = self.made(inner, "Mul")?;
        let (source, alpha) = self.scaled(scaled)?;
        let steps = vec![scaled, sigmoid, product];
        let alpha = [("alpha", Attribute::Float(alpha as f32))];
        if source == x { self.found("Swish", vec![x], steps, &alpha) } else { None }
    }

    /// x / √(mean(x²) + ε) · scale over the last axis, with a reciprocal or a quotient.
    fn rms(&self, at: usize) -> Option<Found> {
        let (root, last, x) = if self.is(at, "Reciprocal") {
            let root = self.made(self.node(at).input(0)?, "Sqrt")?;
            let product = self.next(at, "Mul")?;
            (root, product, self.other(product, self.output(at))?)
        } else {
            let [x, root] = &self.node(at).inputs[..] else { return None };
            (self.made(root, "Sqrt")?, at, x.as_str())
        };
        let (mut steps, epsilon) = self.deviation(root, x)?;
        steps.extend([at, last]);
        let mut inputs = vec![x];
        if let Some((scaled, scale)) = self.with_vector(last, "Mul", x) {
            steps.push(scaled);
            inputs.push(scale);
        }
        let epsilon = [("epsilon", Attribute::Float(epsilon))];
        self.found("RMSNormalization", inputs, steps, &epsilon)
    }

    /// c / √(mean(c²) + ε) · scale + bias over the last axis, where c = x − mean(x).
    fn layer_norm(&self, quotient: usize) -> Option<Found> {
        let [centered, root] = &self.node(quotient).inputs[..] else { return None };
        let root = self.made(root, "Sqrt")?;
        let (mut steps, epsilon) = self.deviation(root, centered)?;
        // Only the square and the quotient may read it.
        let difference = *self.maker.get(centered.as_str())?;
        let readers = self.readers.get(centered.as_str())?.len();
        let [x, mean] = &self.node(difference).inputs[..] else { return None };
        let mean = self.made(mean, "ReduceMean")?;
        let fits = self.node(mean).input(0)? == x && self.is_over_last(mean, x);
        if readers != 2 || !self.is(difference, "Sub") || !fits {
            return None;
        }
        steps.extend([quotient, difference, mean]);
        let (scaled, scale) = self.with_vector(quotient, "Mul", x)?;
        let (shifted, bias) = self.with_vector(scaled, "Add", x)?;
        steps.extend([scaled, shifted]);
        let epsilon = [("epsilon", Attribute::Float(epsilon)), ("axis", (-1).into())];
        self.found("LayerNormalization", vec![x, scale, bias], steps, &epsilon)
    }

    /// The steps of √(mean(x²) + ε) over the last axis, and ε.
    fn deviation(&self, root: usize, x: &str) -> Option<(Vec<usize>, f32)> {
        let shifted = self.made(self.node(root).input(0)?, "Add")?;
        let (mean, epsilon) = self.scaled(shifted)?;
        let mean = self.made(mean, "ReduceMean")?;
        let square = self.made(self.node(mean).input(0)?, "Pow")?;
        let fits = self.with_number(square, 2.0)? == x && self.is_over_last(mean, x);
        fits.then(|| (vec![square, mean, shifted, root], epsilon as f32))
    }

    /// Whether a mean goes over the last axis of `x` and leaves it with size 1.
    fn is_over_last(&self, mean: usize, x: &str) -> bool {
        let node = self.node(mean);
        let given = match (node.ints("axes"), node.input(1)) {
            (Some(axes), _) => Some(axes.to_vec()),
            (None, Some(name)) => {
                self.tape.numbers(name).map(|list| list.iter().map(|x| *x as i64).collect())
            }
            (None, None) => None,
        };
        let rank = self.tape.dims(x).map_or(0, <[usize]>::len) as i64;
        let last = given.is_some_and(|axes| axes == [-1] || axes == [rank - 1]);
        last && node.int("keepdims").unwrap_or(1) != 0
    }

    /// The only reader of a step, where it joins it with a vector over the last axis of `x`; and that vector.
    fn with_vector(&self, at: usize, op: &str, x: &str) -> Option<(usize, &'t str)> {
        let next = self.next(at, op)?;
        let vector = self.other(next, self.output(at))?;
        let width = self.tape.dims(x)?.last()?;
        (self.tape.dims(vector)? == [*width]).then_some((next, vector))
    }
}
