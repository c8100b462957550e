//! Whether something else took the machine away: the rules that a run, and every turn of a duel, is held to.

use number::{fixed, percent, seconds};
use types::{Cell, GpuState, Machine, Reason, ReasonCode, ThrottleReason, TurnConditions};

/// Above this share of stolen time the numbers are the hypervisor's, not the model's.
const STEAL_INVALID: f64 = 0.10;
/// Above this share stolen time is worth a remark.
const STEAL_REMARK: f64 = 0.02;
/// Other work on more than this share of the machine is worth a remark.
const BUSY_REMARK: f64 = 0.10;
/// Other work on more than this share of the machine spoils the numbers.
const BUSY_INVALID: f64 = 0.40;
/// Threads that waited for a processor more than this share of the time spoil the numbers.
///
/// Engines whose threads wait for each other lose more than engines that share out what is left: beside one busy
/// processor of two PyTorch, 1.28 times faster than rten on a quiet machine, looked 1.38 times slower.
const WAITED_INVALID: f64 = 0.05;

/// The same for an engine whose threads spin at barriers: while one waits for a processor, the others burn theirs.
const BUSY_INVALID_SPINNING: f64 = 0.10;

/// Processor time of the machine is counted in clock ticks, 100 in a second: within one, nobody sees other work.
const CLOCK_TICK: f64 = 0.01;

/// The threads that were measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads {
    pub(crate) count: u32,
    /// Whether they wait busily for each other.
    pub(crate) wait_busily: bool,
}

impl Threads {
    /// The share of the time they wanted a processor in which they had none, 0 to 1.
    ///
    /// An engine may have more threads than it was told to compute with, and those that are ready want a processor too:
    /// without them, three that wait beside one that computes would wait 300 % of the time.
    fn waited(self, conditions: &TurnConditions) -> Option<f64> {
        let waited = conditions.waited?;
        let wanted = waited + conditions.used.unwrap_or(0.0);
        let share = waited / wanted.max(f64::from(self.count));
        // Threads that wanted none did not wait.
        Some(if share.is_nan() { 0.0 } else { share })
    }
}

/// What speaks against times that were taken under these conditions.
///
/// Waiting counts only where there are processors enough for the threads: with more threads they wait for each other.
pub(crate) fn other_work(
    conditions: &TurnConditions,
    threads: Threads,
    machine: &Machine,
) -> Option<Reason> {
    let enough_processors = threads.count <= machine.cpu.threads;
    let threads = Threads { count: threads.count.max(1), ..threads };
    let waited = threads.waited(conditions).filter(|_| enough_processors).unwrap_or(0.0);
    because_of(conditions.other_work, waited, threads.wait_busily)
}

/// What speaks against a model that answered requests under these conditions.
///
/// Between requests its threads want no processor, so that their waiting is a share of the time in which they did; and a
/// thread that is woken for a moment waits for one on a quiet machine too, so that waiting counts beside other work alone.
pub(crate) fn while_serving(
    conditions: &TurnConditions,
    threads: Threads,
    machine: &Machine,
) -> Option<Reason> {
    let other_work = conditions.other_work.filter(|share| *share > BUSY_REMARK)?;
    let enough_processors = threads.count <= machine.cpu.threads;
    let waited = Threads { count: 0, ..threads }.waited(conditions);
    let waited = waited.filter(|_| enough_processors).unwrap_or(0.0);
    because_of(Some(other_work), waited, threads.wait_busily)
}

/// Other work on a share of the machine, and threads that waited a share of the time, in words.
fn because_of(seen: Option<f64>, waited: f64, wait_busily: bool) -> Option<Reason> {
    let other_work = seen.unwrap_or(0.0);
    let used = || format!("other work used {} of the machine", percent(other_work));
    let text = if waited > WAITED_INVALID {
        let and = match seen {
            Some(other_work) if other_work >= 0.005 => format!("{} and ", used()),
            _ => "other work ".to_owned(),
        };
        format!("{and}kept the threads waiting {} of the time", percent(waited))
    } else if other_work > BUSY_REMARK {
        used()
    } else {
        return None;
    };
    let hint = Some("stop other programs and measure again".to_owned());
    let most = if wait_busily { BUSY_INVALID_SPINNING } else { BUSY_INVALID };
    let invalidates = other_work > most || waited > WAITED_INVALID;
    Some(Reason { code: ReasonCode::BusyMachine, invalidates, text, hint, about: None })
}

/// What speaks against times that took too few seconds to see other work. Where more threads were ready than there are
/// processors, there was some.
pub(crate) fn unseen_work(
    sampled: f64,
    load_average: Option<f64>,
    machine: &Machine,
) -> Option<Reason> {
    if sampled >= CLOCK_TICK {
        return None;
    }
    let processors = machine.cpu.threads.max(1);
    let load = load_average.filter(|load| *load > f64::from(processors));
    let busy = load.map_or_else(String::new, |load| {
        let noun = if processors == 1 { "processor" } else { "processors" };
        format!("; the load average was {} on {processors} {noun}", fixed(load, 1))
    });
    let text = format!(
        "other work is unknown: sampling took {}, less than {}{busy}",
        seconds(sampled),
        seconds(CLOCK_TICK)
    );
    let hint = Some("use `--duration 1s` instead of `--runs`".to_owned());
    let invalidates = load.is_some();
    Some(Reason { code: ReasonCode::OtherWorkUnknown, invalidates, text, hint, about: None })
}

/// What speaks against times while the hypervisor took so much.
pub(crate) fn stolen(steal: Option<f64>) -> Option<Reason> {
    let steal = steal.filter(|steal| *steal > STEAL_REMARK)?;
    Some(Reason {
        code: ReasonCode::StolenTime,
        invalidates: steal > STEAL_INVALID,
        text: format!("the hypervisor took {} of the processor time", percent(steal)),
        hint: None,
        about: None,
    })
}

/// What speaks against times while the processors' clocks were throttled so often.
pub(crate) fn throttled(events: Option<u64>) -> Option<Reason> {
    let events = events.filter(|events| *events > 0)?;
    Some(Reason {
        code: ReasonCode::Throttled,
        invalidates: true,
        text: format!("the processor's clock was throttled {events} times"),
        hint: Some("let it cool down".into()),
        about: None,
    })
}

/// What speaks against times on the GPUs that a cell uses; what others do on another GPU does not.
pub(crate) fn gpus(cell: &Cell, states: &[GpuState]) -> Vec<Reason> {
    states.iter().filter(|state| uses(cell, state.index)).flat_map(gpu).collect()
}

/// Whether a cell computes on this GPU; several processes take one each, in order.
fn uses(cell: &Cell, index: u32) -> bool {
    let Some(first) = cell.device.nvidia_index() else { return false };
    let count = cell.training.as_ref().map_or(1, |training| training.world_size.max(1));
    (first..first.saturating_add(count)).contains(&index)
}

fn gpu(state: &GpuState) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if !state.other_processes.is_empty() {
        reasons.push(Reason {
            code: ReasonCode::DeviceShared,
            invalidates: true,
            text: format!(
                "{} other processes used GPU {}",
                state.other_processes.len(),
                state.index
            ),
            hint: Some("`nvidia-smi` shows them; stop them and measure again".into()),
            about: None,
        });
    }
    let faults = state.throttle_reasons.iter().filter(|reason| reason.is_fault());
    let hot: Vec<&str> = faults.map(ThrottleReason::words).collect();
    if !hot.is_empty() {
        reasons.push(Reason {
            code: ReasonCode::Throttled,
            invalidates: true,
            text: format!("the clock of GPU {} was throttled: {}", state.index, hot.join(", ")),
            hint: Some("let it cool down".into()),
            about: None,
        });
    }
    reasons
}

/// What disturbed one turn so that its times say nothing.
pub(crate) fn of_turn(
    conditions: &TurnConditions,
    threads: Threads,
    machine: &Machine,
) -> Option<ReasonCode> {
    let found = [
        other_work(conditions, threads, machine),
        stolen(conditions.steal),
        throttled(conditions.throttled),
    ];
    let of_processors = found.into_iter().flatten().find(|reason| reason.invalidates);
    of_processors.map(|reason| reason.code).or(conditions.gpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Bytes, Cpu};

    fn machine(threads: u32) -> Machine {
        Machine {
            key: "k".into(),
            hostname: "h".into(),
            os: "linux".into(),
            cpu: Cpu {
                model: "m".into(),
                architecture: "x86_64".into(),
                cores: threads,
                threads,
                sockets: 1,
                numa_nodes: 1,
                features: Vec::new(),
                cache: None,
            },
            memory: Bytes(1),
            gpus: Vec::new(),
            hypervisor: None,
        }
    }

    const TWO: Threads = Threads { count: 2, wait_busily: false };

    fn turn(other_work: f64, waited: f64, steal: f64) -> TurnConditions {
        TurnConditions {
            other_work: Some(other_work),
            waited: Some(waited),
            steal: Some(steal),
            ..TurnConditions::default()
        }
    }

    #[test]
    fn one_busy_processor_of_two_is_seen_by_the_threads_that_wait() {
        let machine = machine(2);
        // A third thread on two processors takes a quarter of the machine, and one of ours waits half the time.
        let found = other_work(&turn(0.25, 0.5, 0.0), TWO, &machine).unwrap();
        assert!(found.invalidates, "{found:?}");
        assert_eq!(
            found.text,
            "other work used 25 % of the machine and kept the threads waiting 25 % of the time"
        );
        // The same amount of other work on processors of its own is a remark.
        assert!(!other_work(&turn(0.25, 0.001, 0.0), TWO, &machine).unwrap().invalidates);
        assert_eq!(other_work(&turn(0.05, 0.001, 0.0), TWO, &machine), None);
    }

    #[test]
    fn no_thread_waits_longer_than_all_the_time() {
        let one = Threads { count: 1, ..TWO };
        // Nothing computed, and of three threads that were ready all waited.
        let all = other_work(&turn(0.9, 3.26, 0.0), one, &machine(2)).unwrap();
        assert!(all.text.ends_with("kept the threads waiting 100 % of the time"), "{}", all.text);
        // Threads beyond those that were asked for want a processor too.
        let helpers = TurnConditions { used: Some(1.0), ..turn(0.0, 1.0, 0.0) };
        assert_eq!(one.waited(&helpers), Some(0.5));
        // What was asked for wants one all the time.
        let idle = TurnConditions { used: Some(0.1), ..turn(0.0, 0.1, 0.0) };
        assert_eq!(one.waited(&idle), Some(0.1));
        assert_eq!(one.waited(&TurnConditions::default()), None);
    }

    #[test]
    fn a_model_that_serves_waits_only_while_it_has_a_request() {
        let served = |other_work, waited, used| {
            let conditions = TurnConditions { used: Some(used), ..turn(other_work, waited, 0.0) };
            while_serving(&conditions, TWO, &machine(2))
        };
        // It answers for a twentieth of the time, and half of that it waits.
        let busy = served(0.3, 0.05, 0.05).unwrap();
        assert!(busy.invalidates, "{busy:?}");
        assert!(busy.text.ends_with("kept the threads waiting 50 % of the time"), "{}", busy.text);
        assert!(!served(0.3, 0.0005, 0.05).unwrap().invalidates, "beside it, on its own processor");
        assert_eq!(served(0.02, 0.0005, 0.004), None, "a wake-up on a quiet machine");
        assert!(!served(0.3, 0.0, 0.0).unwrap().invalidates);
        let many = Threads { count: 8, ..TWO };
        let turn = TurnConditions { used: Some(1.0), ..turn(0.3, 1.0, 0.0) };
        assert!(!while_serving(&turn, many, &machine(2)).unwrap().invalidates);
    }

    #[test]
    fn threads_that_wait_for_each_other_are_no_other_work() {
        assert_eq!(
            other_work(&turn(0.02, 3.0, 0.0), Threads { count: 8, ..TWO }, &machine(2)),
            None
        );
    }

    #[test]
    fn a_turn_is_disturbed_by_what_would_make_a_run_invalid() {
        let machine = machine(2);
        assert_eq!(of_turn(&turn(0.0, 0.0, 0.0), TWO, &machine), None);
        assert_eq!(of_turn(&turn(0.3, 0.0, 0.05), TWO, &machine), None, "remarks do not");
        assert_eq!(of_turn(&turn(0.5, 0.0, 0.0), TWO, &machine), Some(ReasonCode::BusyMachine));
        assert_eq!(of_turn(&turn(0.0, 0.0, 0.2), TWO, &machine), Some(ReasonCode::StolenTime));
        assert_eq!(of_turn(&TurnConditions::default(), TWO, &machine), None);
        let hot = TurnConditions { throttled: Some(1), ..TurnConditions::default() };
        assert_eq!(of_turn(&hot, TWO, &machine), Some(ReasonCode::Throttled));
        let cool = TurnConditions { throttled: Some(0), ..TurnConditions::default() };
        assert_eq!(of_turn(&cool, TWO, &machine), None);
        let shared =
            TurnConditions { gpu: Some(ReasonCode::DeviceShared), ..TurnConditions::default() };
        assert_eq!(of_turn(&shared, TWO, &machine), Some(ReasonCode::DeviceShared));
    }

    #[test]
    fn little_other_work_spoils_the_times_of_threads_that_spin() {
        let spinning = Threads { wait_busily: true, ..TWO };
        let (quiet, busy) = (turn(0.09, 0.0, 0.0), turn(0.12, 0.0, 0.0));
        assert_eq!(of_turn(&quiet, spinning, &machine(2)), None);
        assert_eq!(of_turn(&busy, spinning, &machine(2)), Some(ReasonCode::BusyMachine));
        assert_eq!(of_turn(&busy, TWO, &machine(2)), None);
    }

    #[test]
    fn what_was_too_short_to_see_other_work_is_no_proof_of_quiet() {
        let machine = machine(2);
        assert_eq!(unseen_work(0.011, Some(15.0), &machine), None, "a clock tick has passed");
        let quiet = unseen_work(0.0006, Some(1.5), &machine).unwrap();
        assert!(!quiet.invalidates && quiet.hint.unwrap().contains("`--duration 1s`"));
        assert_eq!(quiet.text, "other work is unknown: sampling took 600 µs, less than 10.0 ms");
        let busy = unseen_work(0.0006, Some(15.0), &machine).unwrap();
        assert!(busy.invalidates && busy.code == ReasonCode::OtherWorkUnknown);
        let load = "; the load average was 15.0 on 2 processors";
        assert!(busy.text.ends_with(load), "{}", busy.text);
        assert!(!unseen_work(0.0006, None, &machine).unwrap().invalidates);
    }

    #[test]
    fn heat_disturbs_a_gpu_and_its_power_limit_does_not() {
        let state = |reason| GpuState { throttle_reasons: vec![reason], ..GpuState::default() };
        assert!(gpu(&state(ThrottleReason::SwPowerCap)).is_empty());
        let hot = gpu(&state(ThrottleReason::SwThermalSlowdown));
        assert_eq!(hot[0].code, ReasonCode::Throttled);
    }
}
