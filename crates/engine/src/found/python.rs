//! Where a Python interpreter keeps its packages, and how one is started without code from the current folder.

use crate::inherited::inherited;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The first line of every script that we hand to an interpreter with `-c`: the folder somebody stands in does not count.
///
/// With `-c` Python puts an empty entry in front, and nothing is imported before the script runs. `-P` would do the same
/// but is refused before 3.11; `-I` would also ignore `PYTHONPATH` and the packages that users install for themselves.
pub const ISOLATE: &str = "import sys; sys.path[:] = [place for place in sys.path if place]\n";

/// The variable that keeps the current folder out of interpreters which an interpreter of ours starts, since 3.11.
pub const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// An interpreter that runs this script, takes no code from the current folder and gets a worker's environment.
#[must_use]
pub fn isolated(python: &Path, script: &str) -> Command {
    let mut command = Command::new(python);
    command.env_clear().envs(inherited()).env(SAFE_PATH, "1");
    command.arg("-c").arg(format!("{ISOLATE}{script}"));
    command
}

/// What `python -m MODULE` does, as a script for [`isolated`]: `-m` would look into the current folder first.
#[must_use]
pub fn run_module(module: &str) -> String {
    format!("import runpy; runpy.run_module({module:?}, run_name=\"__main__\", alter_sys=True)\n")
}

/// How long an interpreter may take to answer; one on a slow disk needs a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folders that an interpreter imports packages from, in its order.
///
/// A virtual environment shows them by its layout. Any other interpreter is asked, once in the life of this process.
#[must_use]
pub fn package_folders(python: &Path) -> Vec<PathBuf> {
    static ASKED: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    if let Some(prefix) = prefix(python)
        && let Environment::Closed = Environment::of(prefix)
    {
        return below(prefix);
    }
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    asked.entry(python.to_owned()).or_insert_with(|| ask(python).unwrap_or_default()).clone()
}

/// The folders of packages that lie beside an interpreter: those of its prefix, and of the base that its environment sees.
///
/// Nothing is started for them, but not all that [`package_folders`] knows is among them.
#[must_use]
pub fn folders_beside(python: &Path) -> Vec<PathBuf> {
    let Some(prefix) = prefix(python) else { return Vec::new() };
    let mut folders = below(prefix);
    if let Environment::Open { base: Some(base) } = Environment::of(prefix) {
        folders.extend(below(&base));
    }
    folders
}

/// Not resolved: in an environment the interpreter is a link to that of its base.
fn prefix(python: &Path) -> Option<&Path> {
    python.parent()?.parent()
}

/// What a prefix is, as its `pyvenv.cfg` tells.
enum Environment {
    /// No virtual environment.
    None,
    /// One with packages of its own alone.
    Closed,
    /// One that sees the packages of its base too.
    Open { base: Option<PathBuf> },
}

impl Environment {
    fn of(prefix: &Path) -> Environment {
        let Ok(text) = fs::read_to_string(prefix.join("pyvenv.cfg")) else {
            return Environment::None;
        };
        let setting = |key: &str| {
            let mut pairs = text.lines().filter_map(|line| line.split_once('='));
            pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
        };
        let is_open = setting("include-system-site-packages");
        match is_open.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            false => Environment::Closed,
            true => Environment::Open {
                base: setting("home").and_then(|home| Path::new(home).parent()).map(Path::to_owned),
            },
        }
    }
}

/// The folders of packages below a prefix.
fn below(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for libraries in ["lib", "lib64"] {
        let entries = fs::read_dir(prefix.join(libraries)).into_iter().flatten().flatten();
        let pythons = entries.filter(|e| e.file_name().to_string_lossy().starts_with("python3"));
        folders.extend(pythons.map(|entry| entry.path().join("site-packages")));
    }
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    folders
}

fn ask(python: &Path) -> Option<Vec<PathBuf>> {
    let mut child = isolated(python, "print('\\n'.join(sys.path))")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    if !ends_in_time(&mut child) {
        // Whatever it is, it is no interpreter that answers.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}

fn ends_in_time(child: &mut Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            ended => return ended.is_ok(),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_read_off_its_folders() {
        let prefix = tempfile::tempdir().unwrap();
        let packages = prefix.path().join("lib/python3.12/site-packages");
        fs::create_dir_all(&packages).unwrap();
        // The interpreter does not exist, so nothing can be asked.
        let python = prefix.path().join("bin/python");
        assert_eq!(package_folders(&python), Vec::<PathBuf>::new());
        let settings = prefix.path().join("pyvenv.cfg");
        fs::write(&settings, "home = /usr/bin\ninclude-system-site-packages = false\n").unwrap();
        assert_eq!(package_folders(&python), [packages]);
        fs::write(&settings, "include-system-site-packages = true\n").unwrap();
        assert_eq!(package_folders(&python), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_environment_that_sees_its_base_shows_the_folders_of_both() {
        let root = tempfile::tempdir().unwrap();
        let (base, environment) = (root.path().join("base"), root.path().join("environment"));
        let packages = |prefix: &Path| prefix.join("lib/python3.12/site-packages");
        for prefix in [&base, &environment] {
            fs::create_dir_all(packages(prefix)).unwrap();
        }
        let python = environment.join("bin/python");
        let write = |sees: &str| {
            let home = base.join("bin").display().to_string();
            let text = format!("home = {home}\ninclude-system-site-packages = {sees}\n");
            fs::write(environment.join("pyvenv.cfg"), text).unwrap();
        };
        assert_eq!(folders_beside(&python), [packages(&environment)]);
        write("false");
        assert_eq!(folders_beside(&python), [packages(&environment)]);
        write("true");
        assert_eq!(folders_beside(&python), [packages(&environment), packages(&base)]);
    }

    #[test]
    fn an_interpreter_that_is_not_there_has_no_packages() {
        assert!(package_folders(Path::new("/nowhere/bin/python")).is_empty());
        assert!(folders_beside(Path::new("python")).is_empty());
    }

    #[test]
    fn an_interpreter_takes_no_code_from_the_folder_somebody_stands_in() {
        let here = tempfile::tempdir().unwrap();
        for module in ["json", "runpy", "zipfile", "pip"] {
            let text = "import sys; print('taken from here'); sys.exit(9)";
            fs::write(here.path().join(module).with_extension("py"), text).unwrap();
        }
        let say = |script: &str| {
            let mut command = isolated(Path::new("python3"), script);
            let output = command.args(["--help"]).current_dir(here.path()).output().unwrap();
            (output.status.success(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(say("import json; print(json.dumps(1))"), (true, "1\n".to_owned()));
        let (fine, said) = say(&run_module("zipfile"));
        assert!(fine && said.contains("usage"), "{said}");
        // Interpreters that it starts take none either, where Python can be told.
        let again = "import subprocess; run = subprocess.run([sys.executable, '-c', 'import json'])\n\
                     sys.exit(run.returncode if sys.version_info >= (3, 11) else 0)";
        assert_eq!(say(again), (true, String::new()));
    }

    #[cfg(unix)]
    #[test]
    fn another_interpreter_is_asked_once() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python3");
        let script = "#!/bin/sh\necho asked >> \"$0.log\"\nprintf '\\n/one\\n/two\\n'\n";
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        for _ in 0..2 {
            assert_eq!(package_folders(&python), [Path::new("/one"), Path::new("/two")]);
        }
        let log = fs::read_to_string(folder.path().join("python3.log")).unwrap();
        assert_eq!(log, "asked\n");
    }
}
