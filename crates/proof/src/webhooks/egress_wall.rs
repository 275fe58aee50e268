//! `egress-wall`: a second wall. The worker runs in a network namespace whose rules deny private networks, with its own filter
//! disabled for them: public receivers get their events, private ones nothing.
//!
//! The namespace has two addresses, one of the public internet and one of a private network, at which the same receiver listens.
//! Without the rules both get the event: the check can fail. PostgreSQL is reached through a socket in the file system, which
//! namespaces do not separate. The rules are those of nftables, or of routing (`ip rule … prohibit`) where that is not installed.
//! Both need root; without it the check fails, and in the short form it is skipped and says so.

use std::path::PathBuf;
use std::process::Command;

use primitives::MerchantId;
use testkit::TestDatabase;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixListener};
use tokio::task::JoinHandle;

use super::receiver::Receiver;
use super::site::{Environment, LEASE_SECONDS, PATIENCE, Site};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

const PUBLIC: &str = "1.1.1.1";
const PRIVATE: &str = "10.9.9.9";
const DENIED: [&str; 5] =
    ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"];

const NFTABLES: &str = "table inet souk {
    chain egress {
        type filter hook output priority 0; policy accept;
        ip daddr { DENIED } reject with tcp reset
    }
}";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    if let Some(missing) = missing() {
        return trial.by_tier(Ok(format!("SKIPPED: {missing}")), Err(missing.into()));
    }
    let namespace = Receiver::start_by(&["unshare", "--net"])?;
    let site = Site::open_in(TestDatabase::new().await, namespace).await?;
    let inside = Namespace::of(&site)?;
    inside.run(&["ip", "link", "set", "lo", "up"])?;
    for address in [PUBLIC, PRIVATE] {
        inside.run(&["ip", "address", "add", &format!("{address}/32"), "dev", "lo"])?;
    }
    let merchant = register(&site).await?;
    let worker = inside.worker(&site)?;
    let before = deliver(&site, merchant, 1).await?;
    ensure(before == (1, 1), || format!("without the rules {before:?} requests arrived"))?;
    drop(worker);
    let rules = inside.deny()?;
    let _worker = inside.worker(&site)?;
    let after = deliver(&site, merchant, 2).await?;
    ensure(after == (1, 0), || format!("with the rules {after:?} requests arrived"))?;
    let errors: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT coalesce(error, status::text) FROM webhook_attempt WHERE outcome <> 'delivered'",
    )
    .fetch_all(&mut site.raw().await)
    .await?;
    let is_blocked = errors == ["connect_failed"];
    ensure(is_blocked, || format!("requests into the private network ended with {errors:?}"))?;
    Ok(format!(
        "a worker that may send to {PRIVATE} reaches it without rules of the network, and not with {rules}; {PUBLIC} gets every event"
    ))
}

/// Returns what the check lacks here.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("network namespaces need root");
    }
    let works = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !works("unshare", &["--net", "true"]) {
        return Some("`unshare --net` is not permitted or not installed");
    }
    if !works("ip", &["-V"]) || !works("nsenter", &["--version"]) {
        return Some("`ip` or `nsenter` is not installed");
    }
    None
}

/// Registers both addresses. The filter of this process has to permit the private one.
async fn register(site: &Site) -> Result<MerchantId, Failure> {
    let merchant = site.store("attic").await;
    let mut sql = site.raw().await;
    for (address, path) in [(PUBLIC, "/ok/public"), (PRIVATE, "/ok/private")] {
        let endpoint = site.endpoint(merchant, path).await?;
        sqlx::query("UPDATE webhook_endpoint SET url = $2 WHERE endpoint_id = $1")
            .bind(endpoint.id.uuid())
            .bind(site.receiver.url_at(address, path))
            .execute(&mut sql)
            .await?;
    }
    Ok(merchant)
}

/// Publishes the event of this number, waits until each endpoint had an attempt, and returns the requests that arrived at the
/// public and at the private address.
async fn deliver(
    site: &Site,
    merchant: MerchantId,
    number: i64,
) -> Result<(usize, usize), Failure> {
    let event = site.publish(merchant).await?;
    let attempts = "SELECT count(*) FROM (SELECT event_id FROM webhook_attempt
                    GROUP BY event_id HAVING count(DISTINCT endpoint_id) = 2) AS attempted";
    site.until_count("events attempted at both addresses", attempts, number, PATIENCE).await?;
    let requests = site.receiver.requests()?;
    let of_event = requests.iter().filter(|request| request.event() == event.to_string());
    let (public, private): (Vec<_>, Vec<_>) =
        of_event.partition(|request| request.to.to_string() == PUBLIC);
    Ok((public.len(), private.len()))
}

/// Returns the user of the URL of a database, with a password if there is one, the server, and the name of the database.
fn parts(url: &str) -> Result<(String, String, String), Failure> {
    let rest = url.split_once("://").map(|(_, rest)| rest.split('?').next().unwrap_or(rest));
    let (user, rest) = rest.and_then(|rest| rest.rsplit_once('@')).ok_or("a URL without a user")?;
    let (server, name) = rest.split_once('/').ok_or("a URL without the name of a database")?;
    let server = if server.contains(':') { server.to_owned() } else { format!("{server}:5432") };
    Ok((user.to_owned(), server, name.to_owned()))
}

/// The network namespace of the receiver, and a way to PostgreSQL from there.
struct Namespace {
    pid: String,
    folder: PathBuf,
    forwarder: JoinHandle<()>,
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.forwarder.abort();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Namespace {
    fn of(site: &Site) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("souk-wall-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        // The name that clients of PostgreSQL expect.
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432"))?;
        let (_, server, _) = parts(&site.test.url())?;
        let forwarder = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(server).await?;
                    copy_bidirectional(&mut client, &mut server).await
                });
            }
        });
        Ok(Self { pid: site.receiver.pid().to_string(), folder, forwarder })
    }

    /// The command that runs another one in the namespace.
    fn enter(&self) -> [&str; 4] {
        ["nsenter", "--target", &self.pid, "--net"]
    }

    fn run(&self, command: &[&str]) -> Result<(), Failure> {
        let [program, arguments @ ..] = self.enter();
        let output = Command::new(program).args(arguments).args(command).output()?;
        let why = || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        ensure(output.status.success(), why)
    }

    /// Runs a worker in the namespace whose own filter permits private networks.
    fn worker(&self, site: &Site) -> Result<Souk, Failure> {
        let (user, _, name) = parts(&site.test.url())?;
        let folder = self.folder.display();
        let url = format!("postgres://{user}@localhost/{name}?host={folder}&port=5432");
        let environment: Environment = vec![
            ("SOUK_OUTBOUND_ALLOW", DENIED.join(",")),
            ("SOUK_OUTBOUND_HTTP", String::from("on")),
            ("SOUK_WEBHOOK_LEASE_SECONDS", LEASE_SECONDS.to_string()),
        ];
        Souk::work_by(&self.enter(), &url, &environment)
    }

    /// Denies private networks, and returns with what.
    fn deny(&self) -> Result<&'static str, Failure> {
        let has_nftables = Command::new("nft").arg("--version").output().is_ok();
        if has_nftables {
            let rules = self.folder.join("rules");
            std::fs::write(&rules, NFTABLES.replace("DENIED", &DENIED.join(", ")))?;
            self.run(&["nft", "--file", &rules.display().to_string()])?;
            return Ok("nftables");
        }
        for network in DENIED {
            self.run(&["ip", "rule", "add", "pref", "5", "to", network, "prohibit"])?;
        }
        // The addresses of the machine itself come first otherwise.
        self.run(&["ip", "rule", "add", "pref", "10", "lookup", "local"])?;
        self.run(&["ip", "rule", "del", "pref", "0"])?;
        Ok("rules of routing")
    }
}
