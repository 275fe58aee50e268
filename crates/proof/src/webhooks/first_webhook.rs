//! `first-webhook`: the first section of `docs/how-to/receive-webhooks.md`, followed literally on a server with new demo
//! data: a store key, an endpoint, `souk webhooks listen`, a receiver, a purchase; the listener, the receiver and the
//! deliveries of the endpoint show the event.
//!
//! The server has the settings with which the document starts it. The blocks are run as they are, except for what a
//! reader replaces: the key and the secrets that the steps before have printed, the address of the server, the port of
//! the receiver, and `just souk`, by which the document starts the binary that is tested here.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::TestDatabase;

use super::printing::{Printing, word};
use super::site::{Environment, PATIENCE, worker};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command, free_port, required_env};

const DOCUMENT: &str = include_str!("../../../../docs/how-to/receive-webhooks.md");
const SECTION: &str = "## The first webhook";
/// How long a reader may need.
const TIME_MAX: Duration = Duration::from_mins(5);

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    // What `just dev` runs in one process.
    let settings = settings()?;
    let server = Souk::serve_with(&test.url(), &["--search-shards", "1"], &settings).await?;
    let _worker = worker(&test.url(), &settings)?;
    let reader = Reader::new(&test.url(), server.port)?;
    tokio::task::spawn_blocking(move || reader.follow()).await?
}

fn section() -> Result<&'static str, Failure> {
    let (_, section) = DOCUMENT.split_once(SECTION).ok_or("the section is missing")?;
    Ok(section.split("\n## ").next().unwrap_or_default())
}

/// Returns the settings with which the section starts the server.
fn settings() -> Result<Environment, Failure> {
    let (before, _) = section()?.split_once(" just dev`").ok_or("the server is not started")?;
    let (_, settings) = before.rsplit_once('`').ok_or("the server is not started")?;
    let setting = |text: &'static str| -> Result<(&'static str, String), Failure> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("no setting: {text}"))?;
        Ok((name, value.to_owned()))
    };
    settings.split(' ').map(setting).collect()
}

/// Returns the shell blocks of the section.
fn blocks() -> Result<[&'static str; 6], Failure> {
    let blocks: Vec<&str> = section()?
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block))
        .collect();
    let found = blocks.len();
    blocks.try_into().map_err(|_| format!("{found} blocks instead of six").into())
}

/// Somebody who copies the blocks.
struct Reader {
    root: String,
    souk: String,
    database_url: String,
    site: String,
    receiver_port: u16,
}

impl Reader {
    fn new(database_url: &str, port: u16) -> Result<Self, Failure> {
        Ok(Self {
            root: format!("{}/../..", required_env("SOUK_CLIENTS")?),
            souk: required_env("SOUK_BIN")?,
            database_url: database_url.to_owned(),
            site: format!("http://127.0.0.1:{port}"),
            receiver_port: free_port()?,
        })
    }

    fn follow(&self) -> Verdict {
        let since = Instant::now();
        let [key, endpoint, listener, receiver, purchase, deliveries] = blocks()?;
        let key = printed(&self.shell(key)?.finish()?, "mrch_")?;
        let first_shell = format!("STORE_KEY={key}\n");
        let made = self.shell(&format!("{first_shell}{endpoint}"))?.finish()?;
        let (endpoint, endpoint_secret) = (printed(&made, "whk_")?, printed(&made, "whsec_")?);
        let mut listener = self.shell(&listener.replace("mrch_…", &key))?;
        let secret = printed(&listener.line("whsec_")?, "whsec_")?;
        listener.line("Forwarding")?;
        let secrets = format!("{endpoint_secret},{secret}");
        let mut receiver = self.shell(&receiver.replace("whsec_…,whsec_…", &secrets))?;
        receiver.line("listening")?;
        // The first shell still knows its variables.
        let first_shell = format!("{first_shell}ENDPOINT={endpoint}\nSITE={}/api/v1\n", self.site);
        let order = self.shell(&format!("{first_shell}{purchase}"))?.finish()?;
        ensure(order.contains("ord_"), || format!("no order: {order}"))?;
        let forwarded = listener.line("order.created")?;
        let is_accepted = forwarded.contains("→ 204");
        ensure(is_accepted, || format!("the listener shows: {forwarded}"))?;
        let event = printed(&forwarded, "evt_")?;
        let shown = receiver.line("order.created")?;
        ensure(shown.contains(&event), || format!("{event} was sent, received: {shown}"))?;
        let delivered = format!("order.created {event} delivered 204");
        self.until_printed(&format!("{first_shell}{deliveries}"), &delivered)?;
        let time = since.elapsed();
        ensure(time < TIME_MAX, || format!("it took {time:?}"))?;
        Ok(format!(
            "the six blocks of the document, run as they are: key, endpoint, listener, receiver, purchase, \
             deliveries; the event was sent to the endpoint, forwarded and verified after {:.1} s",
            time.as_secs_f64()
        ))
    }

    /// Runs a block until it prints a line.
    fn until_printed(&self, block: &str, line: &str) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let text = self.shell(block)?.finish()?;
            if text.lines().any(|it| it == line) {
                return Ok(());
            }
            ensure(since.elapsed() < PATIENCE, || format!("{line:?} is not printed: {text}"))?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Runs a block in a shell.
    fn shell(&self, block: &str) -> Result<Printing, Failure> {
        let block = block
            .replace("just souk", &self.souk)
            .replace("http://127.0.0.1:8080", &self.site)
            .replace("127.0.0.1:4000", &format!("127.0.0.1:{}", self.receiver_port))
            .replace("receiver.py 4000", &format!("receiver.py {}", self.receiver_port));
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", &block])
            .current_dir(&self.root)
            .env("DATABASE_URL", &self.database_url)
            .env("SOUK_SITE_URL", &self.site)
            .env("SOUK_LOG", "error")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        Printing::start(command)
    }
}

/// Returns the word with this prefix that a block has printed.
fn printed(text: &str, prefix: &str) -> Result<String, Failure> {
    word(text, prefix).ok_or_else(|| format!("no {prefix}…: {text}").into())
}
