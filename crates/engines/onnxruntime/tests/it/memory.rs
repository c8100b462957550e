//! What the library's arena tells of itself.

use crate::{load, models, tensor};
use engine::Untracked;
use types::Elements;

#[test]
fn the_arena_tells_what_an_inference_needs() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::dense("Neg")));
    let mut session = model.session().unwrap();
    let rows = 500_000;
    session.bind(&[tensor("x", &[rows, 2], Elements::F32(vec![1.0; rows * 2]))]).unwrap();
    session.infer().unwrap();
    let record = session.memory_reporter().unwrap().remember(8, &Untracked).unwrap();
    assert_eq!(record.run_nanos.len(), 8);
    let bytes = (rows * 2 * 4) as u64;
    let (peak, used) = (record.peak.value.unwrap().0, record.in_use_peak.value.unwrap().0);
    let (base, reserved) = (record.base.value.unwrap().0, record.reserved_peak.value.unwrap().0);
    // One value is read while the next is made; the library may also give the same buffer to both.
    assert!((bytes..4 * bytes).contains(&peak), "{peak}");
    assert_eq!(used, base + peak);
    assert!(used <= reserved, "{used} of {reserved}");
    assert!(record.asked.value.unwrap() >= 1.0, "{:?}", record.asked);
    assert_eq!(record.levels.len(), 8);
    assert_eq!(record.levels, vec![record.levels[0]; 8], "nothing stays behind");
    assert!(record.layers.why.unwrap().contains("totals"));
    assert!(record.allocations.value.is_none());
}
