//! The arguments of a limit on memory.

use clap::Args;
use modelmeter::{Bytes, LimitedBy};

/// How much memory a measurement may use.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine", mut_arg("limit_by", |arg| arg.requires("memory_limit")))]
pub(crate) struct LimitArguments {
    /// Memory limit of the worker in MiB, on the device if it has its own memory
    #[arg(long, value_name = "MIB", value_parser = parse_mebibytes)]
    pub(crate) memory_limit: Option<Bytes>,
    #[command(flatten)]
    pub(crate) means: LimitMeans,
}

/// What enforces the limit.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct LimitMeans {
    /// How the memory limit is enforced: cgroup, rlimit [default: cgroup if available]
    #[arg(long, value_name = "MEANS")]
    pub(crate) limit_by: Option<LimitedBy>,
}

/// `2048`, `2048MiB` or `2GiB`.
pub(crate) fn parse_mebibytes(text: &str) -> Result<Bytes, String> {
    let wrong = || format!("`{text}` is not an amount of memory; write MiB such as 2048, or 2GiB");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes == 0 { Err("the limit must be more than 0 MiB".into()) } else { Ok(Bytes(bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_mebibytes_unless_said() {
        assert_eq!(parse_mebibytes("2048"), Ok(Bytes(2 << 30)));
        assert_eq!(parse_mebibytes("2GiB"), Ok(Bytes(2 << 30)));
        assert_eq!(parse_mebibytes("64 MiB"), Ok(Bytes(64 << 20)));
        for wrong in ["lots", "", "2MB", "1.5", "-1", "99999999999999999999", "20000000000000"] {
            assert!(parse_mebibytes(wrong).unwrap_err().contains("2048"), "{wrong}");
        }
        assert!(parse_mebibytes("0").unwrap_err().contains("more than 0 MiB"));
    }
}
