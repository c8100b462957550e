//! Wakes one task of the same thread.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    task::{Poll, Waker},
};

/// A flag that one task waits for and others raise.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

impl Signal {
    /// Wakes whoever waits, now or later.
    pub(crate) fn raise(&self) {
        self.raised.set(true);
        if let Some(waker) = self.waiting.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Waits until it is raised, and lowers it.
    pub(crate) async fn wait(&self) {
        poll_fn(|context| {
            if self.raised.replace(false) {
                return Poll::Ready(());
            }
            *self.waiting.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
