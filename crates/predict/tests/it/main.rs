//! Predictions on worlds whose law is known, and on files that people break.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod files;
mod world;

use modelmeter_predict::{
    Catalogue, Domain, Effort, PictureQuestion, Predictor, Situation, Tables, backtest,
};
use world::{World, write};

fn effort() -> Effort {
    Effort { folds: 5, trees: 80, ..Effort::default() }
}

#[test]
fn intervals_hold_nine_tenths_of_what_was_held_out() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "known.csv", &World::new(1, 60).rows());
    let found = backtest(&[table], &[], &Catalogue::own(), &effort()).unwrap();
    let new_machine: Vec<_> =
        found.kinds.iter().filter(|kind| kind.situation == Situation::NewMachine).collect();
    assert_eq!(new_machine.len(), 2, "pp512 and tg128");
    for kind in new_machine {
        let score = &kind.score;
        assert!((0.82..=0.97).contains(&score.coverage), "{}: {score:?}", kind.test);
        // A machine is off by 10 % by itself, which nobody can know.
        assert!(score.median_error < 0.15, "{}: {score:?}", kind.test);
        assert!(score.width < 1.7, "{}: {score:?}", kind.test);
        // Physics knows all of a token here, and of a prompt not what an instruction set is worth.
        if kind.test == "pp512" {
            assert!(score.median_error < kind.physics.median_error, "{kind:?}");
        }
    }
}

#[test]
fn machines_of_another_file_are_predicted_as_well_as_was_promised() {
    let folder = tempfile::tempdir().unwrap();
    let known = write(folder.path(), "known.csv", &World::new(1, 60).rows());
    let new = write(folder.path(), "new.csv", &World::new(2, 40).rows());
    let found = backtest(&[known], &[new], &Catalogue::own(), &effort()).unwrap();
    assert!(!found.is_cross_validation && found.machines.len() == 40);
    for kind in &found.kinds {
        assert_eq!(kind.situation, Situation::NewMachine);
        assert!((0.8..=0.99).contains(&kind.score.coverage), "{:?}", kind.score);
        assert!(kind.score.median_error < 0.15, "{:?}", kind.score);
        // What a machine is off by shows in one measurement.
        let anchored = kind.anchored.as_ref().unwrap();
        assert!(anchored.median_error < kind.score.median_error * 0.8, "{anchored:?}");
        assert!(anchored.width < kind.score.width, "{anchored:?}");
    }
}

#[test]
fn the_same_files_give_the_same_answer_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(folder.path(), "known.csv", &World::new(3, 12).rows());
    let on = |threads| {
        let effort = Effort { threads, trees: 20, ..effort() };
        let found = backtest(&[&table], &[], &Catalogue::own(), &effort).unwrap();
        found
            .kinds
            .iter()
            .map(|kind| (kind.score.median_error, kind.score.width))
            .collect::<Vec<_>>()
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_gpu_is_refused_where_only_processors_were_learned() {
    let folder = tempfile::tempdir().unwrap();
    let known = write(folder.path(), "known.csv", &World::new(1, 10).rows());
    let gpu: Vec<String> = World::new(2, 2)
        .rows()
        .iter()
        .map(|row| row.replace(",CPU,,", ",CUDA,Tesla T4,"))
        .collect();
    let gpu = write(folder.path(), "gpu.csv", &gpu);
    let found = backtest(&[known], &[gpu], &Catalogue::own(), &effort()).unwrap();
    assert_eq!(found.answered(), 0);
    assert_eq!(found.refused.len(), 1);
    assert!(
        found.refused[0].why.contains("nothing of the kind was learned"),
        "{:?}",
        found.refused
    );
    assert!(found.refused[0].nearest.contains("llama.cpp on processors"), "{:?}", found.refused);
}

#[test]
fn work_far_outside_of_what_was_learned_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let known = write(folder.path(), "known.csv", &World::new(1, 10).rows());
    let mut world = World::new(2, 2);
    world.models = vec![("enormous".into(), 2e13, 4e13)];
    let new = write(folder.path(), "new.csv", &world.rows());
    let found = backtest(&[known], &[new], &Catalogue::own(), &effort()).unwrap();
    assert_eq!(found.answered(), 0);
    let refused = &found.refused[0];
    assert!(refused.why.contains("far larger"), "{refused:?}");
    assert!(refused.nearest.contains("large.gguf"), "{refused:?}");
    // One line for a reason and a kind of test, however many questions it refuses.
    let refused: Vec<usize> = found.refused.iter().map(|refused| refused.rows).collect();
    assert_eq!(refused, [6, 6], "{:?}", found.refused);
}

#[test]
fn what_is_asked_is_not_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let rows = World::new(1, 12).rows();
    let known = write(folder.path(), "known.csv", &rows);
    let (asked, _) = rows.split_at(18);
    let asked = write(folder.path(), "asked.csv", asked);
    let found = backtest(&[&known], &[&asked], &Catalogue::own(), &effort()).unwrap();
    let same = found.left_out.iter().find(|(why, _)| why.contains("not learned from")).unwrap();
    assert_eq!(*same.1, 18, "{:?}", found.left_out);
    assert_eq!(found.machines[0].situation, Situation::NewMachine, "{:?}", found.machines);
    let whole = backtest(&[&known], &[&known], &Catalogue::own(), &effort()).unwrap_err();
    assert!(whole.to_string().contains("not learned from"), "{whole}");
}

#[test]
fn another_machine_with_a_known_processor_is_a_new_instance() {
    let folder = tempfile::tempdir().unwrap();
    let rows = World::new(1, 12).rows();
    let is_asked = |row: &&String| row.contains("i64,x86_64,Chip 1-0,");
    let asked: Vec<String> = rows.iter().filter(is_asked).cloned().collect();
    let known: Vec<String> = rows.iter().filter(|row| !is_asked(row)).cloned().collect();
    let known = write(folder.path(), "known.csv", &known);
    let asked = write(folder.path(), "asked.csv", &asked);
    let found = backtest(&[known], &[asked], &Catalogue::own(), &effort()).unwrap();
    assert_eq!(found.machines[0].situation, Situation::NewInstance, "{:?}", found.machines);
}

#[test]
fn two_cards_answer_for_a_card_like_them_and_refuse_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    let own = Catalogue::own();
    let tables: Vec<_> = [("rtx3090", 71e12, 936e9), ("rtx4090", 165.2e12, 1008e9)]
        .iter()
        .map(|(name, peak, bandwidth)| world::timm(folder.path(), name, *peak, *bandwidth, 1.0))
        .collect();
    let mut read = Tables::read(&tables, &own).unwrap();
    read.finish(None, &own);
    let mut predictor = Predictor::of(&read.observations, effort());
    let mut ask = |hardware: &str| {
        let asked = PictureQuestion {
            hardware: &own.find(hardware).unwrap().name,
            precision: None,
            batch: None,
            is_training: false,
        };
        let case = read.picture_question("resnet0", &asked, &own).unwrap();
        predictor.predict(&case.observation)
    };
    for (hardware, why) in [
        ("Tesla K80", "times less"),
        ("P100", "times less"),
        ("B200", "times more"),
        ("MI300X", "made by AMD"),
        ("Arc A770", "made by Intel"),
    ] {
        let refused = ask(hardware).unwrap_err();
        assert!(refused.why.contains(why), "{hardware}: {refused:?}");
        assert!(refused.nearest.contains("GeForce RTX"), "{hardware}: {refused:?}");
    }
    let (situation, near) = ask("RTX 3080 Ti").unwrap();
    assert_eq!(situation, Situation::NewMachine);
    let (_, far) = ask("RTX 5090").unwrap();
    assert!(far.log_half > near.log_half && far.log_half.exp() > 1.25, "{near:?} {far:?}");
}

#[test]
fn a_card_that_was_never_seen_is_predicted_by_its_stated_peaks_and_the_models_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let cards = [("rtx3090", 71e12, 936e9), ("rtx4090", 165.2e12, 1008e9)];
    let tables: Vec<_> = cards
        .iter()
        .map(|(name, peak, bandwidth)| world::timm(folder.path(), name, *peak, *bandwidth, 1.0))
        .collect();
    // A card that is a tenth slower than its peaks say.
    let new = world::timm(folder.path(), "5090", 209.5e12, 1792e9, 1.1);
    let found = backtest(&tables, &[new], &Catalogue::own(), &effort()).unwrap();
    let [kind] = found.kinds.as_slice() else { panic!("{:?}", found.kinds) };
    assert_eq!((kind.domain, kind.situation), (Domain::VisionOnGpus, Situation::NewMachine));
    assert!(kind.score.mean_error < 0.16, "{:?}", kind.score);
    assert!(kind.anchored.as_ref().unwrap().mean_error < 0.08, "{:?}", kind.anchored);
    assert_eq!(found.machines[0].machine, "GeForce RTX 5090");
}
