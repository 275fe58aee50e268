//! The measured operations: each over HTTP with the keys of many stores and agents, and as the statements that the server sends
//! for it, recorded and replayed by pgbench.

mod prepare;
mod request;
mod script;

use std::time::Instant;

use primitives::{Id, MerchantId, OrderId};
use serde_json::{Value, json};
use sqlx::PgConnection;
use testkit::TestDatabase;
use tokio::task::JoinSet;
use uuid::Uuid;

use self::prepare::{Prepared, prepare};
use self::request::Request;
use self::script::Script;
use crate::engines::Engines;
use crate::http::{Client, tool_call};
use crate::pgbench::Pgbench;
use crate::report::Failure;
use crate::souk::{Souk, cpu_micros};
use crate::table_print::Spread;

pub(super) const CLIENTS: usize = 16;
/// Calls of each client in a round.
const TURNS: usize = 250;
/// Calls of the one client that measures latency.
const SAMPLES: usize = 300;
/// Stores that are called. The others only have orders.
pub(super) const MEASURED_STORES: usize = 32;
/// Keys of the agents that buy at a store.
pub(super) const AGENTS_PER_STORE: usize = 5;
/// Recordings that are tried.
const RECORDINGS_MAX: usize = 5;
/// Distance between the row numbers of two clients.
const STRIDE: usize = 1_000_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// `onx_get_orders` at a store, with a key that sees its own orders.
    OrdersOfKey,
    /// The same with a key that sees the orders of the five keys of its account.
    OrdersOfAccount,
    /// `GET /merchant/orders`.
    OrdersOfStore,
    /// `GET /merchant/orders` with a status.
    OrdersOfStatus,
    /// `PATCH /merchant/orders/{id}`: a pending order is confirmed.
    Confirm,
}

impl Operation {
    pub(super) const ALL: [Self; 5] = [
        Self::OrdersOfKey,
        Self::OrdersOfAccount,
        Self::OrdersOfStore,
        Self::OrdersOfStatus,
        Self::Confirm,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::OrdersOfKey => "onx_get_orders",
            Self::OrdersOfAccount => "onx_get_orders, account of five keys",
            Self::OrdersOfStore => "merchant listing",
            Self::OrdersOfStatus => "merchant listing by status",
            Self::Confirm => "status change",
        }
    }
}

/// The result of a round: calls per second, and CPU per call in microseconds.
pub(super) struct Round {
    pub(super) rate: f64,
    pub(super) postgres: f64,
    pub(super) souk: f64,
}

/// A store that is called, and whoever calls it.
struct Store {
    merchant: MerchantId,
    slug: String,
    key: String,
    /// The first sees the orders of all.
    agents: Vec<String>,
}

/// A server with stores and agents.
pub(super) struct Workbench {
    souk: Souk,
    stores: Vec<Store>,
    /// The ids of the agents' keys, store by store.
    pub(super) key_ids: Vec<Uuid>,
    /// An order that was completed, and one to which nothing has happened.
    pub(super) templates: [Uuid; 2],
    scripts: Vec<(Operation, Script)>,
    series: u32,
    sql: PgConnection,
    test: TestDatabase,
    /// The last field, so that the engines are stopped after everything else is dropped.
    engines: Engines,
}

impl Workbench {
    pub(super) async fn open() -> Result<Self, Failure> {
        let engines = Engines::start()?;
        let test = TestDatabase::on(&engines.database_url).await;
        let Prepared { souk, stores, key_ids, templates } = prepare(&test).await?;
        let (scripts, sql) = (Vec::new(), test.raw().await);
        Ok(Self { souk, stores, key_ids, templates, scripts, series: 0, sql, test, engines })
    }

    /// Opens a connection without row-level security.
    pub(super) async fn raw(&self) -> PgConnection {
        self.test.raw().await
    }

    /// Records the statements of an operation, one variant for each client.
    pub(super) async fn record(&mut self, operation: Operation) -> Result<(), Failure> {
        // A recording that has caught a statement of the server's own, such as one for metrics, is repeated.
        for _ in 1..RECORDINGS_MAX {
            if self.record_once(operation).await.is_ok() {
                return Ok(());
            }
        }
        self.record_once(operation).await
    }

    async fn record_once(&mut self, operation: Operation) -> Result<(), Failure> {
        self.fill(CLIENTS, 4).await?;
        let mut clients: Vec<Client> = Vec::new();
        for client in 0..CLIENTS {
            let mut connection = Client::new(self.souk.port);
            // The first calls fill the caches of keys and stores, and prepare the statements.
            for turn in 0..3 {
                connection = self.request(operation, client, turn).send(connection).await?;
            }
            clients.push(connection);
        }
        let script = match operation {
            Operation::Confirm => self.record_change(clients).await?,
            _ => self.record_reads(operation, clients).await?,
        };
        self.scripts.retain(|(known, _)| *known != operation);
        self.scripts.push((operation, script));
        Ok(())
    }

    async fn record_reads(
        &mut self,
        operation: Operation,
        clients: Vec<Client>,
    ) -> Result<Script, Failure> {
        let calls = async {
            for (client, connection) in clients.into_iter().enumerate() {
                self.request(operation, client, 3).send(connection).await?;
            }
            Ok(())
        };
        let ((), recorded) = crate::recording::record(&self.engines, calls).await?;
        Script::of_reads(&recorded, CLIENTS)
    }

    async fn record_change(&mut self, mut clients: Vec<Client>) -> Result<Script, Failure> {
        let request = self.request(Operation::Confirm, 0, 3);
        let connection = clients.swap_remove(0);
        let call = async { request.send(connection).await };
        let (_, recorded) = crate::recording::record(&self.engines, call).await?;
        let order = self.order(0, 3);
        let event: Uuid =
            sqlx::query_scalar("SELECT event_id FROM webhook_event WHERE subject = $1")
                .bind(order.uuid())
                .fetch_one(&mut self.sql)
                .await?;
        let merchants: Vec<Uuid> = self.stores.iter().map(|store| store.merchant.uuid()).collect();
        Script::of_change(&recorded, order.uuid(), event, &merchants[..CLIENTS])
    }

    /// Calls per second of all clients.
    pub(super) async fn souk_round(&mut self, operation: Operation) -> Result<Round, Failure> {
        self.renew(operation, CLIENTS, TURNS).await?;
        let (postgres, souk) = (self.engines.postgres_cpu_micros()?, cpu_micros(self.souk.pid())?);
        let since = Instant::now();
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            let requests: Vec<Request> =
                (0..TURNS).map(|turn| self.request(operation, client, turn)).collect();
            let port = self.souk.port;
            clients.spawn(async move {
                let mut connection = Client::new(port);
                for request in requests {
                    connection = request.send(connection).await?;
                }
                Ok::<_, Failure>(())
            });
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

    /// The same for the statements alone.
    pub(super) async fn pgbench_round(&mut self, operation: Operation) -> Result<Round, Failure> {
        self.renew(operation, CLIENTS, TURNS).await?;
        let before = self.engines.postgres_cpu_micros()?;
        let rate = self.pgbench(operation, CLIENTS, TURNS).await?;
        let postgres = each(self.engines.postgres_cpu_micros()?.saturating_sub(before));
        Ok(Round { rate, postgres, souk: 0.0 })
    }

    /// The median latency of calls of one client.
    pub(super) async fn call_millis(&mut self, operation: Operation) -> Result<f64, Failure> {
        self.renew(operation, 1, SAMPLES).await?;
        let mut connection = Client::new(self.souk.port);
        let mut millis = Vec::new();
        for turn in 0..SAMPLES {
            let client = if operation == Operation::Confirm { 0 } else { turn % CLIENTS };
            let request = self.request(operation, client, turn);
            let since = Instant::now();
            connection = request.send(connection).await?;
            millis.push(since.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(Spread::of(millis).median)
    }

    /// The mean latency of the statements alone, for one client.
    pub(super) async fn statement_millis(&mut self, operation: Operation) -> Result<f64, Failure> {
        self.renew(operation, 1, SAMPLES).await?;
        Ok(1_000.0 / self.pgbench(operation, 1, SAMPLES).await?)
    }

    /// Runs pgbench and returns the calls per second.
    async fn pgbench(
        &self,
        operation: Operation,
        clients: usize,
        turns: usize,
    ) -> Result<f64, Failure> {
        let script = self.scripts.iter().find(|(known, _)| *known == operation);
        let (_, script) = script.ok_or("the statements were not recorded")?;
        let mut variables = script.variables.clone();
        variables.push((String::from("turn"), String::from("0")));
        variables.push((String::from("series"), self.series_name()));
        let url = self.test.url();
        let transactions = u64::try_from(turns.div_ceil(script.calls))?;
        let clients = u32::try_from(clients)?;
        let bench = Pgbench {
            url: &url,
            clients,
            transactions,
            script: &script.text,
            variables: &variables,
        };
        Ok(bench.run().await? * number(script.calls))
    }

    /// Creates the orders of a round, if the operation needs new ones, and lets no vacuum happen during the measurement.
    async fn renew(
        &mut self,
        operation: Operation,
        clients: usize,
        turns: usize,
    ) -> Result<(), Failure> {
        if operation != Operation::Confirm {
            return Ok(());
        }
        self.fill(clients, turns).await?;
        for verb in ["VACUUM ANALYZE webhook_event, outbox, order_history", "CHECKPOINT"] {
            sqlx::raw_sql(verb).execute(&mut self.sql).await?;
        }
        Ok(())
    }

    /// Creates pending orders: each client has its own at its own store.
    async fn fill(&mut self, clients: usize, turns: usize) -> Result<(), Failure> {
        self.series += 1;
        let merchants: Vec<Uuid> = self.stores.iter().map(|store| store.merchant.uuid()).collect();
        sqlx::query(
            "INSERT INTO placed_order
             SELECT (jsonb_populate_record(placed_order, jsonb_build_object(
                 'merchant_id', ($1::uuid[])[1 + client], 'order_id', ($2 || lpad(to_hex(client * $3 + turn), 24, '0'))::uuid,
                 'checkout_id', gen_random_uuid(), 'cart_id', gen_random_uuid(), 'created_at', now()))).*
             FROM placed_order, generate_series(0, $4 - 1) AS client, generate_series(0, $5 - 1) AS turn
             WHERE order_id = $6",
        )
        .bind(merchants)
        .bind(self.series_name())
        .bind(i32::try_from(STRIDE)?)
        .bind(i32::try_from(clients)?)
        .bind(i32::try_from(turns)?)
        .bind(self.templates[1])
        .execute(&mut self.sql)
        .await?;
        Ok(())
    }

    /// The first digits of the order ids of a round.
    fn series_name(&self) -> String {
        format!("{:08x}", self.series)
    }

    /// The order of a turn of a client in this round.
    fn order(&self, client: usize, turn: usize) -> OrderId {
        let row = u128::try_from(client * STRIDE + turn).unwrap_or(0);
        OrderId::from_uuid(Uuid::from_u128((u128::from(self.series) << 96) | row))
    }

    /// The call of a turn of a client.
    fn request(&self, operation: Operation, client: usize, turn: usize) -> Request {
        let store = &self.stores[client];
        match operation {
            Operation::OrdersOfKey | Operation::OrdersOfAccount => {
                let at = if operation == Operation::OrdersOfAccount {
                    0
                } else {
                    1 + turn % (AGENTS_PER_STORE - 1)
                };
                let body = tool_call("onx_get_orders", &json!({}));
                Request::by_agent(&store.agents[at], format!("/{}/mcp", store.slug), &body)
            }
            Operation::OrdersOfStore => {
                Request::by_store(&store.key, "GET", "/merchant/orders", &Value::Null)
            }
            Operation::OrdersOfStatus => Request::by_store(
                &store.key,
                "GET",
                "/merchant/orders?status=completed",
                &Value::Null,
            ),
            Operation::Confirm => {
                let path = format!("/merchant/orders/{}", self.order(client, turn));
                Request::by_store(&store.key, "PATCH", &path, &json!({ "action": "confirm" }))
            }
        }
    }
}

fn each(micros: u64) -> f64 {
    u32::try_from(micros).map_or(f64::INFINITY, f64::from) / number(CLIENTS * TURNS)
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
