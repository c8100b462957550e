//! Several processes that train together, and what becomes of them.

use crate::{
    conformance::small_network,
    train::{check_window, encoder_job, integers, training, training_job},
    worker::{Worker, floats, values},
};
use engine::{EngineErrorKind as Kind, Failure, LoadJob, Reply, Request};
use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use types::{Loss, Optimizer, Training};

fn pair() -> Training {
    Training { world_size: 2, ..training(Optimizer::AdamW, Loss::Mse, 3e-3) }
}

fn loaded(job: &LoadJob) -> Worker {
    let mut worker = Worker::start();
    worker.load(job);
    worker
}

/// State and parent of a process, while there is one.
fn process(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    Some((rest.next()?.chars().next()?, rest.next()?.parse().ok()?))
}

/// The processes that a worker started and that still run.
fn ranks_of(worker: &Worker) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap();
    let pids = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        process(*pid).is_some_and(|(state, parent)| parent == worker.child.id() && state != 'Z')
    })
    .collect()
}

/// Waits until a process is gone; one that nobody has waited for counts as gone.
fn is_gone(pid: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if process(pid).is_none_or(|(state, _)| state == 'Z') {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// What a worker says when a rank has gone in the middle of a long run.
fn fails(worker: &mut Worker, hit: impl FnOnce(&mut Worker)) -> Failure {
    worker.tell(&Request::Run { count: u64::MAX, budget: Duration::from_secs(600) });
    thread::sleep(Duration::from_millis(300));
    hit(worker);
    match worker.hear().unwrap() {
        Reply::Failed(failure) => {
            assert_eq!(failure.kind, Kind::Failed, "{failure:?}");
            failure
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_ranks_train_on_batches_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    let report = worker.load(&encoder_job(folder.path(), pair()));
    assert!(report.placement.ends_with("2 ranks over gloo"), "{}", report.placement);
    assert!(report.remarks.iter().any(|one| one.code == types::RemarkCode::Ranks), "{report:?}");
    let both = worker.gradients(folder.path());
    let alone = encoder_job(folder.path(), Training { world_size: 1, ..pair() });
    let alone = loaded(&alone).gradients(folder.path());
    assert_eq!(both.len(), alone.len());
    // The loss is of this rank's batch, the gradients are of both.
    assert_eq!(values(&both, "loss"), values(&alone, "loss"));
    let name = &alone.iter().find(|tensor| tensor.dims.len() == 2).unwrap().name;
    assert_ne!(values(&both, name), values(&alone, name));

    worker.first_step();
    check_window(&worker.steps(18), 18);
    let report = worker.trained();
    assert_eq!(report.losses.len(), 20);
    assert!(report.losses[19] < 0.9 * report.losses[0], "{:?}", report.losses);
    let world = report.world.unwrap();
    assert_eq!((world.backend.as_str(), world.steps.len()), ("gloo", 2));
    assert!(world.steps.iter().all(|step| step.0 > 0.0), "{world:?}");
    assert!(world.all_reduce.0 > 0.0 && world.all_reduce_alone.0 > 0.0, "{world:?}");
    assert!(world.step_alone.0 > 0.0 && world.efficiency().is_some(), "{world:?}");
    assert!(world.all_reduce.0 < world.steps[0].0, "{world:?}");
    assert!((0.0..=1.0).contains(&world.overlap.0), "{world:?}");
    assert_eq!(world.bytes, report.memory.gradients);
    // What was asked for afterwards goes on where it was.
    check_window(&worker.steps(2), 2);

    let ranks = ranks_of(&worker);
    assert_eq!(ranks.len(), 1);
    worker.tell(&Request::Bye);
    assert_eq!(worker.hear(), None);
    assert!(is_gone(ranks[0]));
}

#[test]
fn gradients_are_shared_once_a_step_and_unread_weights_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("modules.py");
    let text = "import torch\n\
                class Net(torch.nn.Module):\n    \
                    def __init__(self):\n        \
                        super().__init__()\n        \
                        self.weight = torch.nn.Parameter(torch.ones(1))\n        \
                        self.unused = torch.nn.Parameter(torch.ones(3))\n    \
                    def forward(self, x):\n        \
                        return {'y': x * self.weight}\n\
                def make(): return Net()\n";
    fs::write(&file, text).unwrap();
    let module = types::Module::Factory { file, function: "make".into() };
    let (x, labels) = (floats("x", &[1, 1], &[2.0]), floats("labels", &[1, 1], &[0.0]));
    let how =
        Training { accumulation: 2, world_size: 2, ..training(Optimizer::Sgd, Loss::Mse, 0.125) };
    let mut worker = loaded(&training_job(module, &[x], labels, "y", how, folder.path()));
    // One number in any order is the same batch: (2 w)² has the gradient 8 w in every batch of every rank.
    let found = worker.gradients(folder.path());
    assert_eq!((values(&found, "loss"), values(&found, "weight")), (&[4.0][..], &[8.0][..]));
    assert_eq!(found.len(), 2);
    // The weight is 1 − 0.125 × 8 = 0 in both ranks by now.
    assert_eq!(values(&worker.gradients(folder.path()), "weight"), [0.0]);
    let report = worker.trained();
    assert_eq!((report.losses, report.untrained), (vec![4.0, 0.0], vec!["unused".to_owned()]));
}

#[test]
fn a_killed_rank_ends_the_training_and_nothing_stays_running() {
    let folder = tempfile::tempdir().unwrap();
    let how = Training { world_size: 3, ..pair() };
    let mut worker = loaded(&encoder_job(folder.path(), how));
    worker.first_step();
    let ranks = ranks_of(&worker);
    assert_eq!(ranks.len(), 2);
    let failure = fails(&mut worker, |_| signal(ranks[1], "KILL"));
    assert!(failure.message.ends_with("was killed by SIGKILL"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("--world-size"));
    assert!(ranks.iter().all(|pid| is_gone(*pid)));
    // It says the same again, and does not hang.
    for ask in [Request::First, Request::Trained] {
        match worker.ask(&ask) {
            Reply::Failed(again) => assert_eq!(again.message, failure.message),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_rank_that_hangs_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = loaded(&encoder_job(folder.path(), pair()));
    worker.first_step();
    let ranks = ranks_of(&worker);
    let failure = fails(&mut worker, |_| signal(ranks[0], "STOP"));
    assert!(failure.message.starts_with("rank 1 hangs"), "{failure:?}");
    assert!(is_gone(ranks[0]));
}

#[test]
fn the_ranks_die_with_their_worker() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = loaded(&encoder_job(folder.path(), pair()));
    let ranks = ranks_of(&worker);
    assert_eq!(ranks.len(), 1);
    worker.child.kill().unwrap();
    worker.child.wait().unwrap();
    assert!(is_gone(ranks[0]));
}

fn feed_forward(folder: &Path, labels: Vec<i64>) -> LoadJob {
    let how = Training { loss: Loss::CrossEntropy, ..pair() };
    let input = floats("input", &[2, 2], &[1.0, 1.0, 0.0, 1.0]);
    let labels = integers("labels", &[2], labels);
    training_job(small_network(folder), &[input], labels, "output", how, folder)
}

#[test]
fn what_does_not_fit_is_refused_by_the_worker_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    let failure = worker.refuse(&feed_forward(folder.path(), vec![0, 7]), Kind::BadInput);
    assert!(failure.message.contains("label 7 is out of range"), "{failure:?}");
    assert!(ranks_of(&worker).is_empty());
    let mut elsewhere = feed_forward(folder.path(), vec![0, 1]);
    elsewhere.request.device = types::Device::Mps;
    let failure = worker.refuse(&elsewhere, Kind::Unsupported);
    assert!(failure.message.contains("one process"), "{failure:?}");
    assert!(ranks_of(&worker).is_empty());
}
