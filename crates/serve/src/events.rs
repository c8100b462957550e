//! What goes on as a stream of events, for pages that stay open.

use crate::feed::Moment;
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, Response, header},
};
use futures_util::stream;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};

/// How often a stream says something where nothing happens, so that nobody between takes it for dead.
const ALIVE: Duration = Duration::from_secs(15);

/// One listener. It keeps the number of what it said last and nothing else, so one that does not read costs nothing.
struct Stream {
    moments: watch::Receiver<Moment>,
    /// What was said last: the number of the moment, and of the data.
    said: Option<(u64, u64)>,
    now: Arc<str>,
    _permit: OwnedSemaphorePermit,
}

/// The stream of events. `last` is the number of the last event that the browser has.
pub(crate) fn stream(
    moments: watch::Receiver<Moment>,
    permit: OwnedSemaphorePermit,
    last: Option<u64>,
) -> Response<Body> {
    let first = Stream { moments, said: None, now: Arc::from(""), _permit: permit };
    let events = stream::unfold((first, last), |(mut stream, last)| async move {
        let text = stream.next(last).await?;
        Some((Ok::<Bytes, Infallible>(Bytes::from(text)), (stream, None)))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that gather answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl Stream {
    /// The next text; `None` when the server ends.
    async fn next(&mut self, last: Option<u64>) -> Option<String> {
        let Some((number, data)) = self.said else {
            let moment = self.moments.borrow_and_update().clone();
            if moment.is_over {
                return None;
            }
            self.said = Some((moment.number, moment.data));
            // Between its page and its stream somebody may have missed a change of what is stored.
            let is_known = last.is_some_and(|last| last == moment.number);
            let again = if is_known { String::new() } else { event(moment.number, "data", "") };
            let now = if !moment.now.is_empty() { self.now_of(&moment) } else { String::new() };
            return Some(format!("retry: 1000\n\n{again}{now}"));
        };
        match timeout(ALIVE, self.moments.changed()).await {
            Err(_) => return Some(": still here\n\n".into()),
            Ok(Err(_)) => return None,
            Ok(Ok(())) => {}
        }
        let moment = self.moments.borrow_and_update().clone();
        if moment.is_over {
            return None;
        }
        self.said = Some((moment.number, moment.data));
        let mut text = String::new();
        if moment.number != number && *self.now != *moment.now {
            text += &self.now_of(&moment);
        }
        if moment.data != data {
            text += &event(moment.number, "data", "");
        }
        Some(if text.is_empty() { ": nothing new\n\n".into() } else { text })
    }

    fn now_of(&mut self, moment: &Moment) -> String {
        self.now = Arc::clone(&moment.now);
        event(moment.number, "now", &moment.now)
    }
}

fn event(number: u64, name: &str, data: &str) -> String {
    let mut text = format!("id: {number}\nevent: {name}\n");
    for line in data.split('\n') {
        text += "data: ";
        text += line;
        text.push('\n');
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_event_stay_in_the_event() {
        let text = event(7, "now", "<p>\nid: 8\n\nevent: data");
        assert_eq!(
            text,
            "id: 7\nevent: now\ndata: <p>\ndata: id: 8\ndata: \ndata: event: data\n\n"
        );
    }
}
