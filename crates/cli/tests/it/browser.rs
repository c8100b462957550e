//! A real Chromium that opens a page and tells what it sees, over its DevTools protocol.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// Where `.ci/chromium` looks too.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser with one tab.
pub(crate) struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: Value,
    calls: u64,
    /// What the browser said without being asked, since the last page was opened.
    pub(crate) events: Vec<Value>,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    pub(crate) fn start() -> Browser {
        let profile = TempDir::new().unwrap();
        let mut child = NAMES
            .iter()
            .find_map(|name| {
                Command::new(name)
                    .args([
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-dev-shm-usage",
                    ])
                    .args(["--no-first-run", "--remote-debugging-port=0", "--hide-scrollbars"])
                    .arg(format!("--user-data-dir={}", profile.path().display()))
                    .arg("about:blank")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .ok()
            })
            .expect("no Chromium is on PATH; `make chromium` installs it");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.ok()?.strip_prefix("DevTools listening on ")?.to_owned()))
            .expect("Chromium did not say where it listens");
        // Nobody may wait for room in the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let place = address.trim_start_matches("ws://").split('/').next().unwrap().to_owned();
        let stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (socket, _) = tungstenite::client(address.as_str(), stream).unwrap();
        let events = Vec::new();
        let session = Value::Null;
        let mut browser = Browser { child, socket, session, calls: 0, events, _profile: profile };
        let tab = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": tab["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", &attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.call("Page.setLifecycleEventsEnabled", &json!({ "enabled": true }));
        browser.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        browser
    }

    /// Asks for something and waits for the answer.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut request = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_null() {
            request["sessionId"] = self.session.clone();
        }
        self.socket.send(Message::text(request.to_string())).unwrap();
        loop {
            let heard = self.hear();
            if heard["id"] == id {
                assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
                return heard["result"].clone();
            }
            self.events.push(heard);
        }
    }

    fn hear(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("Chromium fell silent") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Opens a file in a window of this size and theme, and waits until it is all there.
    pub(crate) fn open(&mut self, path: &Path, size: (u32, u32), theme: &str) {
        self.visit(&format!("file://{}", path.display()), size, theme);
    }

    /// Opens an address in a window of this size and theme, and waits until it is all there.
    pub(crate) fn visit(&mut self, address: &str, (width, height): (u32, u32), theme: &str) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.look("screen", theme);
        self.events.clear();
        let loader = self.call("Page.navigate", &json!({ "url": address }))["loaderId"].clone();
        // A form that was sent just before may still load a page of its own.
        let loaded = |event: &Value| {
            let parameters = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && parameters["name"] == "load"
                && parameters["loaderId"] == loader
        };
        while !self.events.iter().any(loaded) {
            let heard = self.hear();
            self.events.push(heard);
        }
    }

    /// Shows the page for another medium or theme.
    pub(crate) fn look(&mut self, media: &str, theme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": media, "features": features }));
    }

    /// What an expression gives in the page.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}\n{answer:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression holds in the page.
    pub(crate) fn wait(&mut self, expression: &str) {
        // Sixty seconds is no figure: whoever waits so long waits for something that does not come.
        let held = self.ask(&format!(
            "new Promise((done) => {{ const end = Date.now() + 60000; const look = () => ({expression}) ? done(true) : \
             Date.now() > end ? done(document.body.innerText.slice(0, 2000)) : setTimeout(look, 50); look(); }})"
        ));
        assert_eq!(held, true, "`{expression}` never held in\n{held}");
    }

    /// Presses a key and lets it go.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Everything the page complained about, and every request but that for the page itself.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let told = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
                    Some(parameters.to_string())
                }
                "Network.requestWillBeSent" if parameters["type"] != "Document" => {
                    Some(format!("asked for {}", parameters["request"]["url"]))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(told).collect()
    }
}
