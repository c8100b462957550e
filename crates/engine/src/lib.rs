//! The socket every engine plugs into.
//!
//! An engine is three types because the three steps cost differently: [`Engine`] (is it here, what can it do),
//! [`LoadedModel`] (the weights are in), [`Session`] (inputs are bound, run it). Optional abilities are
//! `Option<&mut dyn …>`, never methods that refuse. Here also live the worker protocol, the scripted
//! [`FakeEngine`](fake::FakeEngine) and the conformance suite. No engine is named here, and nothing here measures.
