//! What of our environment a worker gets: what engines read, and nothing that only we or the user's other programs need.
//!
//! Our own environment may hold the password of a database, tokens and keys. A worker runs somebody's model, so it is
//! handed what is on the list below, what its engine lists, and nothing else.

use std::{
    env,
    ffi::{OsStr, OsString},
    process::Command,
};

/// Names of variables that are handed on; one that ends with `*` stands for all that begin so.
pub const INHERITED: [&str; 92] = [
    // The user and the language.
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    // Where programs and libraries are; an allocator that is loaded before changes what is measured.
    "PATH",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "MALLOC_*",
    "JEMALLOC_*",
    "TCMALLOC_*",
    "MIMALLOC_*",
    // Python.
    "PYTHON*",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    // A `python3` may be a small program that looks for the real one.
    "PYENV_*",
    "ASDF_*",
    "MISE_*",
    "NIX_LD*",
    // Threads and mathematics.
    "OMP_*",
    "KMP_*",
    "GOMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "BLIS_*",
    "VECLIB_*",
    "NUMEXPR_*",
    "TBB_*",
    "RAYON_*",
    "ONEDNN_*",
    "DNNL_*",
    // What several engines use; variables of one alone are with that engine.
    "TRITON_*",
    "XLA_*",
    "TF_*",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "HF_MODULES_CACHE",
    "TRANSFORMERS_CACHE",
    "TRANSFORMERS_OFFLINE",
    "TRANSFORMERS_VERBOSITY",
    "SAFETENSORS_*",
    // Compilers, for engines that compile.
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    // GPUs and other devices.
    "CUDA_*",
    "CUDNN_*",
    "CUBLAS_*",
    "CUBLASLT_*",
    "NVIDIA_*",
    "NCCL_*",
    "GLOO_*",
    "TENSORRT_*",
    "TRT_*",
    "HIP_*",
    "ROCR_*",
    "ROCM_*",
    "ROCBLAS_*",
    "HIPBLASLT_*",
    "MIOPEN_*",
    "HSA_*",
    "AMD_*",
    "GPU_*",
    "RCCL_*",
    "ZE_*",
    "ZES_*",
    "SYCL_*",
    "ONEAPI_*",
    "IPEX_*",
    "OCL_*",
    "OPENCL_*",
    "IGC_*",
    "NEOReadDebugKeys",
    "METAL_*",
    "MTL_*",
    // For those who look for a fault.
    "ASAN_*",
    "LLVM_PROFILE_FILE",
];

/// Ends of names that are handed on to nobody, whatever they begin with.
const SECRET: [&str; 6] = ["_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_KEY", "_CREDENTIALS"];

/// Variables that list folders, from which code is loaded.
const FOLDERS: [&str; 5] =
    ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONPATH"];

/// Our own variables that may hold a password.
const OWN_SECRETS: [&str; 1] = ["MODELMETER_DB"];

/// What of our environment a worker gets.
#[must_use]
pub fn inherited() -> Vec<(OsString, OsString)> {
    select(env::vars_os(), &INHERITED)
}

/// What of our environment an engine's worker gets beside that: what is on the engine's own list.
#[must_use]
pub fn inherited_beside(names: &[&str]) -> Vec<(OsString, OsString)> {
    select(env::vars_os(), names)
}

/// Gives a program that the user named all of the user's environment, less our own secrets.
pub fn keep_secrets(command: &mut Command) -> &mut Command {
    for (name, value) in env::vars_os() {
        if is_own_secret(&name, &value) {
            command.env_remove(name);
        }
    }
    command
}

/// The address of a server may hold a password; the path of a file may be needed to look into it.
fn is_own_secret(name: &OsStr, value: &OsStr) -> bool {
    OWN_SECRETS.iter().any(|own| name == *own) && value.to_string_lossy().contains("://")
}

fn select(
    variables: impl Iterator<Item = (OsString, OsString)>,
    list: &[&str],
) -> Vec<(OsString, OsString)> {
    variables.filter(|(name, _)| is_inherited(name, list)).map(without_current_folder).collect()
}

fn is_inherited(name: &OsStr, list: &[&str]) -> bool {
    let Some(name) = name.to_str() else { return false };
    let matches = |known: &&str| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == *known,
    };
    list.iter().any(matches) && !SECRET.iter().any(|end| name.ends_with(end))
}

/// An empty or relative entry means the folder somebody happens to stand in, whose files are nobody's choice.
fn without_current_folder((name, value): (OsString, OsString)) -> (OsString, OsString) {
    if !FOLDERS.iter().any(|known| name == *known) {
        return (name, value);
    }
    let absolute = env::split_paths(&value).filter(|folder| folder.is_absolute());
    // Joining fails only where an entry holds a colon, which splitting has just taken away.
    let value = env::join_paths(absolute).unwrap_or_default();
    (name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let text = |value: OsString| value.into_string().unwrap();
        let list: Vec<&str> = INHERITED.into_iter().chain(["ENGINE*"]).collect();
        select(variables, &list)
            .into_iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    #[test]
    fn secrets_of_the_parent_stay_with_the_parent() {
        let secret = [
            ("MODELMETER_DB", "postgres://ann:hunter2@db/runs"),
            ("HF_TOKEN", "hf_x"),
            ("HUGGING_FACE_HUB_TOKEN", "hf_x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("GITHUB_TOKEN", "x"),
            ("PGPASSWORD", "x"),
            ("SSH_AUTH_SOCK", "/run/x"),
            ("MODELMETER_PYTHON", "/usr/bin/python3"),
            // They begin as engines' variables do.
            ("ENGINE_SERVER_TOKEN", "x"),
            ("ROCM_REGISTRY_PASSWORD", "x"),
            ("NVIDIA_API_KEY", "x"),
        ];
        assert_eq!(selected(&secret), []);
    }

    #[test]
    fn a_program_of_the_users_gets_all_but_the_password_of_our_database() {
        let is_secret = |name: &str, value: &str| is_own_secret(name.as_ref(), value.as_ref());
        assert!(is_secret("MODELMETER_DB", "postgres://ann:hunter2@db/runs"));
        assert!(!is_secret("MODELMETER_DB", "/home/ann/runs.db"));
        assert!(!is_secret("HF_TOKEN", "hf_x"), "the user's own are the user's affair");
    }

    #[test]
    fn what_engines_read_is_handed_on() {
        let read = [
            ("HOME", "/home/ann"),
            ("LC_ALL", "C.UTF-8"),
            ("OMP_NUM_THREADS", "2"),
            ("CUDA_VISIBLE_DEVICES", "1"),
            ("LD_PRELOAD", "/usr/lib/libjemalloc.so.2"),
            ("PYTHONHASHSEED", "0"),
            ("ENGINE_CACHE_DIR", "/cache"),
        ];
        let kept = selected(&read);
        assert_eq!(kept.len(), read.len(), "{kept:?}");
    }

    #[test]
    fn the_folder_somebody_stands_in_is_no_place_for_programs_or_libraries() {
        let before = [
            ("PATH", ":/usr/bin:.:bin:/bin:"),
            ("LD_LIBRARY_PATH", ":/opt/lib"),
            ("PYTHONPATH", "./packages:"),
            ("CUDA_PATH", "cuda"),
        ];
        let after = [
            ("PATH", "/usr/bin:/bin"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
            ("PYTHONPATH", ""),
            ("CUDA_PATH", "cuda"),
        ];
        let after = after.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(selected(&before), after);
    }

    #[test]
    fn every_name_stands_on_the_list_once() {
        for (place, name) in INHERITED.iter().enumerate() {
            assert!(!INHERITED[..place].contains(name), "{name}");
        }
    }
}
