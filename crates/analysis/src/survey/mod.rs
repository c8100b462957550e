//! What many runs say together: `analyse` puts them into cells and beside each other, `recommend` chooses among them.
//!
//! Rows come in one by one, in any order, and only the newest few of each cell are kept.

mod against;
mod analyse;
mod candidates;
mod cells;
mod front;
mod gaps;
mod limits;
mod margin;
mod pooling;
mod prices;
mod recommend;
mod scaling;
mod selection;

pub use against::against;
pub use analyse::analyse;
pub(crate) use cells::key_of;
pub use cells::{Cells, MOST_RUNS};
pub use limits::{LimitError, parse_memory, parse_slo};
pub(crate) use margin::alternate;
pub use prices::{PricesError, parse_prices};
pub use recommend::recommend;
pub use scaling::NEARLY;
pub use selection::Selection;
