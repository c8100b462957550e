//! Files that people break, and catalogues.

use crate::{
    effort,
    world::{HEADER, World, write},
};
use flate2::{Compression, write::GzEncoder};
use modelmeter_predict::{Catalogue, Domain, Error, PictureQuestion, Tables, backtest};
use proptest::prelude::*;
use std::{fs, io::Write};

#[test]
fn a_compressed_table_reads_as_the_plain_one() {
    let folder = tempfile::tempdir().unwrap();
    let plain = write(folder.path(), "a.csv", &World::new(1, 3).rows());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&fs::read(&plain).unwrap()).unwrap();
    // Its name does not say that it is compressed.
    let packed = folder.path().join("b.csv");
    fs::write(&packed, encoder.finish().unwrap()).unwrap();
    let read = |path| Tables::read(&[path], &Catalogue::own()).unwrap().observations.len();
    assert_eq!((read(plain), read(packed)), (54, 54));
}

#[test]
fn rows_that_say_nothing_are_left_out_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = World::new(1, 1).rows();
    let good = rows[0].clone();
    let with = |from: &str, to: &str| good.replacen(from, to, 1);
    let rate = good.split(',').nth(26).unwrap().to_owned();
    rows.push(with(&rate, "NaN"));
    rows.push(with(&rate, "-3"));
    rows.push(with(&rate, "inf"));
    rows.push(with(&format!("{rate},0"), "1,0.5"));
    rows.push(with(",512,0,", ",0,0,"));
    rows.push(with(",512,0,", ",512,512,"));
    rows.push("too,short".into());
    rows.push(with(",CPU,,", ",CUDA,Unheard Of 9000,"));
    let table = write(folder.path(), "a.csv", &rows);
    let tables = Tables::read(&[table], &Catalogue::own()).unwrap();
    assert_eq!(tables.observations.len(), rows.len() - 8);
    let left: usize = tables.left_out.values().sum();
    assert_eq!(left, 8, "{:?}", tables.left_out);
    for why in [
        "standard deviation",
        "both 0",
        "in one test",
        "no number above 0",
        "`Unheard Of 9000` are not known",
    ] {
        assert!(
            tables.left_out.keys().any(|own| own.contains(why)),
            "{why}: {:?}",
            tables.left_out
        );
    }
}

#[test]
fn what_is_no_table_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        Tables::read(&[path], &Catalogue::own()).unwrap_err().to_string()
    };
    assert!(wrong("empty.csv", b"").contains("neither the columns of timm"));
    assert!(wrong("other.csv", b"a,b\n1,2\n").contains("neither the columns of timm"));
    assert!(wrong("binary.csv", &[0xff, 0xfe, 0, 1]).contains("UTF-8"));
    assert!(wrong("none.csv", format!("{HEADER}\n").as_bytes()).contains("it has no rows"));
    let missing = Tables::read(&["no/such/file"], &Catalogue::own()).unwrap_err();
    assert!(matches!(missing, Error::Read { .. }));
    assert!(matches!(
        Tables::read(
            &[{
                let path = folder.path().join("cut.gz");
                fs::write(&path, [0x1f, 0x8b, 8, 0]).unwrap();
                path
            }],
            &Catalogue::own()
        ),
        Err(Error::Read { .. })
    ));
}

#[test]
fn flags_and_architectures_are_read_as_other_tools_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let features = |name: &str, rows: &[String]| {
        let table = write(folder.path(), name, rows);
        let found = Tables::read(&[table], &Catalogue::own()).unwrap().observations;
        found.into_iter().map(|one| format!("{:?}", one.features)).collect::<Vec<_>>()
    };
    let rows = World::new(1, 2).rows();
    let with = |from: &str, to: &str| -> Vec<String> {
        rows.iter().map(|row| row.replacen(from, to, 1)).collect()
    };
    let plain = features("plain.csv", &rows);
    let flags = "(1 instance),1,1,1,0,0,0,";
    assert!(rows.iter().any(|row| row.contains(flags)));
    assert_eq!(
        features("flags.csv", &with(flags, "(1 instance),1.0,TRUE,yes,0.0,false,no,")),
        plain
    );
    let arm = features("arm.csv", &with(",x86_64,", ",aarch64,"));
    assert_ne!(arm, plain);
    assert_eq!(features("arm64.csv", &with(",x86_64,", ",arm64,")), arm);
    // Without `cpus`, `threads` say how many there are.
    let without: Vec<String> = ["-0,4,2,", "-0,16,2,", "-0,64,2,"]
        .iter()
        .flat_map(|cpus| {
            let rows = rows.iter().filter(|row| row.contains(*cpus));
            rows.map(|row| row.replacen(cpus, "-0,,2,", 1)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(features("without.csv", &without).len(), rows.len() / 2);
}

/// A table of timm with these columns and one row for every text.
fn pictures(columns: &str, rows: &[&str]) -> String {
    format!("model,param_count,{columns}\n{}\n", rows.join("\n"))
}

const INFERENCE: &str =
    "infer_samples_per_sec,infer_batch_size,infer_img_size,infer_gmacs,infer_macts";

#[test]
fn a_table_that_does_not_say_its_hardware_is_a_usage_error_unless_a_column_does() {
    let folder = tempfile::tempdir().unwrap();
    let own = Catalogue::own();
    let path = folder.path().join("results.csv");
    fs::write(&path, pictures(INFERENCE, &["resnet50,25.6,1000,256,224,4.1,11.1"])).unwrap();
    let wrong = Tables::read(&[&path], &own).unwrap_err();
    assert!(matches!(wrong, Error::Table { .. }), "{wrong}");
    assert!(wrong.to_string().contains("name it as timm does"), "{wrong}");
    let columns = format!("{INFERENCE},gpu");
    let rows = ["resnet50,25.6,1000,256,224,4.1,11.1,NVIDIA GeForce RTX 4090"];
    fs::write(&path, pictures(&columns, &rows)).unwrap();
    let mut tables = Tables::read(&[&path], &own).unwrap();
    tables.finish(None, &own);
    assert_eq!(tables.observations[0].machine, "GeForce RTX 4090");
}

#[test]
fn training_on_a_processor_is_no_inference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("benchmark-train-fp32-nchw-pt240-cpu-i9_10940x.csv");
    let columns = INFERENCE.replace("infer", "train");
    fs::write(&path, pictures(&columns, &["resnet50,25.6,10,16,224,4.1,11.1"])).unwrap();
    let mut tables = Tables::read(&[path], &Catalogue::own()).unwrap();
    tables.finish(None, &Catalogue::own());
    let one = &tables.observations[0];
    assert_eq!(one.domain, Domain::VisionTrainingOnProcessors);
    assert_eq!(one.test, "train fp32 nchw");
}

#[test]
fn a_number_format_that_no_table_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv");
    fs::write(&path, pictures(INFERENCE, &["resnet50,25.6,1000,256,224,4.1,11.1"])).unwrap();
    let own = Catalogue::own();
    let tables = Tables::read(&[path], &own).unwrap();
    let ask = |precision, batch| {
        let asked =
            PictureQuestion { hardware: "GeForce RTX 5090", precision, batch, is_training: false };
        tables.picture_question("resnet50", &asked, &own)
    };
    for precision in ["int8", "fp32", "bf16"] {
        let refused = ask(Some(precision), None).unwrap_err().to_string();
        assert!(refused.contains(precision) && refused.contains("in amp"), "{refused}");
    }
    for precision in [None, Some("fp16")] {
        let found = ask(precision, None).unwrap();
        assert_eq!((found.precision.as_str(), found.batch), ("amp", 256.0));
    }
    assert_eq!(ask(None, Some(8.0)).unwrap().batch, 8.0);
}

#[test]
fn one_machine_alone_is_nothing_to_hold_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(1, 1);
    world.models.truncate(1);
    let table = write(folder.path(), "a.csv", &world.rows());
    let found = backtest(&[table], &[], &Catalogue::own(), &effort()).unwrap();
    assert_eq!(found.answered(), 0);
    assert!(found.refused[0].why.contains("nothing can be held out"), "{:?}", found.refused);
}

#[test]
fn names_of_hardware_are_found_as_people_write_them() {
    let own = Catalogue::own();
    for (asked, meant) in [
        ("rtx4090", "GeForce RTX 4090"),
        ("4090", "GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090"),
        ("Tesla T4", "Tesla T4"),
        ("t4", "Tesla T4"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", "A10G"),
        ("i9_10940x", "Core i9-10940X"),
        ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
        ("NVIDIA GeForce RTX 4090 (24 GB)", "GeForce RTX 4090"),
        ("4090 D", "GeForce RTX 4090 D"),
        ("A6000", "RTX A6000"),
        ("Tesla V100-SXM2-32GB", "Tesla V100-SXM2-32GB"),
        ("AMD EPYC 9654 96-Core Processor", "EPYC 9654"),
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "Xeon Platinum 8259CL"),
    ] {
        assert_eq!(own.find(asked).map(|found| found.name.as_str()), Some(meant), "{asked}");
    }
    // Parts of names that many have, sizes of memory, and another product of a name that is known.
    for asked in ["rtx 9999", "16GB", "80GB", "6000", "HBM3", "090", "RTX 4090 (48 GB)", "Ti"] {
        assert_eq!(own.find(asked).map(|found| &found.name), None, "{asked}");
    }
    assert_eq!(own.find(""), None);
    assert!(own.near("GeForce RTX 4091").contains(&"GeForce RTX 4090"));
    for entry in own.entries() {
        assert!(entry.half >= entry.single, "{}", entry.name);
        assert!(!entry.source.is_empty(), "{}", entry.name);
        assert_eq!(own.find(&entry.name).map(|found| &found.name), Some(&entry.name));
    }
}

#[test]
fn a_users_catalogue_comes_first_and_its_faults_are_named() {
    let mine = "[[gpu]]\nname = \"RTX 4090\"\nsingle = 1\nbandwidth = 2\nsource = \"me\"\n";
    let own = Catalogue::own().with(mine).unwrap();
    assert_eq!(own.find("rtx4090").unwrap().bandwidth, 2e9);
    let fault = |text: &str| Catalogue::own().with(text).unwrap_err().to_string();
    assert!(fault(&mine.replace("bandwidth = 2\n", "")).contains("has no `bandwidth`"));
    assert!(fault(&mine.replace("= 2", "= -2")).contains("not possible"));
    assert!(fault(&mine.replace("source = \"me\"\n", "")).contains("has no `source`"));
    assert!(fault("[[gpu]]\ncolour = 1").contains("colour"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_table_makes_it_panic(rows in proptest::collection::vec("[ -~\n\"é]{0,200}", 0..8)) {
        let folder = tempfile::tempdir().unwrap();
        let llama = write(folder.path(), "a.csv", &rows);
        let _ = Tables::read(&[llama], &Catalogue::own());
        let timm = folder.path().join("benchmark-infer-amp-nchw-rtx3090.csv");
        fs::write(&timm, format!("model,infer_samples_per_sec,infer_batch_size,infer_img_size,param_count\n{}", rows.join("\n"))).unwrap();
        if let Ok(mut tables) = Tables::read(&[timm], &Catalogue::own()) {
            tables.finish(None, &Catalogue::own());
        }
    }
}
