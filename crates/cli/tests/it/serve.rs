//! `serve`: a real server, asked by hand and by a real browser.

use crate::{
    bench::{Home, quick},
    browser::Browser,
    survey::{home_with, invalid, json, run},
};
use modelmeter::{Device, Run, RunId, Store};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::{fs::PermissionsExt, net::UnixStream},
    process::{Child, Command, Stdio},
};

const AUDIT: &str = include_str!("audit.js");
pub(crate) const WIDE: (u32, u32) = (1280, 900);
pub(crate) const NARROW: (u32, u32) = (390, 844);
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&</script><script>alert(2)</script>";

/// A server that ends with the test.
pub(crate) struct Served {
    child: Child,
    /// The first address, with the token.
    pub(crate) page: String,
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    token: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn serve(home: &Home, more: &[&str]) -> Served {
    let arguments = [&["serve", "--quiet", "--listen", "127.0.0.1:0"], more].concat();
    begin(&mut home.command(&arguments))
}

/// Starts a server and waits for its address.
pub(crate) fn begin(command: &mut Command) -> Served {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut page = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut page).unwrap();
    let page = page.trim().to_owned();
    let rest = page.strip_prefix("http://").unwrap_or_else(|| panic!("`{page}` is no address"));
    let host = rest.split('/').next().unwrap().to_owned();
    let token = page.split("token=").nth(1).unwrap().to_owned();
    Served { child, page, host, token }
}

/// What came back.
pub(crate) struct Got {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends a request as it stands and reads until the server closes.
fn send(mut stream: impl Read + Write, request: &str) -> Got {
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Got { status, head: head.to_owned(), body: body.to_owned() }
}

impl Served {
    fn raw(&self, method: &str, path: &str, lines: &[&str]) -> Got {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!("{method} {path} HTTP/1.1\r\n{lines}connection: close\r\n\r\n");
        send(TcpStream::connect(&self.host).unwrap(), &request)
    }

    /// As a program that knows the token.
    pub(crate) fn get(&self, path: &str) -> Got {
        let (host, bearer) = self.known();
        self.raw("GET", path, &[&host, &bearer])
    }

    fn known(&self) -> (String, String) {
        (format!("host: {}", self.host), format!("authorization: Bearer {}", self.token))
    }

    pub(crate) fn address(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }
}

#[test]
fn whoever_does_not_know_the_token_or_calls_another_name_gets_nothing() {
    let home = home_with(&[run(1, Device::Cpu, 1, 40.0, 300.0)]);
    let served = serve(&home, &[]);
    let (host, bearer) = served.known();
    let status = |method: &str, path: &str, lines: &[&str]| served.raw(method, path, lines).status;
    assert_eq!(status("GET", "/runs", &[&host]), 401);
    assert_eq!(status("GET", "/api/runs", &[&host]), 401);
    assert_eq!(status("GET", "/metrics", &[&host]), 401);
    assert_eq!(status("GET", "/events", &[&host]), 401);
    assert_eq!(status("GET", "/runs", &["host: evil.example", &bearer]), 421);
    assert_eq!(status("POST", "/api/runs", &[&host, &bearer, "origin: http://evil.example"]), 403);
    assert_eq!(status("POST", "/api/runs", &[&host, &bearer]), 403);
    assert_eq!(status("DELETE", "/api/runs/7f3a", &[&host, &bearer]), 403);
    for path in [
        "/assets/../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/runs/..%2f..%2fx",
        "/nothing",
    ] {
        assert_eq!(status("GET", path, &[&host, &bearer]), 404, "{path}");
    }
    let nothing = served.raw("GET", "/runs", &[&host]);
    assert!(!nothing.body.contains("bert") && !nothing.body.contains(&served.token));

    // The token becomes a cookie, and the address has it no more.
    let settled = served.raw("GET", &format!("/runs?model=b&token={}", served.token), &[&host]);
    assert_eq!((settled.status, settled.header("location")), (303, Some("/runs?model=b")));
    let cookie = settled.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&served.token));
    let held = format!("cookie: {}", cookie.split(';').next().unwrap());
    let page = served.raw("GET", "/runs", &[&host, &held]);
    assert_eq!(page.status, 200);
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert!(page.body.contains("bert"), "{}", page.body);
    assert_eq!(served.get("/api/runs").status, 200);
    assert_eq!(served.raw("HEAD", "/runs", &[&host, &held]).body, "");

    // Only this user can read the token, and a server that starts again has the same.
    let again = serve(&home, &[]);
    assert_eq!(again.token, served.token);
    let kept = home.path(".local/share/modelmeter/serve.token");
    assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn documents_are_those_of_the_command_line() {
    let home = home_with(&[
        run(1, Device::Cpu, 1, 40.0, 300.0),
        run(2, Device::Cpu, 8, 320.0, 400.0),
        invalid(run(3, Device::Cpu, 8, 1.0, 1.0)),
    ]);
    let served = serve(&home, &[]);
    let same = |path: &str, arguments: &[&str]| {
        let (got, told) = (served.get(path), home.fine(arguments));
        assert_eq!(got.status, 200, "{path}: {}", got.body);
        assert_eq!(json(&got.body), json(&told.out), "{path}");
    };
    same("/api/runs", &["runs", "list", "--json"]);
    same("/api/runs?valid=0", &["runs", "list", "--json", "--invalid"]);
    same("/api/runs?model=none", &["runs", "list", "--json", "--model", "none"]);
    same("/api/runs/7f3a000000000001", &["runs", "show", "7f3a000000000001", "--json"]);
    same("/api/analysis", &["analyze", "--json"]);
    same("/api/recommendations?model=bert", &["recommend", "bert", "--json"]);
    assert_eq!(json(&served.get("/api/trend").body)["schema"], "modelmeter.trend/1");
    let csv = served.get("/api/runs?format=csv");
    assert!(csv.header("content-type").unwrap().starts_with("text/csv"), "{}", csv.head);
    for (path, status) in [
        ("/api/runs?valid=perhaps", 400),
        ("/api/runs?since=yesterday", 400),
        ("/api/runs/ffff", 404),
        ("/api/compare", 400),
        ("/api/plans/none", 404),
    ] {
        let got = served.get(path);
        assert_eq!(got.status, status, "{path}: {}", got.body);
        assert!(json(&got.body)["error"].is_string(), "{path}: {}", got.body);
    }
    // The list of addresses is the published one, and every address in it answers.
    let list = json(&served.get("/api").body);
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    if std::env::var_os("MODELMETER_WRITE_SCHEMAS").is_some() {
        fs::write(published, format!("{list:#}\n")).unwrap();
    }
    let text = fs::read_to_string(published).unwrap();
    assert_eq!(
        json(&text),
        list,
        "docs/openapi.json; set MODELMETER_WRITE_SCHEMAS=1 and test again"
    );
    for (path, operations) in list["paths"].as_object().unwrap() {
        if path != "/events" && operations["get"].is_object() {
            let path = path
                .replace("{run}", "7f3a000000000001")
                .replace("{name}", "none")
                .replace("{plan}", "none");
            let status = served.get(&path).status;
            // The layers of this run were not profiled.
            let is_layers =
                ["flamegraph", "trace", "speedscope"].iter().any(|name| path.ends_with(name));
            let is_there = !path.contains("none") && path != "/api/compare" && !is_layers;
            assert_eq!(status == 200, is_there, "{path}: {status}");
        }
    }
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("modelmeter_stored_runs{valid=\"true\"} 2"), "{metrics}");
    assert!(metrics.contains("modelmeter_latency_median_seconds{"), "{metrics}");
}

#[test]
fn a_socket_is_for_this_user_alone() {
    let home = Home::new();
    let path = home.path("m.sock");
    let arguments = ["serve", "--quiet", "--socket", "m.sock"];
    let mut child = home.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(home.path(".local/share/modelmeter/serve.token")).unwrap();
    let request = format!(
        "GET /runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    let got = send(UnixStream::connect(&path).unwrap(), &request);
    assert_eq!(got.status, 200, "{}", got.body);
    assert!(got.body.contains("Nothing is stored yet"), "{}", got.body);
    home.refused(&["serve", "--socket", "m.sock"], 3, &["another program listens there"]);
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!path.exists());
}

#[test]
fn what_is_asked_wrongly_is_said_before_anybody_is_let_in() {
    let home = Home::new();
    let served = serve(&home, &[]);
    let pid = served.child.id().to_string();
    home.refused(
        &["serve", "--listen", &served.host],
        3,
        &["is taken", &pid, "--listen 127.0.0.1:"],
    );
    home.refused(
        &["serve", "--listen", "0.0.0.0:0"],
        2,
        &["token of your own", "MODELMETER_TOKEN", "ssh -L"],
    );
    home.refused(&["serve", "--listen", "nowhere"], 2, &["not an address"]);
    home.refused(&["serve", "--base-path", "/../x"], 2, &["--base-path"]);
    let mut command = home.command(&["serve"]);
    let told = crate::bench::told(command.env("MODELMETER_TOKEN", "short").output().unwrap());
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(
        told.err.contains("MODELMETER_TOKEN") && !told.err.contains("panicked"),
        "{}",
        told.err
    );
    // A database that is damaged, and then one that is none.
    fs::write(home.database(), "this is no database, and never was one").unwrap();
    let got = served.get("/runs");
    assert_eq!(got.status, 503, "{}", got.body);
    fs::remove_file(home.database()).unwrap();
    assert_eq!(served.get("/runs").status, 200);
    home.fine(&["db", "init"]);
    assert!(served.get("/runs").body.contains("No stored run matches"));
}

/// Looks at a view in both themes at two sizes.
fn look(browser: &mut Browser, address: &str, ours: &str) {
    look_after(browser, address, ours, "0");
}

/// The same after something was done there.
pub(crate) fn look_after(browser: &mut Browser, address: &str, ours: &str, done: &str) {
    for (size, theme) in [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")] {
        browser.visit(address, size, theme);
        browser.ask(done);
        let seen = browser.ask(AUDIT);
        // Style and script of this page are files of their own, and a view may have little to say.
        let known = ["not ours: <link", "not ours: <script", "only "];
        let defects: Vec<&Value> = seen["defects"].as_array().unwrap().iter().collect();
        let defects: Vec<&&Value> = defects
            .iter()
            .filter(|one| !known.iter().any(|known| one.as_str().unwrap().starts_with(known)))
            .collect();
        assert!(defects.is_empty(), "{address} {theme} at {size:?}\n{defects:#?}");
        let complaints = foreign(browser, ours);
        assert!(complaints.is_empty(), "{address} {theme} at {size:?}\n{complaints:#?}");
    }
}

/// What the page complained about, and what it asked of anybody else.
pub(crate) fn foreign(browser: &Browser, ours: &str) -> Vec<String> {
    let asked = format!("asked for \"http://{ours}/");
    let mut all = browser.complaints();
    all.retain(|one| !one.starts_with(&asked));
    all
}

#[test]
fn every_view_is_read_in_a_real_browser_with_and_without_scripts() {
    let mut runs: Vec<Run> = (1..400)
        .map(|number| run(number, Device::Cpu, 1 + number as usize % 3, 40.0, 300.0))
        .collect();
    runs[398].model.name = HOSTILE.into();
    runs[398].cell.model = HOSTILE.into();
    runs[398].tags = vec!["<b>".into()];
    runs[397] = invalid(runs[397].clone());
    let home = home_with(&runs);
    let served = serve(&home, &[]);
    let mut browser = Browser::start();
    browser.visit(&served.page, WIDE, "light");
    assert_eq!(browser.ask("location.search"), "", "the token is gone from the address");
    for view in [
        "/",
        "/plans",
        "/runs",
        "/compare",
        "/trend",
        "/recommend",
        "/load",
        "/machines",
        "/runs/7f3a000000000001",
        "/compare?run=7f3a000000000001&run=7f3a000000000002",
    ] {
        look(&mut browser, &served.address(view), &served.host);
    }

    // A long list: scrolled to its end, filtered, and shown again in another tab by its address alone.
    browser.visit(&served.address("/runs"), WIDE, "light");
    browser.wait("document.querySelectorAll('#rows tbody tr[data-key]').length >= 100");
    browser.ask("document.getElementById('rows').scrollTop = 1e9");
    browser.wait("[...document.querySelectorAll('#rows tbody tr')].some(row => row.dataset.key === '7f3a000000000001')");
    browser.wait("new URLSearchParams(location.search).get('offset') > 300");
    let address = browser.ask("location.href").as_str().unwrap().to_owned();
    browser.visit(&address, WIDE, "light");
    browser.wait("[...document.querySelectorAll('#rows tbody tr')].some(row => row.dataset.key === '7f3a000000000001')");
    browser.ask("{ const field = document.querySelector('[name=model]'); field.value = 'img'; field.dispatchEvent(new Event('input', { bubbles: true })); }");
    browser.wait("document.querySelectorAll('#rows tbody tr[data-key]').length === 1");
    assert_eq!(browser.ask("location.search.includes('model=img')"), true);
    assert_eq!(
        browser
            .ask("document.activeElement !== null && document.querySelector('[name=model]').value"),
        "img"
    );
    assert_eq!(foreign(&browser, &served.host), Vec::<String>::new());

    // Without scripts the runs are still read, page by page.
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.visit(&served.address("/runs?offset=100"), WIDE, "light");
    assert_eq!(browser.ask("document.querySelectorAll('#rows tbody tr[data-key]').length"), 100);
    assert!(browser.ask("document.querySelectorAll('.pager a').length").as_u64().unwrap() >= 3);
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": false }));
}

#[test]
fn what_is_measured_appears_and_a_process_that_died_is_lost() {
    let home = Home::calibrated();
    let mut served = serve(&home, &[]);
    home.fine(&quick("feed-forward-baseline", &[]));
    let mut browser = Browser::start();
    browser.visit(&served.page, WIDE, "light");
    browser.wait("document.querySelectorAll('#now [data-state=ended]').length === 1");
    let long = ["profile", "small-transformer", "--duration", "120s", "--quiet"];
    let mut child =
        home.command(&long).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    browser.wait("document.querySelector('#now [data-state=running] h3')?.textContent === 'small-transformer'");
    browser.wait("document.querySelectorAll('#now [data-state=running] .sketch').length > 0");
    let before =
        browser.ask("document.querySelector('#now [data-state=running] figcaption').textContent");
    browser.wait(&format!(
        "document.querySelector('#now [data-state=running] figcaption').textContent !== {before}"
    ));
    let now = json(&served.get("/api/now").body);
    assert_eq!(now["activities"][0]["command"], "profile", "{now}");
    assert!(served.get("/metrics").body.contains("modelmeter_measuring 1"));
    child.kill().unwrap();
    child.wait().unwrap();
    browser.wait("document.querySelectorAll('#now [data-state=lost]').length === 1");

    // A run that is stored appears in a list that is open, and what is typed stays.
    browser.visit(&served.address("/runs"), WIDE, "light");
    browser.wait("document.querySelectorAll('#rows tbody tr[data-key]').length === 1");
    let store = Store::open(home.database()).unwrap();
    let first = json(&home.fine(&["runs", "list", "--json"]).out)["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let copy = Run { id: RunId("00000000000000aa".into()), ..store.run(&first).unwrap() };
    store.insert_run(&copy).unwrap();
    browser.wait("document.querySelectorAll('#rows tbody tr[data-key]').length === 2");

    // The server ends at once although somebody listens, and the page goes on when it is back.
    Command::new("kill").args(["-TERM", &served.child.id().to_string()]).status().unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    browser.wait("document.getElementById('state').textContent !== ''");
    let (listen, mut again) = (served.host.clone(), home.command(&[]));
    again.args(["serve", "--quiet", "--listen", &listen]).stdout(Stdio::piped());
    served.child = again.spawn().unwrap();
    browser.wait("document.getElementById('state').textContent === ''");
    store.insert_run(&Run { id: RunId("00000000000000bb".into()), ..copy }).unwrap();
    browser.wait("document.querySelectorAll('#rows tbody tr[data-key]').length === 3");
}

#[test]
fn a_page_that_may_measure_starts_stops_labels_and_deletes() {
    let home = Home::calibrated();
    let served = serve(&home, &["--allow-measuring"]);
    let (host, bearer) = served.known();
    let post = |path: &str, body: &str, more: &str| {
        let length = format!("content-length: {}", body.len());
        let kind = "content-type: application/x-www-form-urlencoded";
        let origin = if more.is_empty() { "x-none: x" } else { more };
        let lines = [&*host, &*bearer, kind, &*length, origin].join("\r\n");
        let request = format!("POST {path} HTTP/1.1\r\n{lines}\r\nconnection: close\r\n\r\n{body}");
        send(TcpStream::connect(&served.host).unwrap(), &request)
    };
    let until = |holds: &dyn Fn(&Value) -> bool| loop {
        let now = json(&served.get("/api/now").body);
        if holds(&now) {
            return now;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!(
        post("/api/measurements", "model=small-transformer", "origin: http://evil.example").status,
        403
    );
    assert_eq!(post("/api/measurements", "", "").status, 400);

    // What is started ends, and its run is there.
    let started =
        post("/api/measurements", "model=feed-forward-baseline&tag=from-the-page&back=/", "");
    assert_eq!((started.status, started.header("location")), (303, Some("/")), "{}", started.body);
    until(&|now| now["activities"][0]["state"] == "ended");
    let runs = json(&served.get("/api/runs?tag=from-the-page").body);
    let id = runs["runs"][0]["id"].as_str().unwrap().to_owned();

    // A model that nobody knows is told, and the option that hides in its name is none.
    post("/api/measurements", "model=--help", "");
    loop {
        let jobs = json(&served.get("/api/measurements").body);
        let failed = jobs["jobs"].as_array().unwrap().iter().find(|job| job["exit"] == 2);
        if let Some(failed) = failed {
            assert!(failed["said"].as_str().unwrap().contains("--help"), "{failed}");
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }

    // A plan is stopped as Ctrl-C stops it.
    let plan = "name = \"page\"\nmodels = [\"small-transformer\"]\nengines = [\"rten\"]\nbatch-sizes = [1, 2, 4, 8]\nprocesses = 5\nruns = 11\nwarmup = 1\n";
    let body = plan.replace('\n', "%0A").replace(' ', "+").replace('=', "%3D").replace('"', "%22");
    assert_eq!(post("/api/measurements", &format!("plan={body}"), "").status, 200);
    let now = until(&|now| {
        now["activities"][0]["plan"]["name"].as_str().is_some_and(|name| name.starts_with("page"))
    });
    let activity = now["activities"][0]["id"].as_str().unwrap();
    assert_eq!(post("/api/measurements/none/stop", "", "").status, 404);
    assert_eq!(post(&format!("/api/measurements/{activity}/stop"), "", "").status, 200);
    until(&|now| {
        now["activities"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["id"] == activity && one["exit"] == 130)
    });

    // Labels, and the end of a run.
    assert_eq!(json(&post(&format!("/api/runs/{id}/tags"), "tag=keep", "").body)["changed"], true);
    assert!(served.get(&format!("/runs/{id}")).body.contains("Remove the label keep"));
    assert_eq!(
        post(&format!("/api/runs/{}/delete", &id[..8]), "", "").status,
        404,
        "a whole id alone"
    );
    let gone = served.raw("DELETE", &format!("/api/runs/{id}"), &[&host, &bearer]);
    assert_eq!(
        (gone.status, json(&gone.body)["deleted"].clone()),
        (200, json!(1)),
        "{}",
        gone.body
    );
    assert_eq!(served.get(&format!("/api/runs/{id}")).status, 404);
}

/// Asks again and again, because a page that is being left answers nothing that takes time.
pub(crate) fn soon(browser: &mut Browser, expression: &str) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while browser.ask(expression) != true {
        let seen = |browser: &mut Browser| browser.ask("document.body?.innerText.slice(0, 2000)");
        assert!(std::time::Instant::now() < end, "`{expression}` in\n{}", seen(browser));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Clicks the button with these words.
fn click(browser: &mut Browser, words: &str) {
    browser.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    let button = format!(
        "[...document.querySelectorAll('button')].find((one) => one.textContent === '{words}')"
    );
    soon(browser, &format!("Boolean({button})"));
    browser.ask(&format!("setTimeout(() => {button}.click())"));
}

#[test]
fn buttons_work_in_a_real_browser() {
    let home = Home::calibrated();
    let served = serve(&home, &["--allow-measuring"]);
    let mut browser = Browser::start();
    browser.visit(&served.page, WIDE, "light");
    browser.ask("document.querySelector('input[name=model]').value = 'feed-forward-baseline'");
    click(&mut browser, "Start");
    soon(
        &mut browser,
        "location.pathname === '/' && Boolean(document.querySelector('#now [data-state=ended] .ran a'))",
    );
    let run = json(&served.get("/api/runs").body)["runs"][0]["id"].as_str().unwrap().to_owned();
    let address = served.address(&format!("/runs/{run}"));
    browser.visit(&address, WIDE, "light");
    browser.ask("document.querySelector('input[name=tag]').value = 'by hand'");
    click(&mut browser, "Add");
    click(&mut browser, "Remove the label by hand");
    soon(
        &mut browser,
        "document.readyState === 'complete' && !document.body.innerText.includes('Remove the label') && document.body.innerText.includes('Change')",
    );
    click(&mut browser, "Delete it for good");
    soon(&mut browser, "location.pathname === '/runs'");
    assert_eq!(served.get(&format!("/api/runs/{run}")).status, 404);
    // One that goes on is stopped.
    browser.visit(&served.address("/"), WIDE, "light");
    let mut long = home
        .command(&["profile", "small-transformer", "--duration", "120s", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    soon(&mut browser, "Boolean(document.querySelector('#now [data-state=running]'))");
    click(&mut browser, "Stop");
    assert_eq!(long.wait().unwrap().code(), Some(130));
    // What is wrong is said on a page.
    browser.visit(&served.address("/"), WIDE, "light");
    browser.ask("setTimeout(() => document.querySelector('input[name=model]').form.submit())");
    soon(&mut browser, "document.title.startsWith('Refused')");

    // A link of another site leads to the page, although the browser keeps the cookie back at first.
    browser.visit("data:text/html,elsewhere", WIDE, "light");
    browser.ask(&format!("setTimeout(() => {{ location.href = '{}'; }})", served.address("/runs")));
    soon(&mut browser, "document.title.startsWith('Runs')");
    // Who has no cookie is asked for the token, in our style.
    browser.call("Network.clearBrowserCookies", &json!({}));
    browser.visit(&served.address("/runs"), WIDE, "light");
    soon(&mut browser, "document.title.startsWith('Token needed')");
    assert_eq!(browser.ask("document.styleSheets[0].cssRules.length > 10"), true);
}

#[test]
fn a_refusal_is_a_page_for_browsers_and_json_for_programs() {
    let home = Home::new();
    let served = serve(&home, &[]);
    let (host, bearer) = served.known();
    let page = ["accept: text/html,*/*;q=0.8", "sec-fetch-mode: navigate"];
    let kind = |got: &Got| got.header("content-type").unwrap().to_owned();
    let got = served.raw("POST", "/api/measurements", &[&host, &bearer, page[0]]);
    assert_eq!((got.status, kind(&got).as_str()), (403, "text/html; charset=utf-8"));
    assert!(got.body.contains("--allow-measuring"), "{}", got.body);
    let got = served.raw("POST", "/api/measurements", &[&host, &bearer]);
    assert_eq!((got.status, kind(&got).as_str()), (403, "application/json"));
    assert_eq!(json(&got.body)["schema"], "modelmeter.refusal/1");
    // Only who came by a link of another site is sent to ask again; else there would be no end.
    let again = "http-equiv=\"refresh\"";
    let asked = |site: &str| served.raw("GET", "/runs", &[&host, page[0], page[1], site]).body;
    assert!(asked("sec-fetch-site: cross-site").contains(again));
    for site in ["sec-fetch-site: same-origin", "sec-fetch-site: none", "x: y"] {
        assert!(!asked(site).contains(again), "{site}");
    }
    // Style for the page that asks for the token.
    let body = asked("x: y");
    let style = body.split("href=\"").find(|part| part.starts_with("/assets/")).unwrap();
    let got = served.raw("GET", style.split('"').next().unwrap(), &[&host]);
    assert_eq!(got.status, 200, "{}", got.head);
}

#[test]
fn a_flood_and_listeners_that_do_not_read_leave_room_for_others() {
    let runs: Vec<Run> = (1..200).map(|number| run(number, Device::Cpu, 1, 40.0, 300.0)).collect();
    let home = home_with(&runs);
    let mut served = serve(&home, &[]);
    let (host, bearer) = served.known();
    let listen = || {
        let mut stream = TcpStream::connect(&served.host).unwrap();
        let request = format!("GET /events HTTP/1.1\r\n{host}\r\n{bearer}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let listeners: Vec<TcpStream> = (0..50).map(|_| listen()).collect();
    // A list that is too long for a browser is cut, and what is no request at all ends alone.
    assert_eq!(
        json(&served.get("/api/runs?limit=100000000").body)["runs"].as_array().unwrap().len(),
        199
    );
    let nonsense =
        send(TcpStream::connect(&served.host).unwrap(), "\u{0}\u{1}\u{2} nonsense\r\n\r\n");
    assert_eq!(nonsense.status, 400);
    let large = format!("content-length: {}", 1 << 30);
    assert_eq!(served.raw("POST", "/api/measurements", &[&host, &bearer, &large]).status, 403);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| served.get("/runs").status);
        let all: Vec<_> = (0..100).map(|_| ask()).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    assert!(statuses.iter().filter(|status| **status == 200).count() >= 4, "{statuses:?}");
    let text = fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 300_000, "{line}");
    assert_eq!(served.get("/runs").status, 200);
    Command::new("kill").args(["-TERM", &served.child.id().to_string()]).status().unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    drop(listeners);
}

#[test]
fn whoever_wants_to_know_hears_of_a_measurement_that_died() {
    let home = Home::calibrated();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let served = serve(&home, &["--webhook", &url]);
    let long = ["profile", "small-transformer", "--duration", "120s", "--quiet"];
    let mut child =
        home.command(&long).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    loop {
        let now = json(&served.get("/api/now").body);
        if now["activities"][0]["stage"] == "sample" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(count) = line.to_lowercase().strip_prefix("content-length:") {
            length = count.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    let message = json(&String::from_utf8(body).unwrap());
    assert_eq!(message["kind"], "lost", "{message}");
    assert!(message["text"].as_str().unwrap().contains("small-transformer"), "{message}");
    home.refused(&["serve", "--webhook", "ftp://x"], 2, &["--webhook"]);
}
