//! What goes on, looked at for all who listen, and only while somebody does: by one thread at the journals, by another at the
//! database, which may take its time.

use crate::{app::App, leases, views};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use store::Store;
use tokio::sync::watch;

/// How often the journals are read while somebody listens.
const LOOK: Duration = Duration::from_millis(250);

/// How often the database is asked whether it changed.
const ASK: Duration = Duration::from_millis(500);

/// While samples are taken the page is told less often: a browser on the same machine is other work.
const CALM: Duration = Duration::from_secs(1);

/// What goes on at one moment. Whoever is late sees the newest one and none of those between.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moment {
    /// Grows with every change.
    pub(crate) number: u64,
    /// The inner part of the view of now.
    pub(crate) now: Arc<str>,
    /// Changes when what is stored changes.
    pub(crate) data: u64,
    /// Whether the server ends.
    pub(crate) is_over: bool,
}

/// Begins to look; ends with the last sender.
pub(crate) fn start(app: Arc<App>, sender: Arc<watch::Sender<Moment>>) -> std::io::Result<()> {
    let (asking, teller) = (Arc::clone(&app), Arc::clone(&sender));
    let spawn = |name: &str| thread::Builder::new().name(name.into());
    spawn("database").spawn(move || ask(&asking, &teller))?;
    spawn("feed").spawn(move || look(&app, &sender)).map(drop)
}

/// Asks the database what changed, and who measures elsewhere.
fn ask(app: &App, sender: &watch::Sender<Moment>) {
    let mut change = Change::default();
    while !sender.borrow().is_over {
        if sender.receiver_count() == 0 {
            // Nobody looks: the next one who does gets everything with the page itself.
            change = Change::default();
            thread::sleep(LOOK);
            continue;
        }
        let is_new = change.is_seen(app);
        app.leases.look(&app.stores, is_new);
        if is_new {
            sender.send_modify(|moment| {
                moment.number += 1;
                moment.data += 1;
            });
        }
        thread::sleep(ASK);
    }
}

fn look(app: &App, sender: &watch::Sender<Moment>) {
    let mut told = None::<Instant>;
    let mut shape = String::new();
    while !sender.borrow().is_over {
        if sender.receiver_count() == 0 {
            thread::sleep(LOOK);
            continue;
        }
        let activities = {
            let mut live = app.live();
            live.listen();
            live.activities()
        };
        let known = app.leases.known();
        // What is measured and how far that is may wait a second; that something begins or ends may not.
        let outline = views::now::outline(&activities) + &leases::outline(&known);
        let is_other = outline != shape;
        if is_other || told.is_none_or(|at| at.elapsed() >= CALM) {
            shape = outline;
            told = Some(Instant::now());
            let html = views::now::inner(app, &activities, &known).finish();
            sender.send_if_modified(|moment| {
                if *moment.now == *html {
                    return false;
                }
                moment.number += 1;
                moment.now = Arc::from(html);
                true
            });
        }
        thread::sleep(LOOK);
    }
}

/// Whether what is stored changed since it was looked at last.
#[derive(Default)]
struct Change {
    store: Option<Store>,
    version: Option<i64>,
    was_there: Option<bool>,
}

impl Change {
    fn is_seen(&mut self, app: &App) -> bool {
        self.store = self.store.take().filter(Store::is_in_place);
        let mut is_new = false;
        if self.store.is_none() {
            self.store = app.stores.open().ok();
            is_new = self.was_there.is_some_and(|was| was || self.store.is_some());
            self.version = None;
        }
        self.was_there = Some(self.store.is_some());
        let version = self.store.as_ref().and_then(|store| store.version().ok());
        if version.is_none() {
            // It will be opened anew.
            self.store = None;
        }
        // The first look counts as news: whoever came while nobody looked may have missed something.
        is_new |= version.is_some() && self.version != version;
        self.version = version;
        is_new
    }
}
