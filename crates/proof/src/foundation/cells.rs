//! `cells`: with two cells each merchant is served by exactly one, and a move takes effect for writes
//! at once, for reads with the next refresh of the directory.

use database::{Database, DatabaseError, Reading, Work, shard_of};
use primitives::{Id, MerchantId};
use rand::RngExt;
use sqlx::AssertSqlSafe;
use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure};

const MERCHANTS: usize = 200;
/// Shards below this number belong to the first cell.
const BORDER: u16 = 400;

struct Cells {
    first: TestDatabase,
    second: TestDatabase,
}

/// What a cell accepts for a merchant.
#[derive(Debug, PartialEq, Eq)]
struct Admitted {
    reads: bool,
    writes: bool,
}

const SERVED: Admitted = Admitted { reads: true, writes: true };
const REJECTED: Admitted = Admitted { reads: false, writes: false };

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let mut rng = trial.rng(5);
    let cells = Cells {
        first: TestDatabase::of_cell("cell-1").await,
        second: TestDatabase::of_cell("cell-2").await,
    };
    let split = format!("UPDATE platform.cell_shard SET cell = 'cell-2' WHERE shard >= {BORDER}");
    cells.change_directory(&split).await?;
    cells.refresh().await?;
    let merchants: Vec<MerchantId> =
        (0..MERCHANTS).map(|_| MerchantId::from_random(rng.random())).collect();
    let mut of_first = 0;
    for merchant in &merchants {
        let is_first = shard_of(*merchant) < BORDER;
        of_first += usize::from(is_first);
        cells.expect(*merchant, is_first).await?;
    }
    ensure(of_first > 0 && of_first < MERCHANTS, || String::from("all merchants are in one cell"))?;
    cells.move_one(merchants[0]).await?;
    Ok(format!(
        "{MERCHANTS} merchants in two cells ({of_first} and {}): one serves each, the other rejects it; \
         a move applies to writes at once",
        MERCHANTS - of_first,
    ))
}

impl Cells {
    /// Changes the directory, of which every cell has a copy.
    async fn change_directory(&self, statement: &str) -> Result<(), Failure> {
        let statement = format!("{statement}; UPDATE platform.cell_epoch SET epoch = epoch + 1");
        for cell in [&self.first, &self.second] {
            let change = sqlx::raw_sql(AssertSqlSafe(statement.clone()));
            change.execute(&mut cell.raw().await).await?;
        }
        Ok(())
    }

    async fn refresh(&self) -> Result<(), Failure> {
        self.first.database().refresh_directory().await?;
        self.second.database().refresh_directory().await?;
        Ok(())
    }

    async fn expect(&self, merchant: MerchantId, is_first: bool) -> Result<(), Failure> {
        let (here, there) = if is_first { (SERVED, REJECTED) } else { (REJECTED, SERVED) };
        self.expect_service(merchant, &here, &there).await
    }

    async fn expect_service(
        &self,
        merchant: MerchantId,
        first: &Admitted,
        second: &Admitted,
    ) -> Result<(), Failure> {
        for (cell, expected) in [(&self.first, first), (&self.second, second)] {
            let found = service(cell.database(), merchant).await?;
            ensure(found == *expected, || {
                let shard = shard_of(merchant);
                format!("{merchant} of shard {shard}: got {found:?}, expected {expected:?}")
            })?;
        }
        Ok(())
    }

    /// Moves a merchant to the other cell with an override. Until the cells refresh their directory,
    /// the old cell still serves its reads and already rejects its writes.
    async fn move_one(&self, merchant: MerchantId) -> Result<(), Failure> {
        let was_first = shard_of(merchant) < BORDER;
        let target = if was_first { "cell-2" } else { "cell-1" };
        let moved = format!(
            "INSERT INTO platform.cell_override (merchant_id, cell) VALUES ('{}', '{target}')",
            merchant.uuid(),
        );
        self.change_directory(&moved).await?;
        let old = Admitted { reads: true, writes: false };
        let new = Admitted { reads: false, writes: true };
        let (first, second) = if was_first { (old, new) } else { (new, old) };
        self.expect_service(merchant, &first, &second).await?;
        self.refresh().await?;
        self.expect(merchant, !was_first).await
    }
}

async fn service(database: &Database, merchant: MerchantId) -> Result<Admitted, Failure> {
    let reads = unless_wrong_cell(Reading::for_store(database, merchant))?;
    let writes = unless_wrong_cell(Work::for_store(database, merchant).await)?;
    Ok(Admitted { reads, writes })
}

fn unless_wrong_cell<T>(opened: Result<T, DatabaseError>) -> Result<bool, Failure> {
    match opened {
        Ok(_) => Ok(true),
        Err(DatabaseError::WrongCell { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
