//! A program that loads the library, and what was recorded of it.

use modelmeter_gpu::{Injection, Wish};
use std::{
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;
use types::GpuProfile;

/// What became of a program.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) output: String,
    /// Bytes of all recordings.
    pub(crate) bytes: u64,
    pub(crate) profile: GpuProfile,
}

/// A program to be run.
pub(crate) struct Program {
    mode: &'static str,
    count: u32,
    wish: Wish,
    settings: Vec<(&'static str, String)>,
    library: &'static str,
    has_nvtx: bool,
    has_folder: bool,
}

/// The program in one of its modes.
pub(crate) fn program(mode: &'static str) -> Program {
    Program {
        mode,
        count: 100,
        wish: Wish::default(),
        settings: Vec::new(),
        library: "cupti",
        has_nvtx: false,
        has_folder: true,
    }
}

impl Program {
    pub(crate) fn count(mut self, count: u32) -> Program {
        self.count = count;
        self
    }

    pub(crate) fn wish(mut self, wish: Wish) -> Program {
        self.wish = wish;
        self
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl Into<String>) -> Program {
        self.settings.push((name, value.into()));
        self
    }

    /// Another stand-in: `without-clock`, or `none`.
    pub(crate) fn library(mut self, library: &'static str) -> Program {
        self.library = library;
        self
    }

    pub(crate) fn without_folder(mut self) -> Program {
        self.has_folder = false;
        self
    }

    /// With NVTX's own headers.
    pub(crate) fn with_nvtx(mut self) -> Program {
        assert!(nvtx_headers().is_some(), "NVTX's headers are not installed (`make venv`)");
        self.has_nvtx = true;
        self
    }

    pub(crate) fn run(self) -> Outcome {
        let built = built();
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        if self.has_folder {
            std::fs::create_dir(&recording).unwrap();
        }
        let injection = Injection::unpack(&folder.path().join("cache")).unwrap();
        let program = if self.has_nvtx { "program-nvtx" } else { "program" };
        let mut command = Command::new(built.path().join(program));
        command.args([self.mode, &self.count.to_string()]);
        command.envs(injection.variables(&recording, &self.wish, |name| std::env::var_os(name)));
        // No other CUPTI that may be installed here.
        let library = built.path().join(self.library).join("libcupti.so");
        command.env("MODELMETER_GPU_CUPTI", &library).env("MOCK_LIBRARY", &library);
        command.envs(self.settings);
        let output = command.output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut profile = GpuProfile::default();
        let mut bytes = 0;
        if self.has_folder {
            let files = std::fs::read_dir(&recording).unwrap();
            bytes = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
            let (recordings, unread) = modelmeter_gpu::recordings(&recording).unwrap();
            profile = modelmeter_gpu::analyse(&recordings, unread);
            let (timeline, left_out) = modelmeter_gpu::timeline(&recordings);
            assert!(left_out == 0 && timeline.spans.iter().all(|span| !span.name.is_empty()));
        }
        Outcome {
            code: output.status.code(),
            signal: output.status.signal(),
            output: String::from_utf8(output.stdout).unwrap(),
            bytes,
            profile,
        }
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the tests' environment has NVTX's headers.
fn nvtx_headers() -> Option<PathBuf> {
    let versions = std::fs::read_dir(root().join(".venv/lib")).ok()?.flatten();
    let folders = versions.map(|one| one.path().join("site-packages/nvidia/cu13/include"));
    folders.into_iter().find(|folder| folder.join("nvtx3/nvToolsExt.h").is_file())
}

/// The stand-ins and the programs, compiled once.
fn built() -> &'static TempDir {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
        for (name, flags) in [("cupti", None), ("without-clock", Some("-DWITHOUT_CLOCK"))] {
            let target = folder.path().join(name);
            std::fs::create_dir(&target).unwrap();
            let mut command = compiler();
            command.args(["-shared", "-fPIC", "-Wl,-soname,libcupti.so"]).args(flags);
            finish(command.arg("-o").arg(target.join("libcupti.so")).arg(source.join("cupti.c")));
        }
        let mut command = compiler();
        command.arg("-o").arg(folder.path().join("program")).arg(source.join("program.c"));
        finish(command.args(["-ldl", "-lpthread"]));
        if let Some(headers) = nvtx_headers() {
            let mut command = compiler();
            command.arg("-DWITH_NVTX").arg("-I").arg(headers);
            command.arg("-o").arg(folder.path().join("program-nvtx")).arg(source.join("program.c"));
            finish(command.args(["-ldl", "-lpthread"]));
        }
        folder
    })
}

fn compiler() -> Command {
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-O1", "-w"]);
    command
}

fn finish(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
