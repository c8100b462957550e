//! Why the clock of a GPU is held back: codes, in the words that the driver has for them.

use serde::{Deserialize, Serialize};

/// Why the clock of a GPU is held back, or would be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ThrottleReason {
    /// Nothing runs on it.
    GpuIdle,
    /// Somebody set lower clocks.
    ApplicationsClocksSetting,
    /// The display needs other clocks.
    DisplayClockSetting,
    /// The limit of its power.
    SwPowerCap,
    /// Heat, or a failing supply of power.
    HwSlowdown,
    /// It waits for another card.
    SyncBoost,
    /// Heat, as the driver sees it.
    SwThermalSlowdown,
    /// Heat, as the card sees it.
    HwThermalSlowdown,
    /// The supply of power says so.
    HwPowerBrakeSlowdown,
    /// What this version has no name for.
    Other(String),
}

impl ThrottleReason {
    const NAMED: [ThrottleReason; 9] = [
        ThrottleReason::GpuIdle,
        ThrottleReason::ApplicationsClocksSetting,
        ThrottleReason::DisplayClockSetting,
        ThrottleReason::SwPowerCap,
        ThrottleReason::HwSlowdown,
        ThrottleReason::SyncBoost,
        ThrottleReason::SwThermalSlowdown,
        ThrottleReason::HwThermalSlowdown,
        ThrottleReason::HwPowerBrakeSlowdown,
    ];

    /// The driver's words, as stored runs have them.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            ThrottleReason::GpuIdle => "gpu idle",
            ThrottleReason::ApplicationsClocksSetting => "applications clocks setting",
            ThrottleReason::DisplayClockSetting => "display clock setting",
            ThrottleReason::SwPowerCap => "sw power cap",
            ThrottleReason::HwSlowdown => "hw slowdown",
            ThrottleReason::SyncBoost => "sync boost",
            ThrottleReason::SwThermalSlowdown => "sw thermal slowdown",
            ThrottleReason::HwThermalSlowdown => "hw thermal slowdown",
            ThrottleReason::HwPowerBrakeSlowdown => "hw power brake slowdown",
            ThrottleReason::Other(words) => words,
        }
    }

    /// Whether times under it say nothing: heat or a failing supply. A power cap belongs to the card.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            ThrottleReason::HwSlowdown
                | ThrottleReason::SwThermalSlowdown
                | ThrottleReason::HwThermalSlowdown
        )
    }
}

impl From<String> for ThrottleReason {
    fn from(words: String) -> ThrottleReason {
        let named = ThrottleReason::NAMED.into_iter().find(|reason| reason.words() == words);
        named.unwrap_or(ThrottleReason::Other(words))
    }
}

impl From<ThrottleReason> for String {
    fn from(reason: ThrottleReason) -> String {
        reason.words().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_stored_runs_are_read_and_written_as_they_are() {
        let stored = r#"["gpu idle","hw thermal slowdown","none"]"#;
        let read: Vec<ThrottleReason> = serde_json::from_str(stored).unwrap();
        let other = ThrottleReason::Other("none".into());
        assert_eq!(read, [ThrottleReason::GpuIdle, ThrottleReason::HwThermalSlowdown, other]);
        assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        for reason in ThrottleReason::NAMED {
            assert_eq!(ThrottleReason::from(reason.words().to_owned()), reason);
        }
    }
}
