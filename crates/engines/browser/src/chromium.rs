//! A browser process: started with a fresh profile, told what to open over a pipe, ended with whoever started it.
//!
//! It is asked over two descriptors instead of a port, so that no other program of this machine can talk to it. It ends
//! when they are closed.

use crate::{locate::LIBRARIES, server::Shared};
use engine::{EngineError, EngineErrorKind};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use types::Device;

/// How long a browser may take to answer; one that starts cold on a busy machine takes some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a browser may take to leave.
const LEAVING: Duration = Duration::from_secs(2);

/// What every browser is told: nothing but the page runs, and it runs at full speed without a window.
const FLAGS: [&str; 25] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--mute-audio",
    "--hide-scrollbars",
    "--password-store=basic",
    "--use-mock-keychain",
    "--metrics-recording-only",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    // A first inference compiles its shaders.
    "--disable-gpu-shader-disk-cache",
    "--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication",
    "--enable-features=WebMachineLearningNeuralNetwork",
];

/// A browser that runs.
pub(crate) struct Chromium {
    child: Child,
    writer: File,
    replies: Receiver<Value>,
    asked: u64,
    profile: TempDir,
    /// `Chromium 156.0.8078.79`.
    pub(crate) version: String,
    /// The version of its JavaScript engine.
    pub(crate) script_engine: String,
    /// Why it runs without its sandbox, if it does.
    pub(crate) unconfined: Option<&'static str>,
}

impl Chromium {
    /// Starts a browser without a page.
    pub(crate) fn start(
        program: &Path,
        device: Device,
        shared: &Arc<Shared>,
    ) -> Result<Chromium, EngineError> {
        let failed = |error: io::Error| {
            let message = format!("could not start the browser `{}`", program.display());
            EngineError::new(EngineErrorKind::Unavailable, message).with_source(error)
        };
        let profile = tempfile::Builder::new().prefix("browser-").tempdir().map_err(failed)?;
        let unconfined = is_root().then_some("root");
        let (mut child, writer, reader) =
            spawn(program, &arguments(&profile, device, unconfined.is_some()), profile.path())
                .map_err(failed)?;
        let (sender, replies) = channel();
        let shared = Arc::clone(shared);
        let listen = move || {
            for message in BufReader::new(reader).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice::<Value>(&message) else { continue };
                if message["id"].is_u64() {
                    let _ = sender.send(message);
                } else if let Some(why) = loss(&message) {
                    shared.lose(why);
                }
            }
            shared.lose("the browser ended".to_owned());
        };
        if let Err(error) = thread::Builder::new().name("browser".into()).spawn(listen) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(error));
        }
        let mut browser = Chromium {
            child,
            writer,
            replies,
            asked: 0,
            profile,
            version: String::new(),
            script_engine: String::new(),
            unconfined,
        };
        let version = browser.call("Browser.getVersion", &json!({}))?;
        let text = |key: &str| version[key].as_str().unwrap_or_default().to_owned();
        browser.version = text("product").replace('/', " ");
        browser.script_engine = text("jsVersion");
        Ok(browser)
    }

    /// Opens a page in a tab of its own; whatever ends it is told to whoever waits for an answer.
    pub(crate) fn open(&mut self, url: &str) -> Result<(), EngineError> {
        self.call("Target.setDiscoverTargets", &json!({ "discover": true }))?;
        self.call("Target.createTarget", &json!({ "url": url })).map(drop)
    }

    /// Asks the browser and waits for its answer.
    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value, EngineError> {
        self.asked += 1;
        let mut message =
            json!({ "id": self.asked, "method": method, "params": parameters }).to_string();
        message.push('\0');
        if self.writer.write_all(message.as_bytes()).is_err() {
            return Err(self.explain("the browser ended before it answered"));
        }
        loop {
            match self.replies.recv_timeout(PATIENCE) {
                Ok(reply) if reply["id"] == self.asked && reply["error"].is_null() => {
                    return Ok(reply["result"].clone());
                }
                Ok(reply) if reply["id"] == self.asked => {
                    let why = reply["error"]["message"].as_str().unwrap_or_default();
                    let message = format!("the browser refused `{method}`");
                    let error = EngineError::new(EngineErrorKind::Failed, message);
                    return Err(error.with_source(why.to_owned()));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.explain("the browser did not answer"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.explain("the browser ended before it answered"));
                }
            }
        }
    }

    /// An error with what the browser said last.
    fn explain(&self, message: &str) -> EngineError {
        let said = fs::read(talk(self.profile.path())).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let error = EngineError::new(EngineErrorKind::Unavailable, message);
        if said.contains("sandbox") {
            return error.with_source("it found no sandbox that it may use".to_owned()).with_hint(
                "allow unprivileged user namespaces, or run as root in a container, where it runs without one",
            );
        }
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        error.with_source(last.trim().to_owned()).with_hint(
            "`modelmeter devices` shows which browser was started; `MODELMETER_BROWSER` names another",
        )
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // In peace, so that it ends its own processes and files.
        let _ = self.writer.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let begin = Instant::now();
        while begin.elapsed() < LEAVING {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why no answer will come, if an event says so.
fn loss(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Target.targetCrashed" => Some(match parameters["status"].as_str() {
            Some(status) => format!("the page crashed ({status})"),
            None => "the page crashed".to_owned(),
        }),
        "Target.targetDestroyed" => Some("the tab was closed".to_owned()),
        _ => None,
    }
}

fn is_root() -> bool {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn arguments(profile: &TempDir, device: Device, is_unconfined: bool) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    let mut folder = OsString::from("--user-data-dir=");
    folder.push(profile.path());
    arguments.push(folder);
    match device {
        Device::Wasm => arguments.push("--disable-gpu".into()),
        // Without the first there is no software adapter, and the list names hardware that is only thought to be slow.
        _ => {
            arguments
                .extend(["--enable-unsafe-webgpu", "--ignore-gpu-blocklist"].map(OsString::from));
        }
    }
    if is_unconfined {
        // It refuses to run as root otherwise.
        arguments.push("--no-sandbox".into());
    }
    arguments.push("about:blank".into());
    arguments
}

/// What the browser says on its error stream.
fn talk(profile: &Path) -> PathBuf {
    profile.join("modelmeter-talk.txt")
}

/// Starts it with our ends of two pipes; its own ends are descriptors 3 and 4.
fn spawn(
    program: &Path,
    arguments: &[OsString],
    profile: &Path,
) -> io::Result<(Child, File, File)> {
    let (their_reader, our_writer) = pipe()?;
    let (our_reader, their_writer) = pipe()?;
    // Above those that they become, so that neither takes the place of the other.
    let (reads, writes) = (aside(&their_reader)?, aside(&their_writer)?);
    let (read_from, write_to) = (reads.as_raw_fd(), writes.as_raw_fd());
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(profile)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(talk(profile))?);
    // A browser of ours brings what a small system lacks.
    let libraries = program.parent().map(|folder| folder.join(LIBRARIES));
    if let Some(libraries) = libraries.filter(|folder| folder.join("libnss3.so").is_file()) {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    // SAFETY: dup2 and prctl are safe between fork and exec; the descriptors are open until the child has started.
    unsafe {
        command.pre_exec(move || {
            if libc::dup2(read_from, 3) < 0 || libc::dup2(write_to, 4) < 0 {
                return Err(io::Error::last_os_error());
            }
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let child = command.spawn()?;
    Ok((child, File::from(our_writer), File::from(our_reader)))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [0; 2];
    // SAFETY: pipe writes two descriptors into an array of two.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for end in ends {
        // SAFETY: the descriptor was just opened; no other program gets it.
        unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: both were just opened, and nobody else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// The same descriptor with a number of at least 10.
fn aside(descriptor: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl duplicates an open descriptor.
    match unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was just opened, and nobody else owns it.
        copy => Ok(unsafe { OwnedFd::from_raw_fd(copy) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_and_a_closed_tab_end_the_waiting_and_nothing_else_does() {
        let event = |method: &str| json!({ "method": method, "params": { "status": "killed" } });
        assert_eq!(loss(&event("Target.targetCrashed")).unwrap(), "the page crashed (killed)");
        assert_eq!(loss(&event("Target.targetDestroyed")).unwrap(), "the tab was closed");
        assert_eq!(loss(&event("Target.targetCreated")), None);
    }

    #[test]
    fn a_program_that_is_no_browser_is_an_error_and_not_a_hang() {
        let server = crate::server::Server::start("127.0.0.1:0".parse().unwrap(), "s").unwrap();
        let start = |program: &str| {
            Chromium::start(Path::new(program), Device::Wasm, &server.shared).err().unwrap()
        };
        assert_eq!(start("/bin/false").kind, EngineErrorKind::Unavailable);
        assert!(start("/no/such/program").to_string().contains("could not start the browser"));
    }
}
