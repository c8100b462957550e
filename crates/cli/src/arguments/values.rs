//! How values on the command line are read.

use super::Input;
use modelmeter::{GivenValues, InputShape};
use std::{path::PathBuf, time::Duration};
use types::parse_duration;

pub(crate) fn parse_input(text: &str) -> Result<Input, String> {
    const FORMS: &str = "write it as x=4x3x224x224, ids=0..255 or x=@file.npy";
    let file = text.split_once("=@").map(|(name, file)| (name, GivenValues::File(file.into())));
    let (name, what) = match file {
        Some((name, GivenValues::File(file))) if file.as_os_str().is_empty() => {
            return Err(format!("the file is missing after `{name}=@`"));
        }
        Some((name, file)) => (name, Ok(file)),
        None => {
            let (name, what) = text.rsplit_once('=').ok_or(FORMS)?;
            (name, Err(what))
        }
    };
    if name.is_empty() {
        return Err("the input's name is missing before `=`".into());
    }
    let name = name.to_owned();
    match what {
        Ok(file) => Ok(Input::Values(name, file)),
        Err(what) if what.contains("..") => {
            Ok(Input::Values(name, GivenValues::Range(what.parse()?)))
        }
        Err(what) => {
            let dim = |dim: &str| {
                let read = dim.trim().parse::<usize>();
                read.map_err(|_| format!("`{dim}` is not a dimension; {FORMS}"))
            };
            let dims = what.split(['x', ',']).map(dim).collect::<Result<Vec<_>, _>>()?;
            Ok(Input::Shape(InputShape { name, dims }))
        }
    }
}

pub(crate) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".into()),
    }
}

pub(crate) fn parse_function(text: &str) -> Result<(PathBuf, String), String> {
    match text.rsplit_once(':') {
        Some((file, function)) if !file.is_empty() && !function.is_empty() => {
            Ok((PathBuf::from(file), function.to_owned()))
        }
        _ => Err("write it as file.py:function".into()),
    }
}

/// An engine's own id, also where the name that other tools use was given. Unknown names are refused later, by the
/// command, which lists the engines.
pub(crate) fn parse_engine(text: &str) -> Result<String, String> {
    if text.contains(',') {
        return Err("one engine is measured at a time".into());
    }
    // Where several are compared, each may have a device of its own.
    Ok(match text.split_once(':') {
        Some((engine, device)) => format!("{}:{device}", modelmeter::engine_id(engine)),
        None => modelmeter::engine_id(text).to_owned(),
    })
}

pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    parse_duration(text)
}

/// `5%` or `0.05`.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 0.01),
        None => (text, 1.0),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("`{text}` is not a share; write 1% or 0.01"))?;
    Ok(number * scale)
}

/// A share that a change can have.
pub(crate) fn parse_small(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    let possible = share.is_finite() && (0.0..=100.0).contains(&share);
    possible.then_some(share).ok_or_else(|| format!("`{text}` is not a share; write 10% or 0.1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_times_and_shares_are_read() {
        let shape = |text| match parse_input(text).unwrap() {
            Input::Shape(shape) => shape,
            other => panic!("{other:?}"),
        };
        assert_eq!(shape("x=1x2x3").dims, [1, 2, 3]);
        assert_eq!(shape("a=b=4").name, "a=b");
        let is_file = |input| matches!(input, Input::Values(_, GivenValues::File(_)));
        assert!(is_file(parse_input("x=@a=b.npy").unwrap()));
        assert!(matches!(parse_input("x=0..9").unwrap(), Input::Values(_, GivenValues::Range(_))));
        assert!(parse_input("x=9..0").is_err() && parse_input("x=@").is_err());
        assert!(parse_input("x=1xtwo").unwrap_err().contains("two"));
        assert!(parse_input("1x2").is_err());
        assert_eq!(parse_time("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_time("2m").unwrap(), Duration::from_secs(120));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
        assert!((parse_share("2%").unwrap() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn names_of_engines_from_elsewhere_are_the_engines() {
        for (name, id) in [("ort", "onnxruntime"), ("ONNX", "onnxruntime"), ("rten", "rten")] {
            assert_eq!(parse_engine(name).as_deref(), Ok(id));
        }
        assert_eq!(parse_engine("pytorch").as_deref(), Ok("torch"));
        assert_eq!(parse_engine("ov").as_deref(), Ok("openvino"));
        assert_eq!(parse_engine("auto").as_deref(), Ok("auto"));
        assert!(parse_engine("rten,torch").is_err());
    }
}
