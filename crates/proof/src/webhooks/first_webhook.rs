//! `first-webhook`: the first section of `docs/how-to/receive-webhooks.md`, followed literally on a server with new demo data: a
//! store key, `souk webhooks listen`, a receiver, a purchase; the listener and the receiver show the event.
//!
//! The blocks of the document are run as they are, except for what a reader replaces: the key and the secret that the steps before
//! have printed, the address of the server, the port of the receiver, and `cargo run`, by which the document starts the binary
//! that is tested here.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use testkit::TestDatabase;

use super::site::{PATIENCE, worker};
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
    let server = Souk::serve(&test.url(), &["--search-shards", "1"]).await?;
    let _worker = worker(&test.url(), &[])?;
    let reader = Reader::new(&test.url(), server.port)?;
    tokio::task::spawn_blocking(move || reader.follow()).await?
}

/// Returns the shell blocks of the section.
fn blocks() -> Result<[&'static str; 4], Failure> {
    let (_, section) = DOCUMENT.split_once(SECTION).ok_or("the section is missing")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks: Vec<&str> = section
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block))
        .collect();
    let found = blocks.len();
    blocks.try_into().map_err(|_| format!("{found} blocks instead of four").into())
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
        let [key, listener, receiver, purchase] = blocks()?;
        let printed = self.shell(key)?.finish()?;
        let key_text = word(&printed, "mrch_").ok_or_else(|| format!("no key: {printed}"))?;
        let mut listener = self.shell(&listener.replace("mrch_…", &key_text))?;
        let greeting = listener.line("whsec_")?;
        let secret = word(&greeting, "whsec_").ok_or("no secret")?;
        listener.line("Forwarding")?;
        let mut receiver = self.shell(&receiver.replace("whsec_…", &secret))?;
        receiver.line("listening")?;
        // The first shell still knows its function and its variable.
        let functions: String = key
            .lines()
            .filter(|line| line.starts_with("souk()"))
            .map(|line| format!("{line}\n"))
            .collect();
        let purchase = format!("{functions}STORE_KEY={key_text}\n{purchase}");
        let order = self.shell(&purchase)?.finish()?;
        ensure(order.contains("ord_"), || format!("no order: {order}"))?;
        let forwarded = listener.line("order.created")?;
        let is_accepted = forwarded.contains("→ 204");
        ensure(is_accepted, || format!("the listener shows: {forwarded}"))?;
        let event = word(&forwarded, "evt_").ok_or("no event")?;
        let received = receiver.line("order.created")?;
        ensure(received.contains(&event), || format!("{event} was sent, received: {received}"))?;
        let time = since.elapsed();
        ensure(time < TIME_MAX, || format!("it took {time:?}"))?;
        Ok(format!(
            "the four blocks of the document, run as they are: key, listener, receiver and purchase; the event was forwarded and \
             verified after {:.1} s",
            time.as_secs_f64()
        ))
    }

    /// Runs a block in a shell.
    fn shell(&self, block: &str) -> Result<Shell, Failure> {
        let block = block
            .replace("cargo run -q --bin souk --", &self.souk)
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
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Shell::start(command)
    }
}

/// Returns the first word that begins with a prefix.
fn word(text: &str, prefix: &str) -> Option<String> {
    text.split_whitespace().find(|word| word.starts_with(prefix)).map(str::to_owned)
}

/// A running shell, ended with all it has started when dropped.
struct Shell {
    child: Child,
    lines: Receiver<String>,
}

impl Shell {
    fn start(mut command: Command) -> Result<Self, Failure> {
        use std::os::unix::process::CommandExt;
        // A group of its own, so that the program of the block ends with the shell.
        let mut child = command.process_group(0).spawn()?;
        let (sender, lines) = channel();
        let outputs: [Option<Box<dyn std::io::Read + Send>>; 2] = [
            child.stdout.take().map(|output| Box::new(output) as _),
            child.stderr.take().map(|output| Box::new(output) as _),
        ];
        for output in outputs.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Waits for a line that contains a text.
    fn line(&mut self, text: &str) -> Result<String, Failure> {
        let (since, mut printed) = (Instant::now(), String::new());
        loop {
            let rest = PATIENCE.saturating_sub(since.elapsed());
            match self.lines.recv_timeout(rest) {
                Ok(line) if line.contains(text) => return Ok(line),
                Ok(line) => printed += &format!("{line}\n"),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(format!("no line with {text:?}: {printed}").into());
                }
            }
        }
    }

    /// Waits until the block has ended, and returns what it printed.
    fn finish(mut self) -> Result<String, Failure> {
        let mut printed = String::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            printed += &format!("{line}\n");
        }
        let status = self.child.wait()?;
        ensure(status.success(), || format!("a block failed: {printed}"))?;
        Ok(printed)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ =
            Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}
