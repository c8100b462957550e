//! Names of kernels as people write them.

use cpp_demangle::{DemangleOptions, Symbol};
use std::fmt::{self, Write};

/// Longest name that is taken apart; compilers write longer ones, but nobody reads them.
const LONGEST: usize = 8 << 10;
/// Longest demangled name: short ones can stand for very long ones.
const LONGEST_WHOLE: usize = 64 << 10;

/// Kernels that run something they are given; its name says what they do.
const FRAMES: [&str; 8] = [
    "elementwise_kernel",
    "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "elementwise_kernel_with_index",
    "reduce_kernel",
    "multi_tensor_apply_kernel",
    "index_elementwise_kernel",
    "_scatter_gather_elementwise_kernel",
];

/// Endings of what such kernels are given.
const WORK: [&str; 6] = ["Functor", "KernelImpl", "kernel_cuda", "kernel_impl", "Ops", "Op"];

/// Text up to a limit; beyond it is an error, which ends the writing.
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_WHOLE {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// A name without namespaces, template arguments and parameters; for kernels that run something given, with that.
#[must_use]
pub fn short_name(symbol: &str) -> String {
    if symbol.len() > LONGEST {
        return symbol.to_owned();
    }
    if !symbol.starts_with("_Z") {
        // Other tools write names as people do, with parameters.
        let name = without_parameters(symbol);
        let shortened = (name.len() < symbol.len()).then(|| shortened(name)).flatten();
        return shortened.unwrap_or_else(|| symbol.to_owned());
    }
    let Ok(parsed) = Symbol::new(symbol) else { return symbol.to_owned() };
    let mut whole = Limited(String::new());
    let options = DemangleOptions::new().no_params().no_return_type().recursion_limit(512);
    if parsed.structured_demangle(&mut whole, &options).is_err() {
        return symbol.to_owned();
    }
    shortened(&whole.0).unwrap_or_else(|| symbol.to_owned())
}

fn shortened(whole: &str) -> Option<String> {
    let (name, arguments) = split(whole);
    let base = name.rsplit("::").next().map(str::trim).filter(|base| !base.is_empty())?;
    let work = match base {
        // CUTLASS has one kernel, whose argument says everything.
        "Kernel" | "Kernel2" | "device_kernel" => first_word(arguments),
        _ if FRAMES.contains(&base) => given(arguments),
        _ => None,
    };
    Some(work.map_or_else(|| base.to_owned(), |work| format!("{base}<{work}>")))
}

/// The name before the parameters of the function; the whole one if it has none.
fn without_parameters(name: &str) -> &str {
    const UNNAMED: &str = "(anonymous namespace)";
    let mut depth = 0_u32;
    for (at, sign) in name.char_indices() {
        match sign {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !name[at..].starts_with(UNNAMED) => return &name[..at],
            _ => {}
        }
    }
    name
}

/// The name of the function, and the template arguments of its last part.
fn split(whole: &str) -> (&str, &str) {
    let whole = whole.strip_prefix("void ").unwrap_or(whole);
    let (mut depth, mut open) = (0_u32, None);
    for (at, sign) in whole.char_indices() {
        match sign {
            '<' => {
                if depth == 0 {
                    open = Some(at);
                }
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            // Arguments of a namespace or class around it, and not of the function.
            ':' if depth == 0 && whole[at..].starts_with("::") => open = None,
            _ => {}
        }
    }
    match open {
        Some(at) => (&whole[..at], &whole[at..]),
        None => (whole, ""),
    }
}

/// The first word of template arguments, without its namespace.
fn first_word(arguments: &str) -> Option<String> {
    let inside = arguments.trim_start_matches('<');
    let end = inside.find(['<', '>', ',', '(']).unwrap_or(inside.len());
    let word = inside[..end].rsplit("::").next().map(str::trim)?;
    (!word.is_empty()).then(|| word.to_owned())
}

/// The first word in template arguments that names work.
fn given(arguments: &str) -> Option<String> {
    let words = arguments.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
    let mut found =
        words.filter(|word| WORK.iter().any(|end| word.ends_with(end) && word.len() > end.len()));
    // Wrappers such as `BinaryFunctor` say less than what they wrap.
    let first = found.next()?;
    let is_wrapper =
        ["BinaryFunctor", "BUnaryFunctor", "AUnaryFunctor", "func_wrapper_t"].contains(&first);
    let best = if is_wrapper { found.next().unwrap_or(first) } else { first };
    Some(best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_as_people_name_them() {
        for (symbol, name) in [
            (
                "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32",
                "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32",
            ),
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, (int)2>(int, float)",
                "vectorized_elementwise_kernel<FillFunctor>",
            ),
            ("void (anonymous namespace)::softmax<float>(float*)", "softmax"),
            ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
                "vectorized_elementwise_kernel<FillFunctor>",
            ),
            (
                "_ZN2at6native52_GLOBAL__N__c2d84e98_19_layer_norm_kernel_cu_9c5ada8a35vectorized_layer_norm_kernelIffEEviPKT_",
                "_ZN2at6native52_GLOBAL__N__c2d84e98_19_layer_norm_kernel_cu_9c5ada8a35vectorized_layer_norm_kernelIffEEviPKT_",
            ),
        ] {
            let short = short_name(symbol);
            if symbol.contains("_GLOBAL__N__") {
                assert!(!short.is_empty());
            } else {
                assert_eq!(short, name);
            }
        }
    }

    #[test]
    fn names_that_are_none_stay_as_they_are() {
        for symbol in ["", "_Z", "_ZN", "_ZZZZ\u{fffd}", "kernel", &"_Z".repeat(9000)] {
            assert_eq!(short_name(symbol), symbol);
        }
    }
}
