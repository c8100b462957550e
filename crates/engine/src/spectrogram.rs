//! The spectrogram that Whisper takes: logarithms of the power in bands of the mel scale.

use rustfft::{Fft, FftPlannerScalar, num_complex::Complex32};
use std::{f32::consts::TAU, sync::Arc};
use types::SpectrogramRecipe;

/// Power below this is silence.
const SILENCE: f32 = 1e-10;

/// Whatever is more decades below the loudest moment is lifted to there.
const RANGE: f32 = 8.0;

/// Makes spectrograms of one kind.
pub(crate) struct Spectrogram {
    recipe: SpectrogramRecipe,
    transform: Arc<dyn Fft<f32>>,
    window: Vec<f32>,
    bands: Vec<Band>,
}

/// A triangle over neighbouring frequencies.
struct Band {
    first: usize,
    weights: Vec<f32>,
}

impl Spectrogram {
    pub(crate) fn new(recipe: &SpectrogramRecipe) -> Spectrogram {
        let window = recipe.window.max(2);
        let turn = TAU / window as f32;
        Spectrogram {
            recipe: recipe.clone(),
            // Code for AVX and SSE would be half a megabyte more, and two moments at a time make up for it.
            transform: FftPlannerScalar::new().plan_fft_forward(window),
            window: (0..window).map(|at| 0.5 - 0.5 * (turn * at as f32).cos()).collect(),
            bands: bands(recipe.bands, recipe.rate, window),
        }
    }

    /// Band by band, each moment after the other.
    pub(crate) fn of(&self, sound: &[f32]) -> Vec<f32> {
        let SpectrogramRecipe { frames, hop, .. } = self.recipe;
        let length = frames * hop;
        let middle = self.window.len() / 2;
        // Around its ends the recording is mirrored, so that the first moment lies at its begin.
        let at = |place: usize| {
            let place = place.abs_diff(middle);
            let place = if place < length { place } else { (2 * length).saturating_sub(place + 2) };
            sound.get(place).copied().filter(|_| place < length).unwrap_or(0.0)
        };
        let mut values = vec![0.0; self.bands.len() * frames];
        let mut moment = vec![Complex32::default(); self.window.len()];
        let mut scratch = vec![Complex32::default(); self.transform.get_inplace_scratch_len()];
        // The transform is of complex numbers and a moment is not, so each carries two moments.
        for frame in (0..frames).step_by(2) {
            for (place, (value, weight)) in moment.iter_mut().zip(&self.window).enumerate() {
                let place = frame * hop + place;
                *value = Complex32::new(at(place) * weight, at(place + hop) * weight);
            }
            self.transform.process_with_scratch(&mut moment, &mut scratch);
            for (row, band) in self.bands.iter().enumerate() {
                let mut powers = [0.0; 2];
                for (bin, weight) in (band.first..).zip(&band.weights) {
                    for (sum, power) in powers.iter_mut().zip(both(&moment, bin)) {
                        *sum += power * weight;
                    }
                }
                let room = &mut values[row * frames + frame..(row + 1) * frames];
                for (value, power) in room.iter_mut().zip(powers) {
                    *value = power.max(SILENCE).log10();
                }
            }
        }
        let loudest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        values.iter_mut().for_each(|value| *value = (value.max(loudest - RANGE) + 4.0) / 4.0);
        values
    }
}

/// The power of the two moments that were transformed as one, at a frequency: what is even is the first's, what is odd the
/// second's.
fn both(transformed: &[Complex32], bin: usize) -> [f32; 2] {
    let here = transformed[bin];
    let mirrored = transformed[(transformed.len() - bin) % transformed.len()].conj();
    [(here + mirrored).norm_sqr() / 4.0, (here - mirrored).norm_sqr() / 4.0]
}

/// Triangles whose corners lie evenly on the mel scale, each of the same area.
fn bands(count: usize, rate: u32, window: usize) -> Vec<Band> {
    let step = f64::from(rate) / window as f64;
    let highest = mel(f64::from(rate) / 2.0);
    let corner = |at: usize| hertz(highest * at as f64 / (count + 1) as f64);
    let band = |at: usize| {
        let (low, peak, high) = (corner(at), corner(at + 1), corner(at + 2));
        let weight = |bin: usize| {
            let frequency = bin as f64 * step;
            let slope = ((frequency - low) / (peak - low)).min((high - frequency) / (high - peak));
            (slope.max(0.0) * 2.0 / (high - low)) as f32
        };
        let first = ((low / step).ceil() as usize).min(window / 2);
        let last = ((high / step).floor() as usize).clamp(first, window / 2);
        Band { first, weights: (first..=last).map(weight).collect() }
    };
    (0..count).map(band).collect()
}

/// The scale is even below this frequency and logarithmic above.
const BEND: f64 = 1000.0;
const BEND_MEL: f64 = 15.0;

/// Mels in a factor of 6.4 above the bend.
const MELS: f64 = 27.0;

fn mel(hertz: f64) -> f64 {
    match hertz < BEND {
        true => hertz * BEND_MEL / BEND,
        false => BEND_MEL + MELS * (hertz / BEND).ln() / 6.4_f64.ln(),
    }
}

fn hertz(mel: f64) -> f64 {
    match mel < BEND_MEL {
        true => mel * BEND / BEND_MEL,
        false => BEND * (6.4_f64.ln() * (mel - BEND_MEL) / MELS).exp(),
    }
}
