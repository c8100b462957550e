//! What every request can reach.

use crate::{
    answer::{Answer, HTML, Refusal},
    assets::Assets,
    frame,
    gauge::Gauge,
    guard::Guard,
    hook::Hook,
    launcher::{Launcher, Program},
    leases::Leases,
    request::Request,
    routes,
    stores::Stores,
    token::Token,
};
use live::Listener;
use modelmeter::Folders;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a server is set up.
pub struct Settings {
    /// Where things are kept.
    pub folders: Folders,
    /// What a browser must know.
    pub token: Token,
    /// Names by which the server may be called, beside those of this machine's loopback.
    pub hosts: Vec<String>,
    /// The path that a proxy puts before everything: `/modelmeter`, or nothing.
    pub base: String,
    /// The program that measures, where the page may start and stop measurements, label and delete runs.
    pub program: Option<Program>,
    /// Who is told of measurements that ended.
    pub hook: Option<Hook>,
}

/// What every request can reach.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) stores: Stores,
    pub(crate) guard: Guard,
    pub(crate) base: String,
    pub(crate) assets: Assets,
    pub(crate) launcher: Option<Launcher>,
    pub(crate) gauge: Gauge,
    pub(crate) leases: Leases,
    live: Mutex<Listener>,
}

impl App {
    pub(crate) fn new(settings: Settings, port: Option<u16>) -> std::io::Result<App> {
        let Settings { folders, token, hosts, base, program, hook: _ } = settings;
        let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let hosts = loopback.into_iter().chain(hosts.iter().map(|host| host.to_ascii_lowercase()));
        let cookie = port.map_or("modelmeter".to_owned(), |port| format!("modelmeter-{port}"));
        // Measurements tell what they do where there is a folder for it; without one, nothing is heard.
        let _ = live::make_folder(&folders.live());
        let launcher = program.map(Launcher::start).transpose()?;
        Ok(App {
            live: Mutex::new(Listener::new(&folders.live())),
            stores: Stores::new(&folders),
            guard: Guard {
                token,
                hosts: hosts.collect(),
                cookie,
                base: base.clone(),
                is_open: launcher.is_some(),
            },
            base,
            assets: Assets::new(),
            launcher,
            gauge: Gauge::default(),
            leases: Leases::default(),
        })
    }

    /// What this user's processes say.
    pub(crate) fn live(&self) -> MutexGuard<'_, Listener> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An address on this server.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The path of cookies.
    pub(crate) fn cookie_path(&self) -> String {
        format!("{}/", self.base)
    }

    /// Answers a request that may be answered; it may take as long as the database does.
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        routes::answer(self, request).unwrap_or_else(|refusal| self.refuse(request, &refusal))
    }

    /// Says why there is nothing else: a page for people, JSON for programs.
    pub(crate) fn refuse(&self, request: &Request, refusal: &Refusal) -> Answer {
        match request.path.first().map(String::as_str) {
            Some("api" | "metrics" | "events") if !request.wants_page => refusal.json(),
            _ => {
                let page = frame::refusal(self, refusal, request.is_linked_elsewhere);
                Answer { status: refusal.status, ..Answer::new(HTML, page) }
            }
        }
    }
}
