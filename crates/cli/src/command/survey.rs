//! `modelmeter analyze` and `modelmeter recommend`: what stored runs say together.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Analyze, Global, Recommend, SurveyArguments},
    command::{
        capacity::stored_runs,
        open_existing_store,
        predict::{gaps, learned_cells},
    },
    output,
};
use load::{Length, Lengths, Routing};
use modelmeter::{CapacityPlan, Experience, Mode, ReplicaCost, Store, Survey, read_prices};
use predict::Catalogue;
use report::clean;
use std::time::Duration;
use types::{Against, AgainstOutcome, Arrivals, CapacityReport, Objective, Recommendation, Wish};

/// Tokens of a prompt and of an answer where nobody says how long requests are.
const PROMPT: usize = 512;
const ANSWER: usize = 128;

pub(crate) fn analyze(arguments: &Analyze, global: &Global) -> Result<Exit, Failure> {
    let asked = arguments.result.with_file(arguments.file.output.as_deref(), &[])?;
    asked.check([])?;
    let store = open_existing_store(global)?;
    let survey = survey(&arguments.survey);
    let found = survey.analyse(&store)?;
    let against = match &arguments.compare_to {
        Some(path) => {
            let accepted = arguments.regression_alert.unwrap_or(0.0);
            let (against, problems) =
                survey.against(&store, &found, path, arguments.allowance, accepted)?;
            for problem in problems {
                output::complain(&format!("warning: {}: {}\n", path.display(), clean(&problem)));
            }
            Some((against, clean(&path.display().to_string())))
        }
        None => None,
    };
    let exit = match (&against, arguments.regression_alert) {
        _ if found.cells.iter().all(|one| one.cell.invalid.is_some()) => Exit::Untold,
        (Some((against, _)), Some(_)) => exit_against(against),
        _ => Exit::Fine,
    };
    let against = against.as_ref().map(|(against, file)| (against, file.as_str()));
    let mut sinks = Sinks::new(global);
    sinks.result(&report::analysis_document(&found, against), &asked, exit);
    Ok(sinks.finish(exit))
}

/// What a gate on a file says: nothing that could be compared is nothing that was held.
fn exit_against(against: &Against) -> Exit {
    let any = |outcome: AgainstOutcome| against.cells.iter().any(|one| one.outcome == outcome);
    if any(AgainstOutcome::Worse) {
        Exit::Failed
    } else if any(AgainstOutcome::CannotTell) || against.cells.is_empty() {
        Exit::Untold
    } else {
        Exit::Fine
    }
}

pub(crate) fn recommend(arguments: &Recommend, global: &Global) -> Result<Exit, Failure> {
    let asked = arguments.result.with_file(arguments.file.output.as_deref(), &[])?;
    asked.check([])?;
    let wish = wish(arguments)?;
    let store = open_existing_store(global)?;
    let found = survey(&arguments.survey).recommend(&store, &wish)?;
    let believed =
        |one: &Recommendation| one.best().is_some_and(|best| best.cell.invalid.is_none());
    let helps = found.iter().any(believed);
    let exit = if helps { Exit::Fine } else { Exit::Untold };
    let mut sinks = Sinks::new(global);
    let capacity = capacity(arguments, &wish, &found, &store)?;
    let mut document = report::recommendations_with_capacity(&found, &capacity);
    if arguments.with_predictions {
        let experience = Experience::of(&store, &Catalogue::own())?;
        let gaps = gaps(&found, &experience);
        document = report::with_gap_predictions(document, &gaps, &learned_cells(&experience));
    }
    sinks.result(&document, &asked, exit);
    Ok(sinks.finish(exit))
}

/// How many replicas of each model a rate takes; nothing without a rate.
fn capacity(
    arguments: &Recommend,
    wish: &Wish,
    found: &[Recommendation],
    store: &Store,
) -> Result<Vec<CapacityReport>, Failure> {
    let (Some(rate), Some(slo)) = (arguments.rate, arguments.slo.first()) else {
        return Ok(Vec::new());
    };
    let limit = format!("{}:{}s", slo.percentile.name(), slo.limit.0);
    let limit = limit.parse().map_err(|error: types::ParseLoadLimitError| {
        Failure::new(Exit::Wrong, error.to_string())
    })?;
    let costs = wish.prices.prices.iter();
    let plan = CapacityPlan {
        rate,
        arrivals: Arrivals::Poisson,
        limit,
        routing: Routing::OneQueue,
        batch_max: None,
        batch_wait: Duration::ZERO,
        lengths: Lengths { prompt: Length::exactly(PROMPT), answer: Length::exactly(ANSWER) },
        sequence_length: match arguments.survey.sequence_length.as_slice() {
            [only] => usize::try_from(*only).ok(),
            _ => None,
        },
        costs: costs
            .map(|price| ReplicaCost { of: price.device.clone(), per_hour: price.per_hour })
            .collect(),
        seed: 0,
    };
    let mut models: Vec<&str> = found.iter().map(|one| one.model.as_str()).collect();
    models.dedup();
    let mut reports = Vec::new();
    for model in models {
        match plan.answer(model, &stored_runs(model, store)?) {
            Ok(report) => reports.push(report),
            // It was trained only, or imported: the recommendation stands without it.
            Err(modelmeter::Error::NoServiceTimes { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(reports)
}

pub(crate) fn survey(arguments: &SurveyArguments) -> Survey {
    Survey {
        models: arguments.models.iter().chain(&arguments.model_flag).cloned().collect(),
        machines: arguments.machine.clone(),
        devices: arguments.device.clone(),
        engines: arguments.engine.clone(),
        precisions: arguments.precision.clone(),
        batch_sizes: arguments.batch_size.clone(),
        sequence_lengths: arguments.sequence_length.clone(),
        modes: arguments.mode.iter().copied().map(Mode::from).collect(),
        measured_only: false,
        tag: arguments.tag.clone(),
        since: arguments.since.map(|since| since.micros(clock::now())),
        include_invalid: arguments.include_invalid,
    }
}

fn wish(arguments: &Recommend) -> Result<Wish, Failure> {
    let objective = match (arguments.objective, &arguments.prices) {
        (Some(Objective::Cost), None) => {
            return Err(Failure::new(Exit::Wrong, "there are no prices").hint(
                "give `--prices prices.toml`; `modelmeter recommend --help` shows such a file",
            ));
        }
        (Some(objective), Some(_)) if objective != Objective::Cost => {
            let text = format!("prices do not affect the best {objective}");
            return Err(
                Failure::new(Exit::Wrong, text).hint("omit `--prices`, or use `--objective cost`")
            );
        }
        (Some(objective), _) => objective,
        (None, Some(_)) => Objective::Cost,
        (None, None) => Objective::default(),
    };
    Ok(Wish {
        objective,
        slos: arguments.slo.clone(),
        memory_limit: arguments.memory_limit,
        prices: arguments.prices.as_deref().map(read_prices).transpose()?.unwrap_or_default(),
        imported: arguments.imported,
    })
}
