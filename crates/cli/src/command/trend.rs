//! `modelmeter trend`: how numbers went over commits or dates, and where their level changed.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Trend as Arguments},
    command::{open_existing_store, survey::survey},
    output,
};
use modelmeter::{
    analysis::{TrendQuestion, standing},
    draw::{self, Absent, Theme},
    report,
    types::{Trend, TrendStanding},
};
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Arguments, global: &Global) -> Result<Exit, Failure> {
    let files =
        [&arguments.json, &arguments.csv, &arguments.html, &arguments.svg, &arguments.prometheus];
    for file in files.into_iter().flatten().filter(|file| !is_standard(file)) {
        output::check_folder(file)?;
    }
    let question = TrendQuestion {
        metric: arguments.metric,
        by: arguments.by.into(),
        session: arguments.session,
        level: arguments.false_alarms,
        smallest: arguments.smallest,
        last: arguments.last,
    };
    let store = open_existing_store(global)?;
    let survey = survey(&arguments.survey);
    let found = survey.trend(&store, &question)?;
    let standings = arguments.alert.map(|accepted| standings(&found, accepted));
    let mut sinks = Sinks::new(global);
    if files.into_iter().flatten().any(|file| is_standard(file)) {
        sinks.leave_to_data();
    }
    write(arguments, &found, standings.as_deref(), &mut sinks);
    if let Some(path) = &arguments.prometheus {
        let analysis = survey.analyse(&store)?;
        let trend = (&found, standings.as_deref().unwrap_or_default());
        sinks.file(path, || report::prometheus(&analysis, Some(trend)));
    }
    let exit = exit_of(&found, standings.as_deref());
    sinks.page_of(exit, |style| {
        let mut page = report::trend(&found, style);
        if let (Some(standings), Some(accepted)) = (&standings, arguments.alert) {
            page += &report::standings(&found, standings, accepted, style);
        }
        page
    });
    Ok(sinks.finish(exit))
}

/// How every history stands against an accepted worsening.
pub(crate) fn standings(found: &Trend, accepted: f64) -> Vec<TrendStanding> {
    found.series.iter().map(|series| standing(series, found.metric, accepted)).collect()
}

fn write(
    arguments: &Arguments,
    found: &Trend,
    standings: Option<&[TrendStanding]>,
    sinks: &mut Sinks,
) {
    if let Some(path) = &arguments.json {
        sinks.file(path, || format!("{:#}\n", report::trend_json(found, standings)));
    }
    if let Some(path) = &arguments.csv {
        sinks.file(path, || report::trend_csv(found));
    }
    sinks.attempt(draw_to(&arguments.svg, || draw::history(found, Theme::Light)));
    sinks.attempt(draw_to(&arguments.html, || draw::history_page(found)));
}

fn draw_to(
    path: &Option<PathBuf>,
    draw: impl FnOnce() -> Result<String, Absent>,
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let text = draw().map_err(|Absent { why, hint }| {
        Failure::new(Exit::Untold, format!("`{}` is not written", path.display()))
            .cause(why)
            .hint(format!("`{hint}`"))
    })?;
    output::to_file(path, &text)
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

fn exit_of(found: &Trend, standings: Option<&[TrendStanding]>) -> Exit {
    let Some(standings) = standings else { return Exit::Fine };
    if standings.contains(&TrendStanding::Worse) {
        Exit::Failed
    } else if found.series.is_empty() || standings.iter().any(|one| *one != TrendStanding::Held) {
        Exit::Untold
    } else {
        Exit::Fine
    }
}
