//! A home of its own for every test, and the command in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};
use tempfile::TempDir;

/// A home with nothing in it; prepared models are shared between tests to save time.
pub(crate) struct Home {
    folder: TempDir,
}

/// What a command left behind.
pub(crate) struct Told {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { folder: TempDir::new().unwrap() }
    }

    /// A home on a machine whose ceilings are known, as after its first measurement; they are measured once for all tests.
    pub(crate) fn calibrated() -> Home {
        static DATABASE: OnceLock<Vec<u8>> = OnceLock::new();
        let database = DATABASE.get_or_init(|| {
            let home = Home::new();
            home.fine(&["calibrate", "--quiet"]);
            home.fine(&["calibrate", "--threads", "1", "--quiet"]);
            fs::read(home.database()).unwrap()
        });
        let home = Home::new();
        fs::write(home.database(), database).unwrap();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("runs.db")
    }

    /// The command with this home and nothing of the caller's environment that it reads.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_modelmeter"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("MODELMETER_CACHE", shared_cache())
            .env("MODELMETER_DB", self.database())
            .env("HF_HUB_OFFLINE", "1")
            // Engines of whatever Python the tests happen to run beside are not what is tested.
            .env("MODELMETER_PYTHON", self.path("no-python"))
            .current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Told {
        told(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub(crate) fn fine(&self, arguments: &[&str]) -> Told {
        let told = self.run(arguments);
        assert_eq!(told.status, Some(0), "{arguments:?}\n{}\n{}", told.out, told.err);
        told
    }

    /// Runs a command that must fail with this status and say all of these.
    pub(crate) fn refused(&self, arguments: &[&str], status: i32, says: &[&str]) -> Told {
        let told = self.run(arguments);
        assert_eq!(told.status, Some(status), "{arguments:?}\n{}\n{}", told.out, told.err);
        assert!(told.err.starts_with("error: "), "{}", told.err);
        for text in says {
            assert!(told.err.contains(text), "`{text}` is not in\n{}", told.err);
        }
        assert!(!told.err.contains("panicked"), "{}", told.err);
        told
    }

    /// How many runs are stored.
    pub(crate) fn stored(&self) -> usize {
        if !self.database().exists() {
            return 0;
        }
        let list = self.fine(&["runs", "list", "--json", "--limit", "0"]);
        let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
        list["runs"].as_array().unwrap().len()
    }
}

pub(crate) fn told(output: Output) -> Told {
    Told {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Prepared models; safe to share because they are renamed into place whole.
pub(crate) fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The interpreter of the tests' own environment, with every engine; `make venv` makes it.
pub(crate) fn python() -> String {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    assert!(python.is_file(), "`{}` is missing; `make venv` makes it", python.display());
    python.to_str().unwrap().to_owned()
}

/// Two blocks of `bert`, `gpt2`, `llama` or `vit` at their real width, as transformers saves them; made once for all tests.
pub(crate) fn two_blocks(family: &str) -> String {
    const MAKE: &str = "
import sys, transformers as t
size = dict(hidden_size=768, num_attention_heads=12, num_hidden_layers=2, intermediate_size=3072)
t.BertModel(t.BertConfig(vocab_size=1000, **size)).save_pretrained(sys.argv[1] + '/bert')
t.GPT2LMHeadModel(t.GPT2Config(vocab_size=1000, n_layer=2)).save_pretrained(sys.argv[1] + '/gpt2')
llama = dict(num_key_value_heads=4, vocab_size=1000, max_position_embeddings=2048)
t.LlamaForCausalLM(t.LlamaConfig(**size, **llama)).save_pretrained(sys.argv[1] + '/llama')
t.ViTModel(t.ViTConfig(**size)).save_pretrained(sys.argv[1] + '/vit')
";
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let folder = MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("two-blocks");
        let made = Command::new(python()).args(["-c", MAKE]).arg(&folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        folder
    });
    folder.join(family).to_str().unwrap().to_owned()
}

/// A quick measurement's arguments: eleven runs are the fewest that support a median.
pub(crate) fn quick<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["profile", model, "--runs", "11", "--warmup", "1"];
    arguments.extend_from_slice(more);
    arguments
}
