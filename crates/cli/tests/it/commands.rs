use crate::bench::{Home, quick};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn models_lists_every_preset_with_its_numbers() {
    let home = Home::new();
    let list = json(&home.fine(&["models", "--json"]).out);
    let models = list["models"].as_array().unwrap();
    let of = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    assert_eq!(of("bert-base-uncased")["parameters"], 109_482_240);
    assert_eq!(of("gpt2")["category"], "generation");
    assert!(models.iter().all(|model| model["flops"].as_u64().unwrap() > 0));
    let vision = home.fine(&["models", "--category", "vision"]).out;
    assert!(vision.contains("vit") && !vision.contains("gpt2"));
    home.refused(&["models", "--category", "smell"], 2, &["smell"]);
}

#[test]
fn devices_says_what_is_here_and_why_the_rest_is_not() {
    let home = Home::new();
    let text = home.fine(&["devices"]).out;
    for word in ["cpu", "cuda", "rten", "memory"] {
        assert!(text.contains(word), "{text}");
    }
    let list = json(&home.fine(&["devices", "--json"]).out);
    assert_eq!(list["devices"][0]["device"], "cpu");
    let engines = list["engines"].as_array().unwrap();
    let embedded = engines.iter().find(|engine| engine["id"] == "rten").unwrap();
    assert_eq!(embedded["availability"]["state"], "available");
    let unavailable = list["probes"].as_array().unwrap().iter().filter(|p| p["available"] == false);
    assert!(unavailable.clone().all(|probe| !probe["why"].as_str().unwrap().is_empty()));
}

#[test]
fn runs_are_listed_shown_tagged_and_deleted() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    home.fine(&quick("small-transformer", &[]));
    let list = json(&home.fine(&["runs", "list", "--json", "--model", "small"]).out);
    let id = list["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(list["runs"].as_array().unwrap().len(), 1);
    let short = &id[..6];
    let shown = json(&home.fine(&["runs", "show", short, "--json", "--samples"]).out);
    assert_eq!(shown["id"], id.as_str());
    assert_eq!(shown["samples_ns"]["inference"].as_array().unwrap().len(), 11);
    home.fine(&["runs", "tag", short, "keep"]);
    assert!(home.fine(&["runs", "list", "--tag", "keep"]).out.contains("small-transformer"));
    home.fine(&["runs", "tag", short, "keep", "--remove"]);
    home.refused(&["runs", "delete", short, "ffffffffff"], 2, &["ffffffffff"]);
    assert_eq!(home.stored(), 2, "a wrong name deletes nothing");
    home.fine(&["runs", "delete", short]);
    assert_eq!(home.stored(), 1);
    home.refused(&["runs", "show", short], 2, &[short]);
}

#[test]
fn the_database_is_made_described_and_compacted() {
    let home = Home::new();
    home.refused(&["db", "status"], 2, &["no database"]);
    home.fine(&["db", "init"]);
    assert!(home.database().exists());
    home.fine(&quick("feed-forward-baseline", &[]));
    let status = json(&home.fine(&["db", "status", "--json"]).out);
    assert_eq!(status["runs"], 1);
    assert!(home.fine(&["db", "path"]).out.trim().ends_with("runs.db"));
    home.fine(&["db", "vacuum"]);
    assert_eq!(home.stored(), 1);
}

#[test]
fn help_has_examples_and_the_version_is_the_packages() {
    let home = Home::new();
    assert!(home.fine(&["--version"]).out.contains(env!("CARGO_PKG_VERSION")));
    for command in ["profile", "calibrate", "models", "devices"] {
        let help = home.fine(&[command, "--help"]).out;
        assert!(help.contains("Examples:"), "{help}");
    }
    assert!(home.fine(&["completions", "bash"]).out.contains("modelmeter"));
    assert_eq!(home.run(&["profil"]).status, Some(2));
}
