//! What can go wrong in here, by code; the reader puts it into words for people.

/// Why something was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Trouble {
    /// No CUPTI library was found; the text says where it was looked for.
    NoCupti = 1,
    /// The CUPTI library lacks a function; the text names it.
    NoSymbol = 2,
    /// Another tool has CUPTI: the text is what CUPTI answers.
    OtherTool = 3,
    /// CUPTI refused a call: the text is the call and the answer.
    Refused = 4,
    /// The file reached its limit.
    Full = 6,
    /// The program's own profiler got the GPU's records from here on.
    Released = 7,
    /// Graph nodes cannot be followed: the text is what CUPTI answers.
    NoGraphs = 8,
    /// Something of the call list could not be switched on.
    Calls = 9,
    /// Recording never began: the text is how many steps began, a slash, and with which one it would have begun.
    NeverBegan = 10,
}
