//! What is refused, and in which words.

use crate::{dense, load, places, request, write};
use engine::{Availability, Engine, EngineErrorKind, Loader, Places};
use modelmeter_engine_browser::Browser;
use types::{Device, Precision};

#[test]
fn without_a_browser_or_a_runtime_the_way_to_them_is_said() {
    let nothing = Places::default();
    let Availability::Unavailable { why, hint } = Browser.availability(&nothing) else {
        panic!("available without anything")
    };
    assert!(why.contains("not installed") && hint.contains("engines install browser"));
    assert!(Browser.devices(&nothing).is_empty());
    let mut named = places();
    named.libraries.insert("browser".into(), "/no/such/browser".into());
    let Availability::Unavailable { why, .. } = Browser.availability(&named) else {
        panic!("available without a browser")
    };
    assert!(why.contains("/no/such/browser"), "{why}");
}

#[test]
fn what_it_cannot_do_is_refused_before_a_browser_starts() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write(folder.path(), &dense());
    let refused = |request| Browser.load(&request).err().unwrap();
    let error = refused(request(&onnx, Device::Cpu));
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    let mut half = request(&onnx, Device::Wasm);
    half.precision = Precision::Fp16;
    assert!(refused(half).to_string().contains("fp16 on `wasm`"));
    let mut strange = request(&onnx, Device::Wasm);
    strange.options.settings.insert("speed".into(), "max".into());
    assert!(refused(strange).to_string().contains("no setting `speed`"));
    let mut device = request(&onnx, Device::Webnn);
    device.options.settings.insert("webnn.device".into(), "tpu".into());
    assert!(refused(device).to_string().contains("cannot be `tpu`"));
    let error = load(&folder.path().join("missing.onnx"), Device::Wasm).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::BadModel);
}

#[test]
fn a_second_installation_fetches_nothing() {
    let installed = places().installed.unwrap();
    let mut listen = |_: u64, _: Option<u64>, note: &str| panic!("{note}");
    let installer = Browser.installer().unwrap();
    let folder = installer.install(&Places::default(), &installed, None, &mut listen).unwrap();
    assert!(folder.ends_with("browser/1.30.0"), "{}", folder.display());
    assert!(!Browser.devices(&places()).contains(&Device::Cpu));
}
