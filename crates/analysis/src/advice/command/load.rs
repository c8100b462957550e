//! The command that sends a load again.

use super::{quoted, told};
use types::{Cell, Load, LoadReport, Protocol, Scenario};

/// The command without its arguments.
const LOAD: &str = "modelmeter load";

/// The command that sends a load again, for as long as its report says.
///
/// # Errors
/// Where it was sent to a server: its requests are not stored, only what they were in words.
pub fn load_again(cell: &Cell, load: &Load, report: Option<&LoadReport>) -> Result<String, String> {
    let scenario = scenario(&load.scenario).join(" ");
    if load.protocol != Protocol::InProcess {
        let target = report.map_or("ADDRESS", |report| report.target.as_str());
        let command = format!("{LOAD} {} {scenario}", quoted(target));
        return Err(format!(
            "a load on a server: run `{command}` again with the same requests ({})",
            load.content
        ));
    }
    let mut all = vec![
        LOAD.to_owned(),
        quoted(&cell.model),
        scenario,
        format!("--engine {}", cell.engine),
        format!("--precision {}", cell.precision),
        // What `auto` would choose depends on the machine.
        format!("--device {}", cell.device),
        format!("--threads {}", cell.threads),
    ];
    match &load.texts {
        // Of a file only its hash is stored.
        Some(_) => all.push("--prompts FILE".into()),
        None => {
            all.extend(cell.sequence_length.map(|length| format!("--sequence-length {length}")))
        }
    }
    if cell.seed != 0 {
        all.push(format!("--seed {}", cell.seed));
    }
    all.extend(told(&cell.options));
    if let Some(batching) = load.batching {
        all.push(format!("--batch-max {}", batching.most));
        if batching.wait_micros > 0 {
            all.push(format!("--batch-wait {}ms", batching.wait_micros as f64 / 1e3));
        }
    }
    // Older versions took it without a schedule, where it says nothing.
    let most = load.max_in_flight.filter(|_| load.scenario.is_open());
    all.extend(most.map(|most| format!("--max-in-flight {most}")));
    all.extend(report.into_iter().flat_map(|report| length(&load.scenario, report)));
    Ok(all.join(" "))
}

/// Who asks when, as `load` takes it.
fn scenario(scenario: &Scenario) -> Vec<String> {
    match scenario {
        Scenario::SingleStream => vec!["--single-stream".into()],
        Scenario::MultiStream { streams } => vec![format!("--multi-stream {streams}")],
        Scenario::Server { rate, arrivals, ramp_to } => {
            let mut words = vec![format!("--rate {}/s", rate.0), format!("--arrivals {arrivals}")];
            words.extend(ramp_to.map(|to| format!("--ramp-to {}/s", to.0)));
            words
        }
        Scenario::Offline => vec!["--offline".into()],
        Scenario::Concurrency { users } => vec![format!("--concurrency {users}")],
        // Of a file only its hash is stored.
        Scenario::Replay { .. } => vec!["--trace FILE".into()],
    }
}

/// How long requests were sent, how many, and what they were held against, where that is not what happens anyway.
fn length(scenario: &Scenario, report: &LoadReport) -> Vec<String> {
    /// Requests are sent so long, in seconds, where nobody says otherwise.
    const USUAL: f64 = 30.0;
    /// So many are sent at once where nobody says otherwise.
    const AT_ONCE: u64 = 1000;
    let mut words = Vec::new();
    if *scenario == Scenario::Offline {
        let count = report.counts.scheduled + report.counts.warmup;
        words.extend((count != AT_ONCE).then(|| format!("--max-requests {count}")));
    } else {
        // A schedule ends with its last request, a little before the time that it was drawn for.
        let end = report.window.to.0;
        let parts = if scenario.is_open() && end > 2.0 { 1.0 } else { 10.0 };
        let duration = (end * parts - 1e-6).ceil().max(1.0) / parts;
        // A file lasts as long as its moments.
        let is_usual = duration == USUAL || matches!(scenario, Scenario::Replay { .. });
        words.extend((!is_usual).then(|| format!("--duration {}", seconds(duration))));
        words.push(format!("--warmup {}", seconds(report.window.from.0)));
    }
    let limits: Vec<String> = report.limits.iter().map(|one| one.limit.to_string()).collect();
    words.extend((!limits.is_empty()).then(|| format!("--slo {}", limits.join(","))));
    words
}

/// A time in whole seconds or else milliseconds, as arguments take it.
fn seconds(seconds: f64) -> String {
    match seconds.fract() == 0.0 {
        true => format!("{seconds}s"),
        false => format!("{}ms", (seconds * 1e3).round()),
    }
}

#[cfg(test)]
mod tests {
    use crate::advice::{
        command::{again, comparing, measuring, without},
        scene,
    };
    use types::{Arrivals, Change, LoadTexts, LoadWindow, Protocol, Rate, Scenario, Seconds};

    #[test]
    fn a_load_on_a_model_is_a_load_again() {
        let run = scene::load_run(Scenario::SingleStream);
        assert_eq!(
            again(&run).unwrap(),
            "modelmeter load bert --single-stream --engine rten --precision fp32 --device cpu \
             --threads 2 --sequence-length 128 --batch-max 4 --batch-wait 0.5ms --duration 10s \
             --warmup 2s --slo e2e.p99:200ms"
        );
        let rate = Scenario::Server {
            rate: Rate(2.5),
            arrivals: Arrivals::Poisson,
            ramp_to: Some(Rate(5.0)),
        };
        let mut run = scene::load_run(rate);
        let report = run.load.as_deref_mut().unwrap();
        // The last request of a schedule comes a little before its end.
        report.window = LoadWindow { from: Seconds(5.0), to: Seconds(29.7) };
        let command = again(&run).unwrap();
        assert!(
            command
                .starts_with("modelmeter load bert --rate 2.5/s --arrivals poisson --ramp-to 5/s "),
            "{command}"
        );
        assert!(!command.contains("--duration") && command.contains("--warmup 5s"), "{command}");
        run.cell.load.as_mut().unwrap().texts =
            Some(LoadTexts { count: 2, shortest: 3, longest: 128, hash: "0123".into() });
        let command = again(&run).unwrap();
        assert!(command.contains("--prompts FILE") && !command.contains("--seq"), "{command}");
        let command = again(&scene::load_run(Scenario::Offline)).unwrap();
        assert!(
            command.contains("--offline") && command.contains("--max-requests 400"),
            "{command}"
        );
    }

    #[test]
    fn a_load_does_not_look_inside_and_a_comparison_is_no_load() {
        let run = scene::load_run(Scenario::SingleStream);
        assert!(measuring(&run.cell).starts_with("modelmeter profile bert "));
        let engine = Change { engine: Some("torch".into()), ..Change::default() };
        assert_eq!(comparing(&scene::facts(&run), &engine), None);
    }

    #[test]
    fn what_one_command_cannot_measure_again_says_why() {
        let mut run = scene::load_run(Scenario::Concurrency { users: 8 });
        run.cell.load.as_mut().unwrap().protocol = Protocol::OpenaiChat;
        run.load.as_deref_mut().unwrap().target = "http://127.0.0.1:8080/v1".into();
        assert_eq!(
            again(&run).unwrap_err(),
            "a load on a server: run `modelmeter load http://127.0.0.1:8080/v1 --concurrency 8` \
             again with the same requests (input_ids 1×128)"
        );
        let missing = without(&run.cell, "no layers", "--layers");
        assert_eq!(missing.hint, None, "no model that could be profiled");
        run.cell.load = None;
        run.imported = Some(Box::new(scene::imported("llama-bench")));
        assert!(again(&run).unwrap_err().contains("llama-bench"));
    }
}
