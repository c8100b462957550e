//! `bench --explore`: measures those cells of a plan first that say most of the others, and predicts the rest.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Bench, Global},
    command::{predict::learned_cells, watched_session},
    progress::Progress,
};
use modelmeter::{Expansion, Experience, Folders, Profiler, Question, Session, Target};
use predict::{Case, Catalogue, Known, Learned, Refused, explore};
use report::{ExplorationView, Prediction};
use std::time::{Duration, Instant};
use types::{Device, Task};

/// Cells that are measured before anything is known: the first, and so many more, spread over the plan.
const BLIND: usize = 5;

/// So many steps are compared with chance.
const FORESEEN: usize = 64;

/// Half of a 90 % interval in deviations of a normal distribution.
const HALF: f64 = 1.645;

/// What became of the search.
struct Found {
    /// The cells of the plan.
    cases: Vec<Case>,
    /// What was known of them before.
    before: usize,
    /// Cells that were measured, in this order.
    measured: Vec<usize>,
    /// Cells that failed, and why.
    failed: Vec<(String, String)>,
    /// Mean deviation of the plan's cells before and after every cell that was chosen, as a logarithm.
    deviation: Vec<f64>,
    /// The same by chance, as was expected when cells began to be chosen.
    by_chance: Vec<f64>,
    /// What was learned at the end.
    learned: Option<Learned>,
    /// The database at the end.
    experience: Experience,
}

pub(super) fn run(
    arguments: &Bench,
    base: &Profiler,
    plan: &Expansion,
    folders: &Folders,
    budget: Duration,
    global: &Global,
) -> Result<Exit, Failure> {
    let catalogue = Catalogue::own();
    let mut session = watched_session(folders, false, global, "the exploration")?;
    let mut progress = Progress::new(global.quiet);
    let began = Instant::now();
    let mut cases = Vec::new();
    let mut tasks: Vec<&Task> = Vec::new();
    let mut failed = Vec::new();
    for task in &plan.cells {
        let target = Target::Here(task.device.bounded_by().unwrap_or(Device::Cpu));
        let profiler = base.of_cell(task);
        let question = Question { profiler, target, engine: Some(task.engine.clone()) };
        match question.case(&mut session, &catalogue, &mut |event| progress.hear(&event)) {
            Ok(case) => {
                cases.push(case);
                tasks.push(task);
            }
            Err(error) => failed.push((task.model.clone(), error.to_string())),
        }
    }
    let mut found = Found {
        before: 0,
        measured: Vec::new(),
        failed,
        deviation: Vec::new(),
        by_chance: Vec::new(),
        learned: None,
        experience: experience(&session, &catalogue)?,
        cases,
    };
    let is_known = |found: &Found, at: usize| {
        let all = found.experience.processors.iter().chain(&found.experience.gpus);
        all.into_iter().any(|known: &Known| known.case.is_same_cell(&found.cases[at]))
    };
    found.before = (0..found.cases.len()).filter(|at| is_known(&found, *at)).count();
    let mut tried: Vec<usize> = Vec::new();
    loop {
        let open: Vec<usize> = (0..found.cases.len())
            .filter(|at| !tried.contains(at) && !is_known(&found, *at))
            .collect();
        let is_gpu = found.cases.first().is_some_and(|case| case.is_gpu);
        found.learned = found.experience.learn(is_gpu).ok();
        let grid: Vec<Case> = open.iter().map(|at| found.cases[*at].clone()).collect();
        if let Some(learned) = &found.learned {
            let steps = if found.by_chance.is_empty() { grid.len().min(FORESEEN) } else { 1 };
            let search = explore(learned, &grid, steps);
            if found.by_chance.is_empty() {
                found.by_chance.clone_from(&search.by_chance);
                found.deviation.extend(search.deviation.first());
            }
        }
        if open.is_empty() || began.elapsed() >= budget {
            break;
        }
        let at = match &found.learned {
            Some(learned) if tried.len() >= BLIND || found.before > BLIND => {
                let chosen = explore(learned, &grid, 1);
                open[chosen.order.first().copied().unwrap_or(0)]
            }
            // Nothing is known: spread over the plan.
            _ => open[(tried.len() * 7) % open.len()],
        };
        tried.push(at);
        let profiler = base.of_cell(tasks[at]);
        match profiler.profile_in(&mut session, &mut |event| progress.hear(&event)) {
            Ok(_) => found.measured.push(at),
            Err(error) => found.failed.push((found.cases[at].words(), error.to_string())),
        }
        found.experience = experience(&session, &catalogue)?;
    }
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let exit =
        if found.measured.is_empty() && found.before == 0 { Exit::Cannot } else { Exit::Fine };
    let cells = found.predictions();
    let document = report::exploration_document(&found.view(&cells));
    sinks.result(&document, &arguments.result, exit);
    Ok(sinks.finish(exit))
}

impl Found {
    /// What is known of every cell of the plan at the end.
    fn predictions(&self) -> Vec<Prediction> {
        let answer = |case: &Case| match &self.learned {
            Some(learned) => learned.answer(case),
            None => Err(Refused {
                why: "too little is measured".into(),
                nearest: "a longer `--explore`".into(),
                rows: 1,
            }),
        };
        let of = |case: &Case| Prediction { answer: answer(case), case: case.clone(), next: None };
        self.cases.iter().map(of).collect()
    }

    fn view<'a>(&'a self, cells: &'a [Prediction]) -> ExplorationView<'a> {
        let steps = self.measured.len().min(self.by_chance.len().saturating_sub(1));
        let width = |deviation: f64| (HALF * deviation).exp();
        let widths: Vec<f64> = cells
            .iter()
            .filter_map(|one| {
                let own = &one.answer.as_ref().ok()?.seconds;
                Some((own.high / own.low).sqrt().ln())
            })
            .collect();
        ExplorationView {
            cells,
            before: self.before,
            measured: self.measured.len(),
            failed: &self.failed,
            width_before: self.deviation.first().copied().map(width),
            width_after: match widths.len() {
                0 => None,
                count => Some((widths.iter().sum::<f64>() / count as f64).exp()),
            },
            width_by_chance: self.by_chance.get(steps).copied().map(width),
            learned: learned_cells(&self.experience),
        }
    }
}

fn experience(session: &Session, catalogue: &Catalogue) -> Result<Experience, Failure> {
    match session.store() {
        Some(store) => Ok(Experience::of(store, catalogue)?),
        None => Err(Failure::new(Exit::Cannot, "`--explore` needs the database, which is away")),
    }
}
