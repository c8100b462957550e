//! The picture of what is measured, predicted and unknown.

use modelmeter::Fits;
use predict::{Case, Known};

/// Models × hardware and engines: measured, predicted and unknown told apart.
pub(super) fn matrix(fits: &Fits) -> String {
    let experience = &fits.experience;
    let mut columns: Vec<(String, String, bool)> = Vec::new();
    let mut models: Vec<String> = Vec::new();
    let mut cells = Vec::new();
    let all = || experience.processors.iter().chain(&experience.gpus);
    let inferences = || all().filter(|known| known.case.mode == "inference");
    for known in inferences() {
        let column = (known.case.hardware.clone(), known.case.engine.clone(), known.case.is_gpu);
        if !columns.contains(&column) {
            columns.push(column);
        }
        if !models.contains(&known.case.model) {
            models.push(known.case.model.clone());
        }
    }
    columns.sort();
    models.sort();
    let learned = [fits.of_kind(false).as_ref().ok(), fits.of_kind(true).as_ref().ok()];
    for model in &models {
        for (hardware, engine, is_gpu) in &columns {
            let rate = |known: &&Known| known.case.batch / known.seconds;
            let here =
                |known: &&Known| known.case.hardware == *hardware && known.case.engine == *engine;
            let own = inferences().filter(here).filter(|known| known.case.model == *model);
            if let Some(best) = own.max_by(|a, b| rate(a).total_cmp(&rate(b))) {
                cells.push(draw::MatrixCell::Measured(rate(&best)));
                continue;
            }
            // Asked as the model was measured elsewhere, on the hardware as others were measured there.
            let asked = inferences().find(|known| known.case.model == *model);
            let place = inferences().find(here);
            let answer = asked.zip(place).zip(learned[usize::from(*is_gpu)]).and_then(
                |((asked, place), learned)| {
                    let case = Case {
                        engine: engine.clone(),
                        machine: place.case.machine.clone(),
                        hardware: hardware.clone(),
                        is_gpu: *is_gpu,
                        peak: place.case.peak,
                        bandwidth: place.case.bandwidth,
                        cache: place.case.cache,
                        threads: place.case.threads,
                        ..asked.case.clone()
                    };
                    let found = learned.answer(&case).ok()?;
                    let of = |seconds: f64| case.batch / seconds;
                    Some((of(found.seconds.middle), of(found.seconds.high), of(found.seconds.low)))
                },
            );
            cells.push(match answer {
                Some((rate, low, high)) => draw::MatrixCell::Predicted { rate, low, high },
                None => draw::MatrixCell::Unknown,
            });
        }
    }
    let columns =
        columns.into_iter().map(|(hardware, engine, _)| (hardware, engine)).collect::<Vec<_>>();
    draw::matrix(&models, &columns, &cells)
}
