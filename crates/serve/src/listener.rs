//! No more connections than there is memory for, and none that stays although it says nothing.

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep},
};

/// A listener that takes the next connection when one of the open ones has ended.
pub(crate) struct Limited<L> {
    listener: L,
    permits: Arc<Semaphore>,
    silence: Duration,
}

impl<L> Limited<L> {
    /// `most` connections at the same time; one that is silent for `silence` ends.
    pub(crate) fn new(listener: L, most: usize, silence: Duration) -> Limited<L> {
        Limited { listener, permits: Arc::new(Semaphore::new(most)), silence }
    }
}

impl<L: Listener> Listener for Limited<L> {
    type Io = Held<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let (io, address) = self.listener.accept().await;
        let work = Work::default();
        let timer = Box::pin(sleep(self.silence));
        (Held { io, work, silence: self.silence, timer, _permit: permit }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Answers of a connection that this server works on: as long as there are any, it is not the other side that is silent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work(Arc<AtomicUsize>);

/// One answer that is worked on.
pub(crate) struct Working(Work);

impl Work {
    pub(crate) fn begin(self) -> Working {
        self.0.fetch_add(1, Ordering::Relaxed);
        Working(self)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<L: Listener> Connected<IncomingStream<'_, Limited<L>>> for Work {
    fn connect_info(stream: IncomingStream<'_, Limited<L>>) -> Work {
        stream.io().work.clone()
    }
}

/// A connection that gives its place back when it ends, and ends when it is silent for too long.
pub(crate) struct Held<T> {
    io: T,
    work: Work,
    silence: Duration,
    timer: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<T> Held<T> {
    /// What reading or writing gave; an error where there was nothing to read and no room to write for too long.
    fn timed<R>(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if done.is_ready() {
            self.timer.as_mut().reset(Instant::now() + self.silence);
            return done;
        }
        while self.timer.as_mut().poll(context).is_ready() {
            if self.work.0.load(Ordering::Relaxed) == 0 {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer.as_mut().reset(Instant::now() + self.silence);
        }
        Poll::Pending
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Held<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.io).poll_read(context, buffer);
        self.timed(context, done)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Held<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write(context, bytes);
        self.timed(context, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, extract::ConnectInfo, routing::get};
    use std::{
        io::{Read, Write},
        net::{SocketAddr, TcpStream},
        thread,
    };

    const SHORT: Duration = Duration::from_millis(300);

    /// A server with room for two connections and little patience, whose answers take longer than that.
    fn serve() -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let answer = |ConnectInfo(work): ConnectInfo<Work>| async move {
            let _working = work.begin();
            tokio::time::sleep(3 * SHORT).await;
            "answer"
        };
        let router =
            Router::new().route("/", get(answer)).into_make_service_with_connect_info::<Work>();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(Limited::new(listener, 2, SHORT), router).await
            })
        });
        address
    }

    #[test]
    fn silent_connections_end_and_leave_their_places_to_others() {
        let address = serve();
        let connect = |text: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        };
        // One that says nothing, and one that says half of it.
        let mut silent = [connect(""), connect("GET / HTTP/1.1\r\nhost: x\r\n")];
        let mut third = connect("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let mut text = String::new();
        third.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("answer"), "{text}");
        for stream in &mut silent {
            // A connection that was ended gives nothing more.
            assert!(matches!(stream.read(&mut [0; 100]), Ok(0) | Err(_)));
        }
    }
}
