use super::*;

/// A grid on one machine: a time that is work ÷ a rate of the engine, plus something for every inference.
pub(super) fn grid(models: usize) -> Vec<Known> {
    let mut all = Vec::new();
    for model in 0..models {
        for (engine, rate, start) in [("a", 5e10, 2e-4), ("b", 3e10, 1e-4), ("c", 8e10, 1e-3)] {
            for batch in [1.0, 2.0, 4.0, 8.0] {
                let flops = 1e8 * (1.0 + model as f64).powi(2) * batch;
                let own = 1.0 + 0.1 * ((model * 7 % 5) as f64 - 2.0);
                let case = Case {
                    model: format!("m{model}"),
                    family: format!("f{}", model / 2),
                    engine: engine.into(),
                    precision: "fp32".into(),
                    mode: "inference".into(),
                    variant: String::new(),
                    machine: "here".into(),
                    hardware: "this machine".into(),
                    is_gpu: false,
                    batch,
                    length: None,
                    threads: 2.0,
                    flops: Some(flops),
                    bytes: Some(flops / 20.0),
                    weights: 1e7 * (1.0 + model as f64),
                    peak: Some(1e11),
                    bandwidth: Some(2e10),
                    cache: Some(3e7),
                };
                let seconds = flops / rate * own + start;
                let memory = Some(1e8 + 3.0 * case.weights + 1e5 * batch);
                all.push(Known {
                    case,
                    seconds,
                    memory,
                    runs: vec![format!("{model}{engine}{batch}")],
                });
            }
        }
    }
    all
}

#[test]
fn a_cell_is_predicted_from_its_siblings_and_the_interval_holds() {
    let mut known = grid(8);
    let asked = known.remove(50);
    let learned = Learned::fit(known).unwrap();
    let answer = learned.answer(&asked.case).unwrap();
    assert_eq!(answer.situation, Situation::Known);
    assert!((answer.seconds.middle / asked.seconds).ln().abs() < 0.12, "{answer:?}");
    assert!(answer.seconds.low < asked.seconds && asked.seconds < answer.seconds.high);
    let memory = answer.memory.unwrap();
    assert!((memory.middle / asked.memory.unwrap()).ln().abs() < 0.1, "{memory:?}");
    let known = &learned.calibrated()[&Situation::Known];
    assert!(known.mean_error < 0.12, "{known:?}");
    assert!((0.8..=1.0).contains(&known.coverage), "{known:?}");
}

#[test]
fn an_anchor_narrows_the_interval_of_a_new_pair() {
    let all = grid(8);
    let is_held = |one: &Known| one.case.model == "m5" && one.case.engine == "b";
    let (held, known): (Vec<Known>, Vec<Known>) = all.into_iter().partition(is_held);
    let learned = Learned::fit(known).unwrap();
    let before = learned.answer(&held[0].case).unwrap();
    assert_eq!(before.situation, Situation::NewPair);
    let next = learned.next(&held[0].case, &[held[1].case.clone(), held[3].case.clone()]).unwrap();
    assert_eq!(next.case.batch, 2.0, "the nearest batch says most");
    assert!(next.left < 0.9);
    let after = learned.with_anchor(held[1].clone(), &held[0].case).unwrap();
    let after = after.answer(&held[0].case).unwrap();
    let width = |answer: &Answer| answer.seconds.high / answer.seconds.low;
    assert!(width(&after) < width(&before), "{before:?} {after:?}");
}

#[test]
fn what_was_not_learned_is_refused_with_what_could_be_asked() {
    let learned = Learned::fit(grid(8)).unwrap();
    let mut case = grid(1)[0].case.clone();
    case.batch = 3.0;
    case.engine = "z".into();
    assert!(learned.answer(&case).unwrap_err().nearest.contains("a, b, c"));
    case.engine = "a".into();
    case.mode = "training".into();
    assert!(learned.answer(&case).unwrap_err().why.contains("`training`"));
    case.mode = "inference".into();
    case.flops = Some(1e15);
    assert!(learned.answer(&case).unwrap_err().why.contains("beyond"));
    case.flops = Some(3e8);
    case.machine = "there".into();
    let refused = learned.answer(&case).unwrap_err();
    assert!(
        refused.why.contains("new machine") && refused.nearest.contains("new pair"),
        "{refused:?}"
    );
    assert!(Learned::fit(grid(1)[..2].to_vec()).is_err());
}

#[test]
fn a_measured_cell_is_answered_with_its_measurement() {
    let known = grid(4);
    let learned = Learned::fit(known.clone()).unwrap();
    let answer = learned.answer(&known[7].case).unwrap();
    assert!(answer.is_measured && answer.seconds.middle == known[7].seconds);
}

#[test]
fn a_chosen_order_leaves_less_uncertainty_than_chance() {
    let all = grid(8);
    let (known, open): (Vec<Known>, Vec<Known>) =
        all.into_iter().partition(|one| ["m0", "m1", "m2"].contains(&one.case.model.as_str()));
    let learned = Learned::fit(known).unwrap();
    let cases: Vec<Case> = open.into_iter().map(|one| one.case).collect();
    let found = explore(&learned, &cases, 10);
    assert_eq!(found.order.len(), 10);
    assert!(found.deviation[10] < found.by_chance[10], "{found:?}");
    assert!(found.deviation.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9));
}

#[test]
fn a_measured_cell_that_was_not_learned_from_is_answered_with_its_measurement() {
    let known = grid(60);
    assert!(known.len() > MOST);
    let learned = Learned::fit(known.clone()).unwrap();
    let all_are_told = |learned: &Learned| {
        known.iter().take(20).all(|one| learned.answer(&one.case).unwrap().is_measured)
    };
    assert!(learned.known().len() < known.len() && all_are_told(&learned));
    let kept = Kept::from(&learned).learned(&known).unwrap();
    assert!(all_are_told(&kept));
}

#[test]
fn new_hardware_of_another_kind_is_refused_however_many_machines_are_known() {
    let mut known = Vec::new();
    for machine in 0..4 {
        known.extend(grid(4).into_iter().map(|mut one| {
            one.case.machine = format!("machine {machine}");
            one.case.hardware = format!("GeForce RTX 40{machine}0");
            one.case.is_gpu = true;
            one
        }));
    }
    let learned = Learned::fit(known).unwrap();
    let mut case = grid(1)[0].case.clone();
    (case.machine, case.hardware, case.is_gpu) = ("new".into(), "GeForce RTX 9".into(), true);
    assert_eq!(learned.answer(&case).unwrap().situation, Situation::NewMachine);
    let slow = Case { peak: Some(1e10), bandwidth: Some(2e9), ..case.clone() };
    assert!(learned.answer(&slow).unwrap_err().why.contains("times less"));
    let other = Case { hardware: "Radeon RX 7900".into(), ..case };
    assert!(learned.answer(&other).unwrap_err().why.contains("made by AMD"));
}

#[test]
fn cells_with_impossible_numbers_are_not_learned_from() {
    let mut known = grid(4);
    known[0].seconds = 0.0;
    known[1].case.batch = 0.0;
    known[2].case.weights = f64::NAN;
    let cells = known.len();
    let learned = Learned::fit(known).unwrap();
    assert_eq!(learned.measured(), cells - 3);
}

#[test]
fn a_kept_fit_says_what_it_said_before_and_of_other_cells_nothing() {
    let mut known = grid(12);
    let asked = known.remove(40);
    let learned = Learned::fit(known.clone()).unwrap();
    let kept = Kept::from(&learned);
    let numbers = kept.numbers().to_vec();
    let again = kept.clone().with_numbers(numbers).learned(&known).unwrap();
    assert_eq!(learned.answer(&asked.case), again.answer(&asked.case));
    let other = Kept::from(&learned);
    assert!(kept.clone().learned(&known[1..]).is_none(), "a cell is gone");
    assert!(kept.with_numbers(vec![1.0; 3]).learned(&known).is_none(), "the numbers are cut off");
    let mut broken = other.numbers().to_vec();
    broken[7] = f64::NAN;
    assert!(other.with_numbers(broken).learned(&known).is_none());
}

#[test]
fn the_next_measurement_is_the_best_of_all_though_not_all_are_looked_at() {
    let all = grid(9);
    let is_held = |one: &Known| one.case.model == "m4" || one.case.batch == 8.0;
    let (held, known): (Vec<Known>, Vec<Known>) = all.into_iter().partition(is_held);
    let learned = Learned::fit(known).unwrap();
    let candidates: Vec<Case> = held.into_iter().map(|one| one.case).collect();
    for (at, asked) in candidates.iter().enumerate() {
        let left = |other: &Case| {
            let both = learned.process().left_among(&[asked, other]);
            1.0 - both[0][1] * both[1][0] / (both[0][0] * both[1][1])
        };
        let others = candidates.iter().enumerate().filter(|(other, _)| *other != at);
        let least = others.map(|(_, other)| left(other)).fold(1.0, f64::min);
        let next = learned.next(asked, &candidates).unwrap();
        assert!((next.left.powi(2) - least).abs() < 1e-9, "{asked:?}: {next:?}, {least}");
    }
}
