//! Fills inputs from their recipes; the same seed gives the same numbers on every machine.

use crate::{EngineError, EngineErrorKind, LoadJob, read_tensors};
use stats::SplitMix;
use types::{ElementType, Elements, Fill, HostTensor, InputSpec, stable_hash};

/// A normally distributed number (Box–Muller).
fn normal(random: &mut SplitMix) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Fills one input from its recipe. The seed is mixed with the input's name, so the order of inputs is free.
#[must_use]
pub fn draw(spec: &InputSpec, seed: u64) -> HostTensor {
    let count: usize = spec.dims.iter().product();
    let mut random = SplitMix::new(seed ^ stable_hash(spec.name.bytes()));
    let row = spec.dims.last().copied().unwrap_or(1).max(1);
    let numbers: Vec<f64> = (0..count)
        .map(|index| match &spec.fill {
            Fill::Integers { low, high } => {
                let span = high.saturating_sub(*low).max(1) as u64;
                (*low + (random.number() % span) as i64) as f64
            }
            Fill::Uniform { low, high } => low + (high - low) * random.unit(),
            Fill::Normal { mean, std } => mean + std * normal(&mut random),
            Fill::Constant { value } => *value,
            Fill::Positions => (index % row) as f64,
            Fill::Values { values } => {
                values.get(index % values.len().max(1)).copied().unwrap_or(0.0)
            }
            // Read from the job's file, never drawn: `inputs_of` sees to it.
            Fill::Given { .. } => f64::NAN,
        })
        .collect();
    HostTensor {
        name: spec.name.clone(),
        dims: spec.dims.clone(),
        elements: cast(&numbers, spec.dtype),
    }
}

/// The inputs of a job: read where they lie in a file, drawn otherwise.
///
/// # Errors
/// When the file cannot be read or lacks an input.
pub(crate) fn inputs_of(job: &LoadJob) -> Result<Vec<HostTensor>, EngineError> {
    let mut read = match &job.inputs_file {
        Some(path) => read_tensors(path)?,
        None => Vec::new(),
    };
    // What becomes of files is put in before the first inference.
    let is_media =
        |spec: &InputSpec| job.media.as_ref().is_some_and(|media| media.input == spec.name);
    let beyond = |spec: &&InputSpec| {
        spec.dims.iter().try_fold(1_usize, |count, size| count.checked_mul(*size)).is_none()
    };
    if let Some(spec) = job.inputs.iter().find(beyond) {
        let text =
            format!("input `{}` of shape {:?} is too large for any memory", spec.name, spec.dims);
        return Err(EngineError::new(EngineErrorKind::BadInput, text));
    }
    let find = |spec: &InputSpec| match read.iter().position(|tensor| tensor.name == spec.name) {
        Some(place) => Ok(read.swap_remove(place)),
        None if matches!(spec.fill, Fill::Given { .. }) && !is_media(spec) => {
            Err(EngineError::new(
                EngineErrorKind::BadInput,
                format!("the values of input `{}` are not in the job's file", spec.name),
            ))
        }
        None => Ok(draw(spec, job.seed)),
    };
    job.inputs.iter().map(find).collect()
}

fn cast(numbers: &[f64], dtype: ElementType) -> Elements {
    match dtype {
        ElementType::F32 => Elements::F32(numbers.iter().map(|&x| x as f32).collect()),
        ElementType::F64 => Elements::F64(numbers.to_vec()),
        ElementType::F16 => {
            Elements::F16(numbers.iter().map(|&x| half::f16::from_f64(x).to_bits()).collect())
        }
        ElementType::Bf16 => {
            Elements::Bf16(numbers.iter().map(|&x| half::bf16::from_f64(x).to_bits()).collect())
        }
        ElementType::I64 => Elements::I64(numbers.iter().map(|&x| x as i64).collect()),
        ElementType::I32 => Elements::I32(numbers.iter().map(|&x| x as i32).collect()),
        ElementType::I16 => Elements::I16(numbers.iter().map(|&x| x as i16).collect()),
        ElementType::I8 => Elements::I8(numbers.iter().map(|&x| x as i8).collect()),
        ElementType::U8 => Elements::U8(numbers.iter().map(|&x| x as u8).collect()),
        ElementType::Bool => Elements::Bool(numbers.iter().map(|&x| u8::from(x != 0.0)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::InputRole;

    fn spec(name: &str, dtype: ElementType, dims: &[usize], fill: Fill) -> InputSpec {
        InputSpec { name: name.into(), dtype, dims: dims.to_vec(), role: InputRole::Other, fill }
    }

    #[test]
    fn token_ids_stay_in_range_and_repeat_with_the_seed() {
        let ids = spec("ids", ElementType::I64, &[8, 128], Fill::Integers { low: 3, high: 50 });
        let first = draw(&ids, 1);
        let Elements::I64(values) = &first.elements else { panic!("not int64") };
        assert_eq!(values.len(), 1024);
        assert!(values.iter().all(|id| (3..50).contains(id)));
        assert!(values.contains(&3) && values.contains(&49));
        assert_eq!(first, draw(&ids, 1));
        assert_ne!(first, draw(&ids, 2));
    }

    #[test]
    fn two_inputs_do_not_share_their_numbers() {
        let fill = Fill::Uniform { low: 0.0, high: 1.0 };
        let a = draw(&spec("a", ElementType::F32, &[16], fill.clone()), 7);
        let b = draw(&spec("b", ElementType::F32, &[16], fill), 7);
        assert_ne!(a.elements, b.elements);
    }

    #[test]
    fn normal_numbers_have_the_asked_mean_and_spread() {
        let noise =
            spec("noise", ElementType::F64, &[20_000], Fill::Normal { mean: 2.0, std: 0.5 });
        let Elements::F64(values) = draw(&noise, 3).elements else { panic!("not f64") };
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 2.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() - 0.5).abs() < 0.02, "std {}", variance.sqrt());
    }

    #[test]
    fn positions_count_along_each_row() {
        let positions = spec("p", ElementType::I64, &[2, 3], Fill::Positions);
        assert_eq!(draw(&positions, 0).elements, Elements::I64(vec![0, 1, 2, 0, 1, 2]));
    }

    #[test]
    fn a_scalar_has_one_element() {
        let rate = spec("sr", ElementType::I64, &[], Fill::Values { values: vec![16_000.0] });
        assert_eq!(draw(&rate, 0).elements, Elements::I64(vec![16_000]));
    }
}
