//! Checkouts completed per second over MCP, with keys and limits, against pgbench sending the same
//! statements to PostgreSQL: the statements of one call are recorded and replayed for other carts.
//! Then the same with one product for all clients, beside the rate at which PostgreSQL updates one row.

use std::time::{Duration, Instant};

use primitives::{CartId, Id, KeyId, ProductId};
use sqlx::PgConnection;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::store::{Agent, Reply, SLUG, TestStore, merchant};
use crate::engines::Engines;
use crate::http::Client;
use crate::identity::{Account, agent_key_for};
use crate::pgbench::Pgbench;
use crate::recording::{Statement, record};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, cpu_micros};
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
const CLIENTS: usize = 16;
/// Checkouts per client in a round.
const TURNS: usize = 250;
/// Accounts, and keys of each: enough that no rate limit is reached.
const ACCOUNTS: usize = 20;
const KEYS: usize = 100;
/// Minimum time between the starts of two rounds of Souk, for the same reason.
const ROUND_INTERVAL: Duration = Duration::from_secs(20);
const STOCK: i32 = 1_000_000;
/// Target of the ratio to pgbench.
const TARGET: f64 = 0.5;
/// Distance between the row numbers of two clients.
const STRIDE: usize = 1_000_000;

/// How the clients share products.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contention {
    /// Each client buys its own product.
    PerClient,
    /// All clients buy the same product.
    Shared,
}

/// The result of a round: checkouts per second, and CPU per checkout in microseconds.
struct Round {
    rate: f64,
    postgres: f64,
    souk: f64,
}

struct Bench {
    store: TestStore,
    souk: Souk,
    keys: Vec<(KeyId, String)>,
    template: CartId,
    script: String,
    variables: Vec<(String, String)>,
    sql: PgConnection,
    series: u32,
    /// The last field, so that the engines are stopped after everything else is dropped.
    engines: Engines,
}

pub(crate) async fn bench() -> Result<(), Failure> {
    let mut bench = Bench::open().await?;
    println!(
        "{CLIENTS} clients, {} keys, limits on, synchronous_commit = on; {} statements per checkout",
        bench.keys.len(),
        bench.script.matches(';').count(),
    );
    println!(
        "checkouts per second, median of {ROUNDS} interleaved rounds of {} (min–max); the target of the ratio is {TARGET}",
        CLIENTS * TURNS,
    );
    let mut rates = Table::new(&["products", "souk", "pgbench", "ratio"]);
    let mut costs = Table::new(&[
        "CPU per checkout, µs",
        "souk",
        "PostgreSQL with souk",
        "PostgreSQL with pgbench",
    ]);
    for (name, contention) in
        [("one per client", Contention::PerClient), ("one for all", Contention::Shared)]
    {
        let (ours, theirs) = bench.compare(contention).await?;
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours.rate / theirs.rate);
        let show =
            |rounds: &[Round], of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of)).show(0);
        rates.add(vec![
            name.to_owned(),
            show(&ours, |round| round.rate),
            show(&theirs, |round| round.rate),
            Spread::of(ratios).show(2),
        ]);
        costs.add(vec![
            name.to_owned(),
            show(&ours, |round| round.souk),
            show(&ours, |round| round.postgres),
            show(&theirs, |round| round.postgres),
        ]);
    }
    rates.print();
    costs.print();
    let bare = bench.bare_updates().await?;
    println!(
        "updates of one row per second by {CLIENTS} clients, without checkout: {}",
        bare.show(0)
    );
    Ok(())
}

impl Bench {
    async fn open() -> Result<Self, Failure> {
        let engines = Engines::start()?;
        let test = TestDatabase::on(&engines.database_url).await;
        let store = TestStore::create_in(test, &[STOCK; CLIENTS]).await?;
        let settings =
            [("SOUK_LIMITS", String::from("on")), ("REDIS_URL", engines.redis_url.clone())];
        let free = Souk::serve(&store.url(), &[]).await?;
        let mut keys = Vec::new();
        for number in 0..ACCOUNTS {
            let email = format!("agent-{number}@example.com");
            let account = Account::create(&store.url(), &email, "ENTERPRISE").await?;
            let token = account.log_in(free.port).await?;
            for _ in 0..KEYS {
                let scopes = ["agent:cart", "agent:checkout"];
                let (id, secret) = agent_key_for(free.port, &token, &scopes).await?;
                keys.push((id.parse()?, secret));
            }
        }
        drop(free);
        let souk = Souk::serve_with(&store.url(), &[], &settings).await?;
        let sql = store.test.raw().await;
        let (template, script, variables) = (CartId::from_random(0), String::new(), Vec::new());
        let mut bench =
            Self { engines, store, souk, keys, template, script, variables, sql, series: 0 };
        bench.record_script().await?;
        Ok(bench)
    }

    /// Completes carts and records the statements that the server sends to PostgreSQL.
    async fn record_script(&mut self) -> Result<(), Failure> {
        let agent = Agent::with_key(&self.keys[0].1);
        let mut client = agent.client(self.souk.port);
        let product = self.store.products[0];
        // The first calls fill the caches of keys and stores.
        for number in 0..3 {
            let cart = agent.cart(&mut client, &[(product, 1)]).await?;
            agent.complete(&mut client, &cart, Some(&format!("first-{number}"))).await.success()?;
        }
        self.template = agent.cart(&mut client, &[(product, 1)]).await?.parse()?;
        let recorded = agent.cart(&mut client, &[(product, 1)]).await?;
        let done =
            async { agent.complete(&mut client, &recorded, Some("recorded")).await.success() };
        let (session, recorded_statements) = record(&self.engines, done).await?;
        let statements = recorded_statements
            .iter()
            .find_map(|statements| transaction(statements))
            .ok_or("the log of PostgreSQL has no checkout transaction")?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let checkout: primitives::CheckoutId = checkout.parse()?;
        let cart: CartId = recorded.parse()?;
        let own = |value: &str| {
            let known = [
                (cart.uuid().to_string(), "(:series || lpad(to_hex(:row::bigint), 24, '0'))::uuid"),
                (checkout.uuid().to_string(), "md5(:series || :row::text)::uuid"),
                (String::from("recorded"), "(:series || :row::text)"),
            ];
            let own = known.iter().find(|(known, _)| known == value);
            own.map(|(_, own)| (*own).to_owned()).or_else(|| self.other_product(value))
        };
        let mut script =
            format!("\\set turn :turn + 1\n\\set row :client_id * {STRIDE} + :turn - 1\n");
        let mut variables = Vec::new();
        for (number, statement) in statements.iter().enumerate() {
            script.push_str(&statement.script(&format!("s{number}"), own, &mut variables)?);
        }
        (self.script, self.variables) = (script, variables);
        Ok(())
    }

    /// Returns an expression that replaces the recorded product in a value by the client's product.
    /// `None` if the value does not contain it.
    fn other_product(&self, value: &str) -> Option<String> {
        let recorded = self.store.products[0];
        let (bare, prefixed) = (recorded.uuid().to_string(), recorded.to_string());
        let names: &dyn Fn(&ProductId) -> String = if value.contains(&bare) {
            &|product| product.uuid().to_string()
        } else if value.contains(&prefixed) {
            &|product| product.to_string()
        } else {
            return None;
        };
        let all: Vec<String> = self.store.products.iter().map(names).collect();
        let kind = if value.starts_with('[') || value.starts_with("{\"") {
            "jsonb"
        } else if value.starts_with('{') {
            "uuid[]"
        } else {
            "uuid"
        };
        let escaped = value.replace('\\', "\\\\").replace('\'', "''").replace(':', "\\x3a");
        Some(format!(
            "replace(E'{escaped}', '{}', (ARRAY['{}'])[:product_index])::{kind}",
            names(&recorded),
            all.join("', '")
        ))
    }

    /// Alternates rounds of both, so that a slow minute of the machine affects both.
    async fn compare(
        &mut self,
        contention: Contention,
    ) -> Result<(Vec<Round>, Vec<Round>), Failure> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut last = tokio::time::Instant::now();
        for round in 0..=ROUNDS {
            for turn in 0..2 {
                self.fill(contention).await?;
                if (round + turn) % 2 == 0 {
                    tokio::time::sleep_until(last + ROUND_INTERVAL).await;
                    last = tokio::time::Instant::now();
                    ours.push(self.souk_round().await?);
                } else {
                    theirs.push(self.pgbench_round(contention).await?);
                }
                self.check().await?;
            }
            if let (Some(ours), Some(theirs)) = (ours.last(), theirs.last()) {
                let (souk, pgbench) = (ours.rate, theirs.rate);
                println!("round {round} of {ROUNDS}: souk {souk:.0}, pgbench {pgbench:.0}");
            }
        }
        // The first round of each is a warm-up.
        Ok((ours.split_off(1), theirs.split_off(1)))
    }

    /// Creates the carts of a round as copies of one; the cart of each turn belongs to one of the
    /// client's keys.
    async fn fill(&mut self, contention: Contention) -> Result<(), Failure> {
        self.series += 1;
        let keys: Vec<_> = self.keys.iter().map(|(id, _)| id.uuid()).collect();
        let product = |client: usize| if contention == Contention::Shared { 0 } else { client };
        let names = (0..CLIENTS).map(|client| self.store.products[product(client)].to_string());
        let names: Vec<String> = names.collect();
        sqlx::query(
            "INSERT INTO cart
             SELECT (jsonb_populate_record(cart, jsonb_build_object(
                 'cart_id', ($1 || lpad(to_hex(client * $2 + turn), 24, '0'))::uuid,
                 'agent_key_id', ($3::uuid[])[1 + client + $4 * (turn % (cardinality($3) / $4))],
                 'lines', replace(lines::text, $5, ($6::text[])[1 + client])::jsonb))).*
             FROM cart, generate_series(0, $4 - 1) AS client, generate_series(0, $7 - 1) AS turn
             WHERE cart_id = $8",
        )
        .bind(self.series_name())
        .bind(i64::try_from(STRIDE)?)
        .bind(keys)
        .bind(i32::try_from(CLIENTS)?)
        .bind(self.store.products[0].to_string())
        .bind(names)
        .bind(i32::try_from(TURNS)?)
        .bind(self.template.uuid())
        .execute(&mut self.sql)
        .await?;
        self.vacuum().await
    }

    /// Vacuums and checkpoints, so that neither happens during the measurement.
    async fn vacuum(&mut self) -> Result<(), Failure> {
        for verb in ["VACUUM ANALYZE", "CHECKPOINT"] {
            sqlx::raw_sql(verb).execute(&mut self.sql).await?;
        }
        Ok(())
    }

    /// The first digits of the cart ids of a round.
    fn series_name(&self) -> String {
        format!("{:08x}", self.series)
    }

    /// Fails unless every cart of the round was checked out.
    async fn check(&mut self) -> Result<(), Failure> {
        let started: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM cart JOIN checkout_session USING (merchant_id, cart_id)
             WHERE cart.status = 'checkout_started' AND is_holding AND cart_id::text LIKE $1 || '%'",
        )
        .bind(self.series_name())
        .fetch_one(&mut self.sql)
        .await?;
        ensure(started == i64::try_from(CLIENTS * TURNS)?, || {
            format!("{started} of {} carts were checked out", CLIENTS * TURNS)
        })
    }

    async fn souk_round(&self) -> Result<Round, Failure> {
        let (postgres, souk) = (self.engines.postgres_cpu_micros()?, cpu_micros(self.souk.pid())?);
        let since = Instant::now();
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            let own: Vec<Agent> = self
                .keys
                .iter()
                .skip(client)
                .step_by(CLIENTS)
                .map(|(_, key)| Agent::with_key(key))
                .collect();
            clients.spawn(buy(own, self.souk.port, self.series_name(), client));
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        let elapsed = since.elapsed().as_secs_f64();
        Ok(Round {
            rate: number(CLIENTS * TURNS) / elapsed,
            postgres: each(self.engines.postgres_cpu_micros()?.saturating_sub(postgres)),
            souk: each(cpu_micros(self.souk.pid())?.saturating_sub(souk)),
        })
    }

    async fn pgbench_round(&self, contention: Contention) -> Result<Round, Failure> {
        let mut variables = self.variables.clone();
        variables.push((String::from("turn"), String::from("0")));
        variables.push((String::from("series"), self.series_name()));
        let product_index = match contention {
            Contention::PerClient => "\\set product_index :client_id + 1\n",
            Contention::Shared => "\\set product_index 1\n",
        };
        let url = self.store.url();
        let bench = Pgbench {
            url: &url,
            clients: u32::try_from(CLIENTS)?,
            transactions: u64::try_from(TURNS)?,
            script: &format!("{product_index}{}", self.script),
            variables: &variables,
        };
        let postgres = self.engines.postgres_cpu_micros()?;
        let rate = bench.run().await?;
        let postgres = each(self.engines.postgres_cpu_micros()?.saturating_sub(postgres));
        Ok(Round { rate, postgres, souk: 0.0 })
    }

    /// Measures the rate of updates of one row.
    async fn bare_updates(&mut self) -> Result<Spread, Failure> {
        let script = format!(
            "UPDATE product SET held = held + 1 WHERE merchant_id = '{}' AND product_id = '{}'
             AND stock_quantity - held >= 1;",
            merchant().uuid(),
            self.store.products[0].uuid()
        );
        let url = self.store.url();
        let mut rates = Vec::new();
        for _ in 0..ROUNDS {
            self.vacuum().await?;
            let bench = Pgbench {
                url: &url,
                clients: u32::try_from(CLIENTS)?,
                transactions: u64::try_from(TURNS * 4)?,
                script: &script,
                variables: &[],
            };
            rates.push(bench.run().await?);
        }
        Ok(Spread::of(rates))
    }
}

/// Completes the carts of one client, each with its key, over one connection.
async fn buy(agents: Vec<Agent>, port: u16, series: String, client: usize) -> Result<(), Failure> {
    let mut connection = Client::new(port);
    for (turn, agent) in (0..TURNS).zip(agents.iter().cycle()) {
        let cart = format!("cart_{series}{:024x}", client * STRIDE + turn);
        connection = agent.reuse(connection);
        let reply = agent.complete(&mut connection, &cart, Some(&cart)).await;
        ensure(matches!(reply, Reply::Success(_)), || format!("{cart} at {SLUG}: {reply:?}"))?;
    }
    Ok(())
}

/// Returns the transaction that creates a session, from its BEGIN to its COMMIT.
fn transaction(statements: &[Statement]) -> Option<&[Statement]> {
    let insert = statements.iter().position(|one| one.sql.contains("INTO checkout_session"))?;
    let begin = statements[..insert].iter().rposition(|one| one.sql.starts_with("BEGIN"))?;
    let end = statements[insert..].iter().position(|one| one.sql == "COMMIT")?;
    statements.get(begin..=insert + end)
}

fn each(micros: u64) -> f64 {
    u32::try_from(micros).map_or(f64::INFINITY, f64::from) / number(CLIENTS * TURNS)
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
