//! What machines and devices cost, as people write it in a TOML file.
//!
//! ```toml
//! currency = "EUR"
//!
//! [devices]        # wherever they are
//! cpu = 0.10
//! cuda = 2.50
//!
//! [machines]
//! bench = 1.20     # the whole machine, whichever device is used
//! gpu1.cuda = 3.10 # this device of this machine
//! ```

use thiserror::Error;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use types::{Device, Price, Prices};

/// What prices are in where the file does not say.
const CURRENCY: &str = "USD";

const KEYS: [&str; 3] = ["currency", "devices", "machines"];

/// Devices that people price, for the one that was meant.
const DEVICES: [&str; 16] = [
    "cpu", "cuda", "rocm", "mps", "xpu", "npu", "tensorrt", "migraphx", "openvino", "coreml",
    "directml", "xnnpack", "webgpu", "webnn", "wasm", "gpu",
];

/// Why prices could not be understood, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct PricesError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
    /// What was probably meant.
    pub near: Option<String>,
}

impl PricesError {
    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> String {
        match &self.near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "prices per hour: `[devices]` with lines like `cuda = 2.50`, `[machines]` with \
                     lines like `bench = 1.20` or `gpu1.cuda = 3.10`"
                    .into()
            }
        }
    }
}

/// Reads prices: an optional `currency`, `[devices]` and `[machines]`, dollars an hour where no currency is named.
///
/// # Errors
/// Where the text is no TOML or names something is unknown: on which line, and what was meant.
pub fn parse_prices(text: &str) -> Result<Prices, PricesError> {
    let reader = Reader { text };
    let table = DeTable::parse(text).map_err(|error| PricesError {
        line: reader.line(error.span().unwrap_or_default().start),
        message: error.message().trim().to_owned(),
        near: None,
    })?;
    let mut prices = Prices { currency: CURRENCY.into(), prices: Vec::new() };
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "currency" => {
                let name = value.get_ref().as_str().map(str::trim).filter(|name| !name.is_empty());
                let wrong = "`currency` must be a word in quotes, like \"EUR\"";
                prices.currency = name.ok_or_else(|| reader.wrong(value, wrong))?.to_owned();
            }
            "devices" => {
                let devices = reader.table(value, "`devices` must be a table of prices")?;
                prices.prices.extend(reader.devices(devices, None)?);
            }
            "machines" => {
                let machines = reader.table(value, "`machines` must be a table of prices")?;
                prices.prices.extend(reader.machines(machines)?);
            }
            other => {
                // Somebody may have left out the heading.
                let near = match other.parse::<Device>() {
                    Ok(_) => Some("[devices]".into()),
                    Err(_) => nearest(other, &KEYS),
                };
                let message = format!("unknown key `{other}`; known keys: {}", quoted(&KEYS));
                return Err(PricesError { near, ..reader.wrong(key, message) });
            }
        }
    }
    match prices.prices.is_empty() {
        true => {
            let message = "it contains no price".to_owned();
            Err(PricesError { line: 1, message, near: None })
        }
        false => Ok(prices),
    }
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn machines(&self, machines: &DeTable<'_>) -> Result<Vec<Price>, PricesError> {
        let mut prices = Vec::new();
        for (name, value) in machines {
            let machine = name.get_ref().trim();
            if machine.is_empty() {
                return Err(self.wrong(name, "a machine without a name"));
            }
            match value.get_ref() {
                DeValue::Table(devices) => prices.extend(self.devices(devices, Some(machine))?),
                _ => prices.push(Price {
                    machine: Some(machine.to_owned()),
                    device: None,
                    per_hour: self.price(machine, value)?,
                }),
            }
        }
        Ok(prices)
    }

    fn devices(
        &self,
        devices: &DeTable<'_>,
        machine: Option<&str>,
    ) -> Result<Vec<Price>, PricesError> {
        let price = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let typed: &std::borrow::Cow<'_, str> = name.get_ref();
            let device = self.device(typed).ok_or_else(|| {
                let kind = typed.split(':').next().unwrap_or(typed);
                let near = nearest(kind, &DEVICES);
                let message = format!("`{typed}` is not a device, like cpu, cuda or \"cuda:1\"");
                PricesError { near, ..self.wrong(name, message) }
            })?;
            let per_hour = self.price(typed, value)?;
            Ok(Price { machine: machine.map(str::to_owned), device: Some(device), per_hour })
        };
        devices.iter().map(price).collect()
    }

    /// A kind of device, or one of them by its number.
    fn device(&self, typed: &str) -> Option<String> {
        let device = typed.parse::<Device>().ok().filter(|device| *device != Device::Auto)?;
        let name = device.to_string();
        match typed.contains(':') {
            true => Some(name),
            // `cuda` is every such device, though it means the first where one is asked for.
            false => name.split(':').next().map(str::to_owned),
        }
    }

    fn price(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<f64, PricesError> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        number.filter(|number| *number > 0.0 && number.is_finite()).ok_or_else(|| {
            let typed = self.text.get(value.span()).unwrap_or_default().trim();
            let message =
                format!("the price per hour of `{name}` must be a number above 0, not `{typed}`");
            self.wrong(value, message)
        })
    }

    fn table<'v, 'i>(
        &self,
        value: &'v Spanned<DeValue<'i>>,
        wrong: &str,
    ) -> Result<&'v DeTable<'i>, PricesError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(value, wrong))
    }

    fn wrong<T>(&self, place: &Spanned<T>, message: impl Into<String>) -> PricesError {
        PricesError { line: self.line(place.span().start), message: message.into(), near: None }
    }

    /// The line that a byte stands on, counted from 1.
    fn line(&self, byte: usize) -> usize {
        let before = self.text.as_bytes().iter().take(byte);
        before.filter(|byte| **byte == b'\n').count() + 1
    }
}

fn nearest(typed: &str, known: &[&str]) -> Option<String> {
    types::nearest(typed, known.iter().copied()).map(str::to_owned)
}

fn quoted(names: &[&str]) -> String {
    format!("`{}`", names.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "currency = \"EUR\"\n[devices]\ncpu = 0.1\ncuda = 2\n\"cuda:1\" = 3.5\n\
                         [machines]\nbench = 1.2\ngpu1.cuda = 3.1\n";

    #[test]
    fn devices_and_machines_have_prices() {
        let prices = parse_prices(WHOLE).unwrap();
        assert_eq!(prices.currency, "EUR");
        let of = |machine, host, device| prices.per_hour(machine, host, device);
        assert_eq!(of("m1", "far", Device::Cpu), Some(0.1));
        assert_eq!(of("m1", "far", Device::Cuda(0)), Some(2.0));
        assert_eq!(of("m1", "far", Device::Cuda(1)), Some(3.5));
        assert_eq!(of("m1", "far", Device::Mps), None);
        assert_eq!(of("m2", "bench", Device::Mps), Some(1.2));
        assert_eq!(of("m2", "bench", Device::Cuda(1)), Some(1.2), "the machine is named");
        assert_eq!(of("m3", "gpu1", Device::Cuda(4)), Some(3.1));
        assert_eq!(of("m3", "gpu1", Device::Cpu), Some(0.1));
        assert_eq!(parse_prices("[devices]\ngpu = 1").unwrap().currency, "USD");
    }

    #[test]
    fn a_typo_is_named_with_its_line_and_what_was_meant() {
        for (text, line, says, near) in [
            ("curency = \"EUR\"\n[devices]\ncpu = 1", 1, "`curency`", Some("currency")),
            ("\n[device]\ncpu = 1", 2, "`device`", Some("devices")),
            ("cpu = 1", 1, "unknown key `cpu`", Some("[devices]")),
            ("[devices]\ncpu = 1\ncuba = 2", 3, "`cuba` is not a device", Some("cuda")),
            ("[devices]\n\"cuda:x\" = 2", 2, "`cuda:x` is not a device", Some("cuda")),
            ("[devices]\nauto = 2", 2, "`auto` is not a device", None),
            ("[devices]\ncpu = \"1\"", 2, "above 0, not `\"1\"`", None),
            ("[devices]\ncpu = -1.5", 2, "above 0, not `-1.5`", None),
            ("[devices]\ncpu = inf", 2, "above 0, not `inf`", None),
            ("[machines]\nbench = 0", 2, "hour of `bench`", None),
            ("[machines.gpu1]\ncud = 2", 2, "`cud` is not a device", Some("cuda")),
            ("devices = 3", 1, "table of prices", None),
            ("currency = 3\n[devices]\ncpu = 1", 1, "word in quotes", None),
            ("[devices]\ncpu = 1\ncpu = 2", 3, "duplicate key", None),
            ("[devices]\ncpu 1", 2, "", None),
            ("", 1, "no price", None),
        ] {
            let error = parse_prices(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.message.contains(says), "{text}: {error}");
            assert_eq!(error.near.as_deref(), near, "{text}: {error}");
            assert!(!error.hint().is_empty());
        }
    }
}
