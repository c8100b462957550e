//! Predicts times that were never measured, from times that were, and says how far to trust them.
//!
//! Physics comes first (a roofline with two learned efficiencies), trees learn what is left, measurements of the same model
//! elsewhere correct it, and conformal intervals say how wrong the answer may be. Whole machines or families are held out to
//! learn that, never single rows: a row beside its siblings is no question that anybody asks.
//!
//! No SQL and no formatting here.

mod anchor;
mod backtest;
mod catalogue;
mod error;
mod family;
mod learn;
mod observation;
mod physics;
mod predictor;
mod processor;
mod quantile;
mod read;
mod runs;
mod score;
mod seen;
mod trees;

pub use backtest::{backtest, cross_validate, predict_all};
pub use catalogue::{Catalogue, Hardware};
pub use error::Error;
pub use learn::{Effort, LEVEL, Predicted, Situation};
pub use observation::{Domain, Observation};
pub use predictor::{Predictor, Refused};
pub use read::{PictureCase, PictureQuestion, Tables};
pub use runs::{Answer, Calibrated, Case, Exploration, Kept, Known, Learned, Next, Reach, explore};
pub use score::{Backtest, KindScore, MachineScore, Overall, Score};
