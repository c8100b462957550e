//! What a plan asks an engine before it measures.

use types::{Device, Precision};

/// What an engine offers on this machine.
pub trait EngineOffer {
    /// The engine's id.
    fn id(&self) -> &str;

    /// Why it is not here; `None` if it is.
    fn absence(&self) -> Option<String>;

    /// The devices it can use here, the best first.
    fn devices(&self) -> Vec<Device>;

    /// The device that a wish means to this engine.
    fn device_meant_by(&self, wish: Device) -> Device;

    /// Why it cannot compute so on this device; `None` if it can.
    fn refusal(&self, device: Device, precision: Precision) -> Option<String>;

    /// The number format of a model that nobody asked another one of: that of the file, where the engine runs no other.
    fn usual_precision(&self) -> Precision {
        Precision::Fp32
    }

    /// Whether it can train.
    fn trains(&self) -> bool;

    /// Whether it generates text token by token.
    fn generates(&self) -> bool {
        false
    }
}
