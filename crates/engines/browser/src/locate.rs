//! Finds a browser and the files of ONNX Runtime Web, without starting anything.

use crate::ID;
use engine::{
    Places,
    found::{Absent, installed_versions},
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::Device;

/// The variables that name a browser.
pub(crate) const VARIABLES: [&str; 2] = ["MODELMETER_BROWSER", "CHROME_PATH"];

/// Where browsers are installed, beside the folders of libraries.
pub(crate) const FOLDERS: [&str; 6] = [
    "/usr/bin",
    "/usr/local/bin",
    "/snap/bin",
    "/opt/google/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS",
    "/Applications/Chromium.app/Contents/MacOS",
];

/// The programs of browsers that speak the DevTools protocol.
const PROGRAMS: [&str; 8] = [
    "google-chrome",
    "google-chrome-stable",
    "Google Chrome",
    "chromium",
    "chromium-browser",
    "Chromium",
    "chromium-headless-shell",
    "microsoft-edge",
];

/// What an installation of ours consists of: files of the runtime, and a browser.
pub(crate) const RUNTIME: &str = "ort";
pub(crate) const BROWSER: &str = "chromium";

/// Libraries beside a browser of ours, for systems that lack them.
pub(crate) const LIBRARIES: &str = "lib";

/// A file without which the runtime is not there.
pub(crate) const SCRIPT: &str = "ort.jspi.min.mjs";

const INSTALL: &str = "`modelmeter engines install browser` installs it";

/// The runtime's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runtime {
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
}

/// The program of a browser, for this device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Browser {
    pub(crate) program: PathBuf,
}

/// The newest runtime that we installed, else that of a folder of packages that the user named.
pub(crate) fn runtime(places: &Places) -> Result<Runtime, Absent> {
    let own = installed_versions(places, ID).into_iter().map(|folder| folder.join(RUNTIME));
    let named =
        places.node_modules.iter().map(|folder| folder.join("onnxruntime-web").join("dist"));
    let mut found = own.chain(named).filter(|folder| folder.join(SCRIPT).is_file());
    let absent =
        || Absent { why: "ONNX Runtime Web is not installed".to_owned(), hint: INSTALL.to_owned() };
    let folder = found.next().ok_or_else(absent)?;
    let version = version_of(&folder).unwrap_or_else(|| "unknown".to_owned());
    Ok(Runtime { folder, version })
}

/// The version in the description of the package around it.
fn version_of(folder: &Path) -> Option<String> {
    let beside = [folder.join("package.json"), folder.parent()?.join("package.json")];
    let text = beside.iter().find_map(|path| fs::read(path).ok())?;
    let description: Value = serde_json::from_slice(&text).ok()?;
    Some(description["version"].as_str()?.to_owned())
}

/// The browser for a device: the named one, else ours or the system's.
///
/// A browser of ours is the same everywhere and has WebNN. One of the system knows the drivers of its graphics, so it
/// comes first for WebGPU.
pub(crate) fn browser(places: &Places, device: Device) -> Result<Browser, Absent> {
    if let Some(path) = places.libraries.get(ID) {
        return match path.is_file() {
            true => Ok(Browser { program: path.clone() }),
            false => Err(Absent {
                why: format!("`{}` names `{}`, where no browser is", VARIABLES[0], path.display()),
                hint: "give the path of a Chromium or Chrome".to_owned(),
            }),
        };
    }
    let own = installed_versions(places, ID).into_iter();
    let own = own.map(|folder| folder.join(BROWSER).join("chromium"));
    let system =
        PROGRAMS.iter().flat_map(|name| places.system.iter().map(move |folder| folder.join(name)));
    let programs: Vec<PathBuf> = match device {
        Device::Webgpu => system.chain(own).collect(),
        _ => own.chain(system).collect(),
    };
    let found = programs.into_iter().find(|path| path.is_file());
    found.map(|program| Browser { program }).ok_or_else(|| Absent {
        why: "no Chromium or Chrome was found".to_owned(),
        hint: format!("{INSTALL}; or set `{}` to the path of one", VARIABLES[0]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn a_browser_of_ours_comes_first_but_for_the_graphics() {
        let folder = tempfile::tempdir().unwrap();
        let (own, bin) = (folder.path().join("own"), folder.path().join("bin"));
        touch(&own.join("browser/1.30.0/chromium/chromium"));
        touch(&bin.join("chromium"));
        let mut places = Places { system: vec![bin.clone()], ..Places::default() };
        let program = |places: &Places, device| browser(places, device).unwrap().program;
        assert_eq!(program(&places, Device::Wasm), bin.join("chromium"));
        places.installed = Some(own.clone());
        assert!(program(&places, Device::Wasm).starts_with(&own));
        assert!(program(&places, Device::Webgpu).starts_with(&bin));
        places.libraries.insert(ID.into(), bin.join("chromium"));
        assert!(program(&places, Device::Wasm).starts_with(&bin));
        places.libraries.insert(ID.into(), bin.join("nothing"));
        assert!(browser(&places, Device::Wasm).unwrap_err().why.contains("no browser is"));
    }

    #[test]
    fn without_anything_the_way_to_it_is_said() {
        let places = Places::default();
        assert!(runtime(&places).unwrap_err().hint.contains("engines install browser"));
        assert!(browser(&places, Device::Wasm).unwrap_err().why.contains("no Chromium"));
    }

    #[test]
    fn a_runtime_tells_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let dist = folder.path().join("onnxruntime-web/dist");
        touch(&dist.join(SCRIPT));
        fs::write(folder.path().join("onnxruntime-web/package.json"), r#"{"version":"1.30.0"}"#)
            .unwrap();
        let node_modules = vec![folder.path().to_owned()];
        let found = runtime(&Places { node_modules, ..Places::default() }).unwrap();
        assert_eq!((found.folder, found.version.as_str()), (dist, "1.30.0"));
    }
}
