//! The arguments of `serve`.

use clap::Args;
use std::path::PathBuf;

const AFTER: &str = "\
The token is kept in the data folder for this user alone; MODELMETER_TOKEN sets another.

Examples:
  modelmeter serve
  modelmeter serve --open
  modelmeter serve --allow-measuring --webhook https://hooks.example.org/services/…
  modelmeter serve --listen 127.0.0.1:8080 --base-path /modelmeter
  modelmeter serve --socket /run/user/1000/modelmeter.sock
  MODELMETER_TOKEN=0123456789abcdef modelmeter serve --listen 0.0.0.0:7117 --host bench.example.org";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Serve {
    /// Open the page in the browser
    #[arg(long, help_heading = "Server")]
    pub(crate) open: bool,
    /// Address and port; an address that other machines reach needs a token of your own
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:7117",
        help_heading = "Server"
    )]
    pub(crate) listen: String,
    /// Socket in the file system instead, for this user alone
    #[arg(long, value_name = "PATH", conflicts_with_all = ["listen", "open"], help_heading = "Server")]
    pub(crate) socket: Option<PathBuf>,
    /// Path that a proxy puts before every address
    #[arg(long, value_name = "PATH", help_heading = "Server")]
    pub(crate) base_path: Option<String>,
    /// Name by which browsers may call this server, beside localhost; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(crate) host: Vec<String>,
    /// Let the page start and stop measurements, label and delete runs
    #[arg(long, help_heading = "Server")]
    pub(crate) allow_measuring: bool,
    /// URL that hears of every measurement that ended or died, as JSON with a `text` that Slack shows
    #[arg(long, value_name = "URL", help_heading = "Server")]
    pub(crate) webhook: Option<String>,
}
