//! What `recommend --with-predictions` asks: the configurations of a recommendation that were not measured.

use modelmeter::Experience;
use predict::{Case, Learned};
use report::Prediction;
use types::Recommendation;

/// Predictions for the gaps of every recommendation, the fastest first.
pub(crate) fn gaps(found: &[Recommendation], experience: &Experience) -> Vec<Vec<Prediction>> {
    let learned = [experience.learn(false).ok(), experience.learn(true).ok()];
    let of = |one: &Recommendation| {
        let mut own: Vec<Prediction> = cases(one, experience)
            .into_iter()
            .filter_map(|case| {
                let learned: &Learned = learned[usize::from(case.is_gpu)].as_ref()?;
                Some(Prediction { answer: learned.answer(&case), case, next: None })
            })
            .collect();
        let speed = |asked: &Prediction| {
            asked.answer.as_ref().map_or(0.0, |answer| asked.case.batch / answer.seconds.middle)
        };
        own.sort_by(|one, other| speed(other).total_cmp(&speed(one)));
        own
    };
    found.iter().map(of).collect()
}

/// The gaps as questions: the model as it was measured elsewhere, the configuration as others were measured with it.
fn cases(one: &Recommendation, experience: &Experience) -> Vec<Case> {
    let known = || experience.processors.iter().chain(&experience.gpus).map(|known| &known.case);
    let length = one.sequence_length.map(|length| length as f64);
    let own = known().find(|case| {
        case.model == one.model && case.mode == one.mode.name() && case.length == length
    });
    let Some(own) = own else { return Vec::new() };
    let mut all = Vec::new();
    for gap in &one.gaps {
        let place = known().find(|case| {
            case.machine == gap.machine
                && case.engine == gap.engine
                && case.precision == gap.precision.name()
        });
        let Some(place) = place else { continue };
        for batch in &gap.batch_sizes {
            let batch = *batch as f64;
            let scaled = |amount: Option<f64>| amount.map(|amount| amount * batch / own.batch);
            all.push(Case {
                model: own.model.clone(),
                family: own.family.clone(),
                mode: own.mode.clone(),
                length: own.length,
                batch,
                flops: scaled(own.flops),
                bytes: scaled(own.bytes),
                weights: own.weights,
                ..place.clone()
            });
        }
    }
    all
}
