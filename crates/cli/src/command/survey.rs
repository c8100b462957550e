//! `modelmeter analyze` and `modelmeter recommend`: what stored runs say together.

use crate::{
    Exit, Failure,
    arguments::{Analyze, Global, Recommend, SurveyArguments},
    command::{
        open_existing_store,
        runs::now_micros,
        style, table_width,
        target::{Format, Target},
    },
    output,
};
use modelmeter::{
    Mode, Survey, read_prices,
    report::{self, clean},
    types::{Against, AgainstOutcome, Objective, Recommendation, Wish},
};

pub(crate) fn analyze(arguments: &Analyze, global: &Global) -> Result<Exit, Failure> {
    let target = Target::of(&arguments.form)?;
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
    target.write(exit, global, || match target.format {
        Format::Page => {
            let mut page = report::analysis(&found, &style(global));
            if let Some((against, file)) = &against {
                page += "\n";
                page += &report::against(against, file, &found.machines, &style(global));
            }
            page
        }
        Format::Json => {
            let mut document = report::analysis_json(&found);
            if let Some((against, file)) = &against {
                document["compared_to"] = report::against_json(against, file);
            }
            format!("{document:#}\n")
        }
        Format::Csv => report::analysis_csv(&found),
        Format::Markdown => report::analysis_markdown(&found),
    })?;
    Ok(exit)
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
    let target = Target::of(&arguments.form)?;
    let wish = wish(arguments)?;
    let store = open_existing_store(global)?;
    let found = survey(&arguments.survey).recommend(&store, &wish)?;
    let believed =
        |one: &Recommendation| one.best().is_some_and(|best| best.cell.invalid.is_none());
    let helps = found.iter().any(believed);
    let exit = if helps { Exit::Fine } else { Exit::Untold };
    let document = report::recommendations_document(&found);
    target.write(exit, global, || match target.format {
        Format::Page => document.terminal(&style(global), table_width()),
        Format::Json => document.json_text(),
        Format::Csv => document.csv(),
        Format::Markdown => document.markdown(),
    })?;
    Ok(exit)
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
        since: arguments.since.map(|since| since.micros(now_micros())),
        include_invalid: arguments.include_invalid,
    }
}

fn wish(arguments: &Recommend) -> Result<Wish, Failure> {
    let objective = match (arguments.objective, &arguments.prices) {
        (Some(Objective::Cost), None) => {
            return Err(Failure::new(Exit::Wrong, "what things cost is not known").hint(
                "give `--prices prices.toml`; `modelmeter recommend --help` shows such a file",
            ));
        }
        (Some(objective), Some(_)) if objective != Objective::Cost => {
            let text = format!("prices say nothing about the best {objective}");
            return Err(Failure::new(Exit::Wrong, text)
                .hint("leave `--prices` away, or ask for `--objective cost`"));
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
