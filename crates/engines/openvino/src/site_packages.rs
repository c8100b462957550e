//! Where a Python interpreter keeps its packages, told by files where they can tell.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// The folders of an interpreter's packages that need no question: those of its environment or its prefix.
pub(crate) fn nearby(python: &Path) -> Vec<PathBuf> {
    let Some(prefix) = python.parent().and_then(Path::parent) else { return Vec::new() };
    let mut folders = under(prefix);
    if let Ok(settings) = fs::read_to_string(prefix.join("pyvenv.cfg")) {
        let setting = |key: &str| {
            let lines = settings.lines().filter_map(|line| line.split_once('='));
            lines.map(|(k, v)| (k.trim(), v.trim())).find(|(k, _)| *k == key).map(|(_, v)| v)
        };
        let sees_system = setting("include-system-site-packages").is_some_and(|v| v == "true");
        if let (true, Some(base)) =
            (sees_system, setting("home").and_then(|h| Path::new(h).parent()))
        {
            folders.extend(under(base));
        }
    }
    folders
}

/// Whether the interpreter belongs to an environment of its own, whose files tell everything.
pub(crate) fn is_environment(python: &Path) -> bool {
    let settings = python.parent().and_then(Path::parent).map(|prefix| prefix.join("pyvenv.cfg"));
    settings
        .and_then(|path| fs::read_to_string(path).ok())
        .is_some_and(|text| !text.replace(' ', "").contains("include-system-site-packages=true"))
}

/// The folders the interpreter itself names; it is started once and the answer kept.
pub(crate) fn asked(python: &Path) -> Vec<PathBuf> {
    static ANSWERS: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers.entry(python.to_owned()).or_insert_with(|| ask(python)).clone()
}

fn ask(python: &Path) -> Vec<PathBuf> {
    let output = Command::new(python)
        .args(["-c", "import sys; print('\\n'.join(sys.path))"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let packages =
        |folder: &Path| folder.ends_with("site-packages") || folder.ends_with("dist-packages");
    text.lines().map(PathBuf::from).filter(|folder| packages(folder)).collect()
}

fn under(prefix: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .map(|entry| entry.path().join("site-packages"))
        .filter(|folder| folder.is_dir())
        .collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_that_sees_the_system_shows_both_folders() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("base");
        let environment = root.path().join("env");
        for prefix in [&base, &environment] {
            fs::create_dir_all(prefix.join("lib/python3.12/site-packages")).unwrap();
        }
        let python = environment.join("bin/python");
        let write = |sees: &str| {
            let home = base.join("bin").display().to_string();
            let text = format!("home = {home}\ninclude-system-site-packages = {sees}\n");
            fs::write(environment.join("pyvenv.cfg"), text).unwrap();
        };
        write("false");
        let own = environment.join("lib/python3.12/site-packages");
        assert_eq!(nearby(&python), std::slice::from_ref(&own));
        assert!(is_environment(&python));
        write("true");
        assert_eq!(nearby(&python), [own, base.join("lib/python3.12/site-packages")]);
        assert!(!is_environment(&python));
    }

    #[test]
    fn an_interpreter_is_asked_once() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let python = root.path().join("python");
        let log = root.path().join("log");
        let script = format!(
            "#!/bin/sh\necho asked >> '{}'\necho /usr/lib/python312.zip\necho /a/dist-packages\n",
            log.display()
        );
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        for _ in 0..2 {
            assert_eq!(asked(&python), [PathBuf::from("/a/dist-packages")]);
        }
        assert_eq!(fs::read_to_string(log).unwrap(), "asked\n");
    }

    #[test]
    fn an_interpreter_that_is_not_there_has_no_packages() {
        assert!(asked(Path::new("/nowhere/python")).is_empty());
    }
}
