//! What an interpreter has: asked once, without importing PyTorch, which takes seconds.

use engine::found;
use std::{
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{LazyLock, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

/// The oldest PyTorch whose interfaces the worker uses.
const OLDEST: (u32, u32) = (2, 2);

/// The oldest Python that runs the worker.
const OLDEST_PYTHON: (u32, u32) = (3, 9);

/// An interpreter that needs longer than this to say what it has is broken; a healthy one takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds the packages and reads their versions out of their files, one `modelmeter KEY VALUE` a line.
///
/// It uses only what the interpreter has imported already: `json`, `re` and `importlib.metadata` would cost more than
/// all the rest.
const QUESTION: &str = r##"
def value(line):
    return line.split("=", 1)[1].split("#")[0].strip().strip("'\"")

def versions(package, name):
    specs = (finder.find_spec(package, None) for finder in sys.meta_path)
    found = next((spec for spec in specs if spec), None)
    for folder in (found and found.submodule_search_locations) or ():
        try:
            with open(folder + "/" + name, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            key = line.split("=", 1)[0].split(":")[0].strip()
            if "=" in line and key in ("__version__", "cuda", "hip", "xpu"):
                yield key, value(line)

print("modelmeter python %d.%d.%d" % sys.version_info[:3])
for key, version in versions("torch", "version.py"):
    print("modelmeter", "torch" if key == "__version__" else key, version)
for key, version in versions("transformers", "__init__.py"):
    if key == "__version__":
        print("modelmeter transformers", version)
"##;

/// What an interpreter has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// PyTorch's version.
    pub(crate) torch: String,
    /// The CUDA it was built with.
    pub(crate) cuda: Option<String>,
    /// The ROCm it was built with.
    pub(crate) hip: Option<String>,
    /// The Intel toolkit it was built with.
    pub(crate) xpu: Option<String>,
}

/// Why an interpreter cannot run the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) why: String,
    pub(crate) hint: String,
}

/// Asks an interpreter, once in the life of this process.
pub(crate) fn examine(python: &Path) -> Result<Found, Unfit> {
    static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Result<Found, Unfit>>>> =
        LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.entry(python.to_owned()).or_insert_with(|| ask(python)).clone()
}

fn ask(python: &Path) -> Result<Found, Unfit> {
    let unfit = |why: String| Unfit { why, hint: crate::GIVE_PYTHON.into() };
    let name = python.display();
    let child = found::isolated(python, QUESTION)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| unfit(format!("`{name}` cannot be started: {error}")))?;
    let said = listen(child, PATIENCE)
        .ok_or_else(|| unfit(format!("`{name}` did not answer within {} s", PATIENCE.as_secs())))?;
    understand(python, &said)
}

/// All that a program says, if it ends in time; it is ended if not.
fn listen(mut child: Child, patience: Duration) -> Option<String> {
    let deadline = Instant::now() + patience;
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stream) = child.stdout.take() {
        // A thread of its own: a grandchild may keep the stream open for ever.
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        });
    }
    let said = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    // It has said everything or will not: either way it is over.
    let _ = child.kill();
    let _ = child.wait();
    said
}

fn understand(python: &Path, said: &str) -> Result<Found, Unfit> {
    let value = |key: &str| {
        said.lines()
            .filter_map(|line| line.trim().strip_prefix("modelmeter ")?.split_once(' '))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| !value.is_empty() && value != "None")
    };
    let name = python.display();
    let Some(version) = value("python") else {
        let why = format!("`{name}` is not a Python interpreter");
        return Err(Unfit { why, hint: crate::GIVE_PYTHON.into() });
    };
    if numbers(&version) < Some(OLDEST_PYTHON) {
        let (major, minor) = OLDEST_PYTHON;
        let why = format!("`{name}` is Python {version}; {major}.{minor} or newer is needed");
        return Err(Unfit { why, hint: crate::GIVE_PYTHON.into() });
    }
    let Some(torch) = value("torch") else {
        return Err(Unfit {
            why: format!("`{name}` (Python {version}) has no PyTorch"),
            hint: format!("`{name} -m pip install torch transformers`"),
        });
    };
    if numbers(&torch) < Some(OLDEST) {
        let (major, minor) = OLDEST;
        return Err(Unfit {
            why: format!("`{name}` has PyTorch {torch}; {major}.{minor} or newer is needed"),
            hint: format!("`{name} -m pip install --upgrade torch transformers`"),
        });
    }
    Ok(Found { torch, cuda: value("cuda"), hip: value("hip"), xpu: value("xpu") })
}

/// The first two numbers of a version: 2 and 15 of `2.15.0+cu132`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(said: &str) -> Result<Found, Unfit> {
        understand(Path::new("python3"), said)
    }

    #[test]
    fn a_python_with_pytorch_is_understood_among_other_lines() {
        let said = "hello from sitecustomize\nmodelmeter python 3.11.7\nmodelmeter torch 2.15.0+cu132\n\
                    modelmeter cuda 13.2\nmodelmeter hip None\n";
        let found = of(said).unwrap();
        assert_eq!(found.torch, "2.15.0+cu132");
        assert_eq!((found.cuda.as_deref(), found.hip), (Some("13.2"), None));
    }

    #[test]
    fn what_is_missing_or_too_old_is_said_with_the_command_that_helps() {
        let none = of("modelmeter python 3.11.7\n").unwrap_err();
        assert!(none.why.contains("has no PyTorch"), "{}", none.why);
        assert_eq!(none.hint, "`python3 -m pip install torch transformers`");
        let old = of("modelmeter python 3.11.7\nmodelmeter torch 1.13.1\n").unwrap_err();
        assert!(old.why.contains("PyTorch 1.13.1; 2.2 or newer"), "{}", old.why);
        let old = of("modelmeter python 3.8.1\nmodelmeter torch 2.4.0\n").unwrap_err();
        assert!(old.why.contains("is Python 3.8.1; 3.9 or newer"), "{}", old.why);
        let garbage = of("usage: something\n").unwrap_err();
        assert!(garbage.why.contains("is not a Python interpreter"), "{}", garbage.why);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(numbers("2.15.0+cu132"), Some((2, 15)));
        assert!(numbers("2.10.0") > numbers("2.2.1"));
        assert_eq!(numbers("2.0a0"), Some((2, 0)));
        assert_eq!(numbers("unknown"), None);
        assert!(of("modelmeter python 3.11.7\nmodelmeter torch unknown\n").is_err());
    }

    #[test]
    fn a_program_that_never_ends_is_ended() {
        let child =
            std::process::Command::new("sleep").arg("600").stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(listen(child, Duration::from_millis(50)), None);
    }
}
