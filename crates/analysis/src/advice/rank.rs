//! Asks every rule and puts their advice in order.

use super::{
    command,
    facts::{Facts, Missing},
    judgement::{Judgement, Rests, Rule},
    measured::against_measured,
    rules::RULES,
};
use types::{Advice, Fine, Goal, Unjudged};

/// What all rules said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judged {
    /// What to do, the largest gain first.
    pub advice: Vec<Advice>,
    /// What is fine.
    pub fine: Vec<Fine>,
    /// What could not be judged.
    pub not_judged: Vec<Unjudged>,
    /// What does not concern this run.
    pub beside: Vec<Unjudged>,
}

/// Asks every rule.
#[must_use]
pub fn judge_all(facts: &Facts<'_>) -> Judged {
    let mut judged = Judged::default();
    for rule in RULES {
        let id = rule.id().to_owned();
        match ask(*rule, facts) {
            Judgement::Advice(mut advice) => {
                advice.rule = id;
                advice.command = command::proving(facts, &advice.rule, &advice.proof);
                judged.advice.push(*advice);
            }
            Judgement::Fine(evidence) => judged.fine.push(Fine { rule: id, evidence }),
            Judgement::CannotTell(Missing { why, hint }) => {
                judged.not_judged.push(Unjudged { rule: id, why, hint });
            }
            Judgement::Beside(why) => judged.beside.push(Unjudged { rule: id, why, hint: None }),
        }
    }
    judged.advice.sort_by(|a, b| rank(b, facts.goal).total_cmp(&rank(a, facts.goal)));
    judged
}

/// What a rule says; times of an invalid run say nothing.
fn ask(rule: &dyn Rule, facts: &Facts<'_>) -> Judgement {
    let verdict = &facts.run.verdict;
    if let Some(why) = rule.beside_training().filter(|_| facts.is_training()) {
        return Judgement::Beside(why.into());
    }
    if let Some(why) = rule.beside_generating().filter(|_| facts.is_generating()) {
        return Judgement::Beside(why.into());
    }
    let mut said = rule.judge(facts).unwrap_or_else(Judgement::CannotTell);
    if !rule.has_measured() {
        said = against_measured(facts, said);
    }
    let rests_on_times = match &said {
        Judgement::Beside(_) => false,
        // What shrinks the weights does so on a busy machine too.
        Judgement::Advice(advice) if advice.gain.what == Goal::Memory => false,
        _ => rule.rests() == Rests::OnTimes,
    };
    match verdict.cause() {
        Some(reason) if rests_on_times => {
            let why = format!("the run's times are not valid: {}", reason.text);
            Judgement::CannotTell(Missing { why, hint: reason.hint.clone() })
        }
        _ => said,
    }
}

/// What is wanted comes first, a faster start last, and in between the larger gain.
fn rank(advice: &Advice, goal: Option<Goal>) -> f64 {
    // Larger than any gain, so that the goal decides before the size.
    const APART: f64 = 1e9;
    let what = advice.gain.what;
    let wanted = match goal {
        Some(goal) if goal == what => APART,
        Some(_) => 0.0,
        None if what == Goal::Start => -APART,
        None => 0.0,
    };
    wanted + advice.gain.middle().min(APART / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::scene;
    use types::{Reason, ReasonCode, Verdict};

    #[test]
    fn every_rule_answers_once_and_advice_has_numbers() {
        let run = scene::run();
        let judged = judge_all(&scene::facts(&run));
        let Judged { advice, fine, not_judged, beside } = &judged;
        assert_eq!(advice.len() + fine.len() + not_judged.len() + beside.len(), RULES.len());
        for one in advice {
            assert!(!one.evidence.is_empty() && !one.gain.basis.is_empty(), "{}", one.rule);
            assert!(one.gain.factor.high >= one.gain.factor.low, "{}", one.rule);
        }
        for one in not_judged {
            assert!(!one.why.is_empty(), "{}", one.rule);
        }
    }

    #[test]
    fn a_training_run_is_judged_by_its_steps() {
        let run = scene::training_run();
        let mut facts = scene::facts(&run);
        facts.sweep = Ok(vec![scene::point(4, 40.0), scene::point(8, 50.0)]);
        let judged = judge_all(&facts);
        let Judged { advice, fine, not_judged, beside } = &judged;
        assert_eq!(advice.len() + fine.len() + not_judged.len() + beside.len(), RULES.len());
        let said = |id: &str| advice.iter().find(|one| one.rule == id);
        let batch = said("batch-size").unwrap();
        assert!(batch.evidence.iter().any(|one| one.text.contains("training step")), "{batch:?}");
        assert!(said("gradient-accumulation").is_some(), "{judged:#?}");
        for rule in ["quantisation", "tokenisation", "padding", "cold-start"] {
            assert!(beside.iter().any(|one| one.rule == rule), "{rule}: {judged:#?}");
        }
        for one in advice.iter().filter_map(|one| one.command.as_deref()) {
            assert!(!one.contains("compare") || one.contains("--modes training"), "{one}");
        }
    }

    #[test]
    fn the_wanted_goal_comes_first_and_then_the_larger_gain() {
        let advice = |what, high| scene::advice(what, 1.0, high);
        let mut all =
            [advice(Goal::Start, 50.0), advice(Goal::Latency, 1.2), advice(Goal::Memory, 3.0)];
        let order = |all: &[Advice]| all.iter().map(|a| a.gain.what).collect::<Vec<_>>();
        all.sort_by(|a, b| rank(b, None).total_cmp(&rank(a, None)));
        assert_eq!(order(&all), [Goal::Memory, Goal::Latency, Goal::Start]);
        let latency = Some(Goal::Latency);
        all.sort_by(|a, b| rank(b, latency).total_cmp(&rank(a, latency)));
        assert_eq!(order(&all)[0], Goal::Latency);
    }

    #[test]
    fn times_of_an_invalid_run_say_nothing_and_sizes_still_do() {
        let mut run = scene::run();
        run.verdict = Verdict::from_reasons(vec![Reason {
            code: ReasonCode::BusyMachine,
            invalidates: true,
            text: "other work used 55 % of the machine".into(),
            hint: Some("stop other programs".into()),
            about: None,
        }]);
        let judged = judge_all(&scene::facts(&run));
        let batch = judged.not_judged.iter().find(|one| one.rule == "batch-size").unwrap();
        assert!(batch.why.contains("55 %"), "{}", batch.why);
        let says = |id: &str| judged.not_judged.iter().any(|one| one.rule == id);
        assert!(judged.advice.iter().any(|one| one.rule == "quantisation"), "weights are sizes");
        assert!(!says("dynamic-batching"), "memory does not depend on how busy the machine was");
    }
}
