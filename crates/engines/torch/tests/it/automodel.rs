//! Folders that no graph is built for: `transformers` makes the module, and it answers as `transformers` does.

use crate::worker::{Worker, job_with, run_script, script, values};
use engine::{EngineErrorKind as Kind, Reply, Request, read_tensors};
use models::{Request as Wanted, Resolved};
use std::{fs, path::Path};
use types::{Elements, HostTensor, Module, Precision};

fn resolve(folder: &Path) -> Resolved {
    let cache = folder.parent().unwrap().join("cache");
    let request = Wanted { offline: true, ..Wanted::new(folder.to_str().unwrap(), cache) };
    models::resolve(&request, &mut |_| {}).unwrap()
}

/// The tensors of a case whose names begin so, without that beginning.
fn part(folder: &Path, start: &str) -> Vec<HostTensor> {
    let all = read_tensors(&folder.join("cases.safetensors")).unwrap();
    let named = all.into_iter().filter_map(|tensor| {
        Some(HostTensor { name: tensor.name.strip_prefix(start)?.to_owned(), ..tensor })
    });
    named.collect()
}

fn floats_of(tensor: &HostTensor) -> &[f32] {
    match &tensor.elements {
        Elements::F32(values) => values,
        other => panic!("{}: {other:?}", tensor.name),
    }
}

#[test]
fn a_folder_without_a_graph_answers_as_transformers_does() {
    let root = tempfile::tempdir().unwrap();
    run_script(&script("make_automodels.py"), root.path());
    for name in ["albert", "convnext", "hubert", "bart"] {
        let folder = root.path().join(name);
        let resolved = resolve(&folder);
        assert!(resolved.is_program(), "{name} has a graph by now: take another family");
        assert!(resolved.remarks[0].code == types::RemarkCode::NoGraph, "{:?}", resolved.remarks);
        assert_eq!(resolved.stored, Some(Precision::Fp32));
        let given = part(&folder, "in.");
        // What the configuration tells is what the case has, but for sizes that are free.
        let mut names: Vec<String> =
            resolved.inputs(2, None, &[]).unwrap().into_iter().map(|spec| spec.name).collect();
        let mut expected: Vec<String> = given.iter().map(|tensor| tensor.name.clone()).collect();
        names.sort();
        expected.sort();
        assert_eq!(names, expected, "{name}");

        let work = tempfile::tempdir().unwrap();
        let mut worker = Worker::start();
        let report = worker.load(&job_with(resolved.module.clone().unwrap(), &given, work.path()));
        assert!(report.versions.contains_key("transformers"), "{:?}", report.versions);
        assert!(report.remarks.iter().any(|one| one.code == types::RemarkCode::ModuleClass));
        let outputs = worker.outputs(work.path());
        for wanted in part(&folder, "out.") {
            let (found, wanted_values) = (values(&outputs, &wanted.name), floats_of(&wanted));
            assert_eq!(found.len(), wanted_values.len(), "{name} {}", wanted.name);
            let far = found.iter().zip(wanted_values).map(|(a, b)| (a - b).abs());
            assert!(far.fold(0.0, f32::max) < 1e-5, "{name} {}", wanted.name);
        }
        let Reply::Counted { count } = worker.ask(&Request::Count) else { panic!("not counted") };
        assert_eq!(count.parameters, resolved.info.parameters, "{name}");
        let counted = count.work.unwrap();
        assert!(counted.flops > count.parameters && counted.coverage == Some(1.0), "{counted:?}");
    }
    assert_eq!(resolve(&root.path().join("bart-bf16")).stored, Some(Precision::Bf16));
}

#[test]
fn a_folder_whose_weights_belong_to_something_else_is_refused() {
    let root = tempfile::tempdir().unwrap();
    run_script(&script("make_automodels.py"), root.path());
    let (albert, convnext) = (root.path().join("albert"), root.path().join("convnext"));
    fs::copy(convnext.join("model.safetensors"), albert.join("model.safetensors")).unwrap();
    let job = crate::worker::job(Some(Module::Folder { path: albert }));
    let failure = Worker::start().refuse(&job, Kind::BadModel);
    assert!(failure.message.contains("no weight of `AlbertModel`"), "{failure:?}");
}
