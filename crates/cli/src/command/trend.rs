//! `modelmeter trend`: how numbers went over commits or dates, and where their level changed.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Trend as Arguments, is_stdout},
    command::{open_existing_store, survey::survey},
};
use analysis::{TrendQuestion, standing};
use draw::{Absent, Theme};
use report::{Block, ResultPicture, TrendGate};
use types::{Trend, TrendStanding};

pub(crate) fn run(arguments: &Arguments, global: &Global) -> Result<Exit, Failure> {
    let others = [&arguments.svg, &arguments.prometheus].into_iter().flatten();
    arguments.result.check(others.clone())?;
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
    if others.into_iter().any(|file| is_stdout(file)) {
        sinks.leave_to_data();
    }
    if let Some(path) = &arguments.svg {
        match draw::history(&found, Theme::Light) {
            Ok(svg) => sinks.file(path, || svg),
            Err(absent) => {
                let text = format!("`{}` was not written", path.display());
                sinks.attempt(Err(not_drawn(text, absent)));
            }
        }
    }
    if let Some(path) = &arguments.prometheus {
        let analysis = survey.analyse(&store)?;
        let trend = (&found, standings.as_deref().unwrap_or_default());
        sinks.file(path, || report::prometheus(&analysis, Some(trend)));
    }
    let exit = exit_of(&found, standings.as_deref());
    let gate = standings.as_deref().zip(arguments.alert);
    let gate = gate.map(|(standings, accepted)| TrendGate { standings, accepted });
    let mut document = report::trend_document(&found, gate);
    if arguments.result.path("html").is_some() {
        match draw::history_for_page(&found) {
            Ok([svg, narrow]) => {
                let title = format!("History of {}", found.metric.words());
                let picture = ResultPicture { title, svg, narrow: Some(narrow) };
                document.blocks.insert(0, Block::Picture(picture));
            }
            // The page then has the words alone, and that is said.
            Err(absent) => {
                sinks.attempt(Err(not_drawn("the histories cannot be drawn".into(), absent)));
            }
        }
    }
    sinks.result(&document, &arguments.result, exit);
    Ok(sinks.finish(exit))
}

/// How every history stands against an accepted worsening.
pub(crate) fn standings(found: &Trend, accepted: f64) -> Vec<TrendStanding> {
    found.series.iter().map(|series| standing(series, found.metric, accepted)).collect()
}

/// A drawing that there cannot be, and why.
fn not_drawn(what: String, Absent { why, hint }: Absent) -> Failure {
    Failure::new(Exit::Untold, what).cause(why).hint(format!("`{hint}`"))
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
