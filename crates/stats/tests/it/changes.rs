//! How often change points are right, on drawn histories whose truth is known.

use crate::coverage::Normal;
use modelmeter_stats::{cuts, noise, step};

/// What is asked: at most so many histories without a change may show one.
const LEVEL: f64 = 0.01;

/// A history of so many numbers with a noise of this deviation.
type Noise = fn(usize, f64, &mut Normal) -> Vec<f64>;

fn independent(count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    (0..count).map(|_| deviation * normal.next()).collect()
}

/// Each number resembles the one before.
fn alike(correlation: f64, count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    let mut state = normal.next();
    let rest = (1.0 - correlation * correlation).sqrt();
    (0..count)
        .map(|_| {
            state = correlation * state + rest * normal.next();
            deviation * state
        })
        .collect()
}

fn a_little_alike(count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    alike(0.3, count, deviation, normal)
}

fn much_alike(count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    alike(0.6, count, deviation, normal)
}

/// Student's with two degrees of freedom: its variance has no end.
fn heavy(count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    let mut draw = || {
        let under = (normal.next().powi(2) + normal.next().powi(2)) / 2.0;
        deviation * normal.next() / under.sqrt()
    };
    (0..count).map(|_| draw()).collect()
}

/// Every tenth number is slower by up to 30 %.
fn spiked(count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    let mut draw = || {
        let held_up = if normal.uniform() < 0.1 { 0.3 * normal.uniform() } else { 0.0 };
        deviation * normal.next() + held_up
    };
    (0..count).map(|_| draw()).collect()
}

/// A machine that gets slower by 10 % from the first number to the last.
fn sliding(count: usize, deviation: f64, normal: &mut Normal) -> Vec<f64> {
    let slide = |at: usize| 0.1 * at as f64 / count as f64;
    let noise = independent(count, deviation, normal);
    noise.into_iter().enumerate().map(|(at, value)| value + slide(at)).collect()
}

/// Where a change is called.
fn called(logs: &[f64], seed: u64) -> Vec<usize> {
    let sure = cuts(logs, LEVEL, seed).into_iter();
    sure.filter(|cut| cut.p_value < LEVEL && !cut.is_drift).map(|cut| cut.at).collect()
}

/// In how many of so many histories without a change one is called.
fn false_alarms(noise: Noise, count: usize, trials: u64) -> u64 {
    let mut normal = Normal(2026);
    let falls =
        |seed: u64, normal: &mut Normal| !called(&noise(count, 0.015, normal), seed).is_empty();
    (0..trials).map(|seed| u64::from(falls(seed, &mut normal))).sum()
}

/// In how many of so many histories a step at the newest numbers is found, at most two numbers off.
fn found(noise: Noise, (count, after): (usize, usize), height: f64, trials: u64) -> u64 {
    let mut normal = Normal(2027);
    let mut finds = |seed: u64| {
        let mut logs = noise(count, 0.01, &mut normal);
        logs[count - after..].iter_mut().for_each(|log| *log += height.ln_1p());
        called(&logs, seed).iter().any(|at| at.abs_diff(count - after) <= 2)
    };
    (0..trials).map(|seed| u64::from(finds(seed))).sum()
}

#[test]
fn noise_without_a_change_is_called_one_as_seldom_as_asked() {
    // Of 300 at 1 % three are due; eight or more come in one of a hundred such tests where the share is right.
    for (name, noise) in
        [("independent", independent as Noise), ("heavy", heavy), ("spiked", spiked)]
    {
        for count in [12, 30] {
            let alarms = false_alarms(noise, count, 300);
            assert!(alarms < 8, "{name}, {count} numbers: {alarms} of 300");
        }
    }
}

#[test]
fn neighbours_that_resemble_each_other_make_no_change() {
    for (name, noise) in [("a little", a_little_alike as Noise), ("much", much_alike)] {
        let alarms = false_alarms(noise, 30, 300);
        assert!(alarms < 10, "{name}: {alarms} of 300");
    }
}

#[test]
fn a_slide_is_no_step() {
    for count in [20, 40] {
        let alarms = false_alarms(sliding, count, 200);
        assert!(alarms < 6, "{count} numbers: {alarms} of 200");
    }
}

#[test]
fn a_step_of_five_percent_is_found_and_a_large_one_at_once() {
    let half = found(independent, (30, 15), 0.05, 100);
    assert!(half >= 90, "fifteen of thirty: {half}");
    let third = found(independent, (30, 10), 0.05, 100);
    assert!(third >= 88, "ten of thirty: {third}");
    let large = found(independent, (30, 3), 0.3, 100);
    assert!(large >= 80, "three of thirty, a third slower: {large}");
}

#[test]
fn a_slow_week_in_the_middle_is_found_with_both_its_ends() {
    let mut normal = Normal(5);
    let mut finds = |seed: u64| {
        let mut logs = independent(45, 0.01, &mut normal);
        logs[20..28].iter_mut().for_each(|log| *log += 0.1);
        let at = called(&logs, seed);
        let near = |place: usize| at.iter().any(|at| at.abs_diff(place) <= 1);
        near(20) && near(28)
    };
    let both: u32 = (0..50).map(|seed| u32::from(finds(seed))).sum();
    assert!(both >= 42, "{both} of 50");
}

#[test]
fn levels_far_apart_do_not_pass_for_resemblance() {
    let mut normal = Normal(6);
    let mut finds = |seed: u64| {
        let level = |at: usize| match at {
            0..14 => 0.0,
            14..24 => 0.165,
            _ => -0.083,
        };
        let noise = independent(34, 0.012, &mut normal);
        let logs: Vec<f64> =
            noise.into_iter().enumerate().map(|(at, value)| value + level(at)).collect();
        let at = called(&logs, seed);
        [14, 24].iter().all(|place| at.iter().any(|at| at.abs_diff(*place) <= 1))
    };
    let both: u32 = (0..50).map(|seed| u32::from(finds(seed))).sum();
    assert!(both >= 42, "{both} of 50");
}

#[test]
fn the_interval_of_a_step_holds_its_truth() {
    let held = |correlation: f64| {
        let mut normal = Normal(11);
        let mut holds = || {
            let mut logs = alike(correlation, 24, 0.02, &mut normal);
            logs[14..].iter_mut().for_each(|log| *log += 0.1);
            let interval =
                step(&logs[..14], &logs[14..], 3).expect("both sides have numbers").interval;
            interval.low.ln() <= 0.1 && 0.1 <= interval.high.ln()
        };
        (0..300).map(|_| u32::from(holds())).sum::<u32>()
    };
    for (correlation, least) in [(0.0, 279), (0.5, 270)] {
        let held = held(correlation);
        assert!(held >= least, "{correlation}: {held} of 300");
    }
}

#[test]
fn numbers_that_never_change_have_no_noise_and_no_change() {
    assert!(cuts(&[1.0; 40], LEVEL, 1).iter().all(|cut| cut.p_value > 0.5));
    assert_eq!(noise(&[&[1.0; 40]]), Some(0.0));
    // Bytes that stay the same until a release are the plainest step there is.
    let mut bytes = [1.0; 40];
    bytes[25..].fill(1.1);
    assert_eq!(called(&bytes, 1), [25]);
}

#[test]
fn few_numbers_say_nothing() {
    assert!(cuts(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0], LEVEL, 1).is_empty());
    assert!(cuts(&[], LEVEL, 1).is_empty());
    assert_eq!(noise(&[&[1.0, 2.0], &[1.0]]), None);
    assert_eq!(step(&[1.0], &[2.0, 2.0], 1), None);
}
