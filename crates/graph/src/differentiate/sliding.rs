//! Where a sliding window goes: strides, dilations and padding with everything worked out.

use super::reverse::Refusal;
use crate::Node;

/// The most places inside a kernel.
const MOST_PLACES: usize = 1 << 16;

/// Windows step and are padded by no more than this.
const WIDEST: usize = 1 << 20;

/// A window over the axes of space.
#[derive(Debug, Clone)]
pub(super) struct Sliding {
    pub(super) kernel: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) dilations: Vec<usize>,
    /// Padding before and behind each axis.
    pub(super) before: Vec<usize>,
    pub(super) behind: Vec<usize>,
    /// The size of what it slides over.
    pub(super) input: Vec<usize>,
    /// How many places it takes.
    pub(super) output: Vec<usize>,
}

impl Sliding {
    /// The window of a node, over `input`, with `output` places.
    pub(super) fn of(
        node: &Node,
        kernel: Vec<usize>,
        input: &[usize],
        output: &[usize],
    ) -> Result<Sliding, Refusal> {
        let rank = kernel.len();
        if rank == 0 || input.len() != rank || output.len() != rank {
            return Err(Refusal("its window does not fit its input".to_string()));
        }
        let places = kernel.iter().try_fold(1_usize, |places, size| places.checked_mul(*size));
        if places.is_none_or(|places| places > MOST_PLACES) {
            return Err(Refusal("its window has too many places".to_string()));
        }
        let list = |name: &str, default: usize, length: usize| -> Vec<usize> {
            let given = node.ints(name).filter(|list| list.len() == length);
            match given {
                Some(list) => list.iter().map(|x| usize::try_from(*x).unwrap_or(0)).collect(),
                None => vec![default; length],
            }
        };
        let pads = list("pads", 0, 2 * rank);
        let (strides, dilations) = (list("strides", 1, rank), list("dilations", 1, rank));
        let parts = [&kernel, &strides, &dilations];
        let is_empty =
            parts.into_iter().flatten().chain(input).chain(output).any(|size| *size == 0);
        let is_wide = pads.iter().chain(&strides).chain(&dilations).any(|step| *step > WIDEST);
        if is_empty || is_wide {
            return Err(Refusal("its window has sizes that no window has".to_string()));
        }
        let mut sliding = Sliding {
            strides,
            dilations,
            before: pads[..rank].to_vec(),
            behind: pads[rank..].to_vec(),
            input: input.to_vec(),
            output: output.to_vec(),
            kernel,
        };
        let auto = node.text("auto_pad").unwrap_or("NOTSET");
        for (at, size) in input.iter().enumerate() {
            let half = match auto {
                "SAME_UPPER" | "SAME_LOWER" => {
                    let reached = (sliding.output[at] - 1) * sliding.strides[at];
                    (reached + sliding.reach(at)).saturating_sub(*size)
                }
                "VALID" => 0,
                _ => continue,
            };
            let small = half / 2;
            let (low, high) =
                if auto == "SAME_LOWER" { (half - small, small) } else { (small, half - small) };
            (sliding.before[at], sliding.behind[at]) = (low, high);
        }
        Ok(sliding)
    }

    /// How far the window reaches along an axis.
    pub(super) fn reach(&self, at: usize) -> usize {
        (self.kernel[at] - 1) * self.dilations[at] + 1
    }

    /// From the first element of the first window to the last of the last one.
    pub(super) fn covered(&self, at: usize) -> usize {
        (self.output[at] - 1) * self.strides[at] + self.reach(at)
    }

    /// Padding before and behind that every window stays within.
    pub(super) fn room(&self, at: usize) -> (usize, usize) {
        let behind = self.covered(at).saturating_sub(self.input[at] + self.before[at]);
        (self.before[at], behind.max(self.behind[at]))
    }

    /// Every place inside the kernel, in row-major order.
    pub(super) fn offsets(&self) -> Vec<Vec<usize>> {
        each(&self.kernel)
    }

    /// How many elements each window counts.
    pub(super) fn counts(&self, with_padding: bool) -> Vec<usize> {
        let along = |at: usize, window: usize| {
            let start = window * self.strides[at];
            let inside = |offset: &usize| {
                let place = start + offset * self.dilations[at];
                if with_padding {
                    place < self.input[at] + self.before[at] + self.behind[at]
                } else {
                    (self.before[at]..self.before[at] + self.input[at]).contains(&place)
                }
            };
            (0..self.kernel[at]).filter(inside).count()
        };
        let windows = each(&self.output);
        let count = |window: &Vec<usize>| {
            window.iter().enumerate().map(|(at, window)| along(at, *window)).product::<usize>()
        };
        windows.iter().map(|window| count(window).max(1)).collect()
    }

    /// Whether the windows lie beside each other and cover everything.
    pub(super) fn is_tiling(&self) -> bool {
        let straight = self.dilations.iter().all(|dilation| *dilation == 1);
        let bare = self.before.iter().chain(&self.behind).all(|pad| *pad == 0);
        let whole =
            (0..self.kernel.len()).all(|at| self.input[at] == self.output[at] * self.kernel[at]);
        straight && bare && whole && self.kernel == self.strides
    }
}

/// Every index below these dims, in row-major order.
fn each(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for dim in dims {
        all = all
            .into_iter()
            .flat_map(|index| {
                (0..*dim).map(move |at| {
                    let mut index = index.clone();
                    index.push(at);
                    index
                })
            })
            .collect();
    }
    all
}
