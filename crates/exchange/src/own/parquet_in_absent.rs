//! Built without the feature `parquet`: its files are not read.

use crate::Problem;
use types::Run;

pub(crate) fn read<R>(
    _file: &str,
    _input: R,
) -> Result<impl Iterator<Item = Result<Run, Problem>> + use<R>, Problem> {
    let why = "is Parquet, which this build cannot read: it lacks the feature `parquet`";
    Err::<std::iter::Empty<_>, _>(Problem::file(why))
}
