use crate::bench::{Home, quick};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn calibrate_measures_shows_and_keeps_this_machines_ceilings() {
    let home = Home::new();
    home.refused(&["calibrate", "--show"], 2, &["no database"]);
    let first = home.fine(&["calibrate", "--threads", "1"]).out;
    for word in ["fp32", "memory", "1 thread", "FLOP/s", "B/s", "stored for this machine in"] {
        assert!(first.contains(word), "`{word}` is not in\n{first}");
    }
    let shown = json(&home.fine(&["calibrate", "--show", "--threads", "1", "--json"]).out);
    assert_eq!(shown["schema"], "modelmeter.ceilings/1");
    assert_eq!((&shown["device"], &shown["threads"]), (&Value::from("cpu"), &Value::from(1)));
    let fp32 = &shown["compute"][0];
    assert_eq!(fp32["precision"], "fp32");
    assert!(fp32["value"].as_f64().unwrap() > 1e9);
    assert!(fp32["interval"]["low"].as_f64().unwrap() <= fp32["value"].as_f64().unwrap());
    assert!(fp32["flops_per_byte"].as_f64().unwrap() > 0.0);
    assert_eq!(fp32["measured_now"], Value::Null, "showing measures nothing");
    // Every precision is measured or says why not.
    let said = |key: &str, of: &str| -> Vec<String> {
        let list = shown[key].as_array().unwrap();
        list.iter().map(|entry| entry[of].as_str().unwrap().to_owned()).collect()
    };
    let told = [said("compute", "precision"), said("unmeasured", "what")].concat();
    for precision in ["fp32", "fp16", "bf16", "int8"] {
        assert_eq!(told.iter().filter(|name| *name == precision).count(), 1, "{told:?}");
    }

    let again = json(&home.fine(&["calibrate", "--threads", "1", "--json"]).out);
    let now = again["compute"][0]["measured_now"].as_f64().unwrap();
    let before = fp32["value"].as_f64().unwrap();
    assert_eq!(again["compute"][0]["value"].as_f64().unwrap(), before.max(now));
    let text = home.fine(&["devices"]).out;
    assert!(text.contains("at best"), "{text}");
    let devices = json(&home.fine(&["devices", "--json"]).out);
    assert_eq!(devices["ceilings"][0]["device"], "cpu");
}

#[test]
fn a_run_rests_on_what_calibrate_measured() {
    let home = Home::new();
    let measured = json(&home.fine(&["calibrate", "--threads", "1", "--json"]).out);
    let told = home.fine(&quick("feed-forward-baseline", &["--threads", "1", "--json", "-"]));
    let run = json(&told.out);
    let share = run["compute"]["ceiling_share"].as_f64().unwrap();
    let rate = run["compute"]["flops_per_second"].as_f64().unwrap();
    let ceiling = measured["compute"][0]["value"].as_f64().unwrap();
    assert!((rate / ceiling / share - 1.0).abs() < 1e-3, "{rate} ÷ {ceiling} is not {share}");
}

#[test]
fn what_cannot_be_calibrated_says_why() {
    let home = Home::new();
    home.refused(&["calibrate", "--device", "cuda:7"], 3, &["`cuda:7`", "torch", "hint:"]);
    home.refused(&["calibrate", "--device", "npu"], 3, &["`npu`", "hint:"]);
    home.refused(&["calibrate", "--threads", "0"], 2, &["at least 1"]);
    home.fine(&["db", "init"]);
    home.refused(
        &["calibrate", "--show"],
        2,
        &["the ceilings of `cpu` have not been measured", "modelmeter calibrate"],
    );
    assert_eq!(home.run(&["calibrate", "--show", "--fresh"]).status, Some(2));
}
