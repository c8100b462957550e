//! A real PostgreSQL server of our own, in a folder that goes with us.
//!
//! A guard outside of this process waits for its end, whatever that is, and stops the server then.

use std::{
    env, fs,
    io::Read,
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The one that most tests share; it does not wait for the disk.
pub(crate) static SHARED: LazyLock<PostgreSql> = LazyLock::new(|| PostgreSql::start(Disk::Hasty));

/// The only user there is.
pub(crate) const USER: &str = "tester";

/// The password, with characters that must be written otherwise in an address.
const PASSWORD: &str = "s3cret p@ss/word";

/// [`PASSWORD`] in an address.
const PASSWORD_IN_ADDRESS: &str = "s3cret%20p%40ss%2Fword";

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// As everywhere: what is committed is on the disk.
    Safe,
    /// Only for tests that kill nothing.
    Hasty,
}

/// A running server.
pub(crate) struct PostgreSql {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    databases: AtomicU64,
    /// Its input is open as long as this process lives; the end of that is what it waits for.
    guard: Child,
}

impl PostgreSql {
    pub(crate) fn start(disk: Disk) -> PostgreSql {
        let programs = programs();
        let folder = tempfile::Builder::new().prefix("modelmeter-postgresql-").tempdir().unwrap();
        // The guard removes it.
        let folder = folder.keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        if let Some((user, group)) = other_user() {
            chown(&folder, Some(user), Some(group)).unwrap();
        }
        let guard = guard(&folder);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = PostgreSql { folder, programs, port, databases: 0.into(), guard };
        fs::write(server.folder.join("password"), PASSWORD).unwrap();
        fs::set_permissions(server.folder.join("password"), fs::Permissions::from_mode(0o644))
            .unwrap();
        server.certify();
        let data = server.data();
        server.tool(
            "initdb",
            &[
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "--auth=scram-sha-256",
                &format!("--username={USER}"),
                &format!("--pwfile={}", server.folder.join("password").display()),
                &format!("--pgdata={}", data.display()),
            ],
        );
        // Nobody tidies up but the tests: what they see must not depend on the minute.
        let mut settings = fs::read_to_string(data.join("postgresql.conf")).unwrap();
        settings += &format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{0}'\n\
             max_connections = 200\nssl = on\nssl_cert_file = '{0}/server.crt'\n\
             ssl_key_file = '{0}/server.key'\nshared_buffers = 16MB\nautovacuum = off\nfsync = {1}\n",
            server.folder.display(),
            if disk == Disk::Safe { "on" } else { "off" },
        );
        fs::write(data.join("postgresql.conf"), settings).unwrap();
        server.restart();
        server
    }

    /// Makes an authority and a certificate that it gave to `localhost` and 127.0.0.1.
    fn certify(&self) {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let (extensions, days) = (file("extensions"), "365");
        fs::write(&extensions, "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
        let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let openssl = |arguments: &[&str]| succeed(Command::new("openssl").args(arguments));
        let (key, authority) = (file("authority.key"), file("authority.crt"));
        let own = ["-x509", "-days", days, "-subj", "/CN=test authority", "-keyout", &key];
        openssl(&[&new[..], &own[..], &["-out", &authority]].concat());
        let (request, server_key) = (file("server.csr"), file("server.key"));
        let ask = ["-subj", "/CN=localhost", "-keyout", &server_key, "-out", &request];
        openssl(&[&new[..], &ask[..]].concat());
        openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            &authority,
            "-CAkey",
            &key,
            "-CAcreateserial",
            "-days",
            days,
            "-extfile",
            &extensions,
            "-out",
            &file("server.crt"),
        ]);
        fs::set_permissions(&server_key, fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = other_user() {
            chown(&server_key, Some(user), Some(group)).unwrap();
        }
    }

    /// The file of the authority that vouches for this server.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.join("authority.crt")
    }

    /// Starts the server that was stopped, on the same port.
    pub(crate) fn restart(&self) {
        let log = self.folder.join("log");
        let (data, log) = (self.data().display().to_string(), log.display().to_string());
        self.tool("pg_ctl", &["--wait", "--silent", "--pgdata", &data, "--log", &log, "start"]);
    }

    /// Stops the server at once, as a crash would.
    pub(crate) fn stop(&self) {
        let data = self.data().display().to_string();
        self.tool("pg_ctl", &["--wait", "--silent", "--mode=immediate", "--pgdata", &data, "stop"]);
    }

    /// Freezes the server with all its processes until what is returned is dropped: connections stay, answers do not come.
    pub(crate) fn freeze(&self) -> Frozen {
        let postmaster = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let postmaster: i32 = postmaster.lines().next().unwrap().trim().parse().unwrap();
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = fs::read_to_string(children).unwrap();
        let children = children.split_whitespace().map(|id| id.parse().unwrap());
        let frozen = Frozen(std::iter::once(postmaster).chain(children).collect());
        frozen.signal(libc::SIGSTOP);
        frozen
    }

    /// The address of a new, empty database.
    pub(crate) fn database(&self) -> String {
        let name = format!("database_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.admin("postgres").batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.address(&name)
    }

    /// The address of a database.
    pub(crate) fn address(&self, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD_IN_ADDRESS}@127.0.0.1:{}/{database}", self.port)
    }

    /// The address of a database by the socket in the file system.
    pub(crate) fn socket_address(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://{USER}:{PASSWORD_IN_ADDRESS}@{folder}:{}/{database}", self.port)
    }

    /// A plain connection to a database.
    pub(crate) fn admin(&self, database: &str) -> postgres::Client {
        postgres::Client::connect(&self.address(database), postgres::NoTls).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn tool(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        // The server refuses to run as root, and the other user may not be let into the folder we are in.
        command.args(arguments).current_dir("/");
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        succeed(&mut command);
    }
}

/// A server that is frozen.
pub(crate) struct Frozen(Vec<i32>);

impl Frozen {
    fn signal(&self, signal: i32) {
        for process in &self.0 {
            // SAFETY: kill takes two numbers and touches no memory of ours.
            unsafe { libc::kill(*process, signal) };
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal(libc::SIGCONT);
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        self.guard.wait().unwrap();
    }
}

fn succeed(command: &mut Command) {
    let name = command.get_program().to_string_lossy().into_owned();
    // A file, because a server that stays would keep a pipe open.
    let mut talk = tempfile::tempfile().unwrap();
    let status = command
        .stdin(Stdio::null())
        .stdout(talk.try_clone().unwrap())
        .stderr(talk.try_clone().unwrap())
        .status()
        .unwrap_or_else(|error| panic!("could not run `{name}`: {error}"));
    let mut text = String::new();
    std::io::Seek::rewind(&mut talk).unwrap();
    talk.read_to_string(&mut text).unwrap();
    assert!(status.success(), "`{name}` failed: {text}");
}

/// Starts the guard; closing its input, which the end of this process does, stops the server and removes its folder.
fn guard(folder: &Path) -> Child {
    let script = r#"
        cat >/dev/null
        pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
        if [ -n "$pid" ]; then
            kill -QUIT "$pid" 2>/dev/null
            while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
        fi
        rm -rf "$1"
    "#;
    Command::new("sh")
        .args(["-c", script, "guard"])
        .arg(folder)
        .current_dir("/")
        // Ctrl-C goes to us, not to the guard.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The folder of `initdb` and `pg_ctl`. A missing server is a failure: nothing is skipped.
fn programs() -> PathBuf {
    let on_path = env::var_os("PATH").unwrap_or_default();
    let versions = |root: &str| {
        let folders = fs::read_dir(root).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path().join("bin")).collect();
        folders.sort();
        folders.into_iter().rev()
    };
    env::split_paths(&on_path)
        .chain(versions("/usr/lib/postgresql"))
        .chain(versions("/usr/local/lib/postgresql"))
        .find(|folder| folder.join("initdb").exists() && folder.join("pg_ctl").exists())
        .expect("PostgreSQL is not installed: `make postgresql` installs it, or `apt-get install postgresql`")
}

/// Whom to run the server as where we are root, which it refuses.
fn other_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let ids = |name: &str| {
        let mut line = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':');
        Some((line.nth(2)?.parse().ok()?, line.next()?.parse().ok()?))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).expect("a user beside root"))
}
