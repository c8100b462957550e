//! Waits while the machine is too hot to be measured.

use probe::Heat;
use std::time::{Duration, Instant};

/// How often the sensors are asked.
const STEP: Duration = Duration::from_secs(1);

/// The longest anybody waits: a room that is this hot does not cool down.
const LONGEST: Duration = Duration::from_secs(180);

/// Waits until every sensor that is hot is cool again; tells each look. Ends early where `is_stopping` says so.
pub(crate) fn cool_down(
    mut look: impl FnMut() -> Vec<Heat>,
    is_stopping: impl Fn() -> bool,
    mut tell: impl FnMut(&Heat),
) {
    if !look().iter().any(Heat::is_hot) {
        return;
    }
    let begin = Instant::now();
    while begin.elapsed() < LONGEST && !is_stopping() {
        let warm = look().into_iter().filter(|heat| !heat.is_cool());
        let Some(worst) =
            warm.max_by(|a, b| (a.celsius - a.limit).total_cmp(&(b.celsius - b.limit)))
        else {
            return;
        };
        tell(&worst);
        std::thread::sleep(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(celsius: f64) -> Vec<Heat> {
        vec![Heat { sensor: "coretemp".into(), celsius, limit: 100.0 }]
    }

    #[test]
    fn a_hot_machine_is_waited_for_until_it_is_cool_and_a_warm_one_is_not() {
        let mut told = Vec::new();
        let mut looks = [98.0, 97.0, 84.0].into_iter();
        cool_down(|| at(looks.next().unwrap()), || false, |heat| told.push(heat.celsius));
        assert_eq!(told, [97.0]);
        cool_down(|| at(90.0), || false, |heat| panic!("{heat:?}"));
        cool_down(Vec::new, || false, |heat| panic!("{heat:?}"));
    }

    #[test]
    fn nobody_who_wants_to_stop_is_kept() {
        cool_down(|| at(99.0), || true, |heat| panic!("{heat:?}"));
    }
}
