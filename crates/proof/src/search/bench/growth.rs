//! CPU time of a search by catalog size.

use super::fixture::{Contenders, Fixture};
use crate::report::{Failure, grouped};
use crate::search::measure::{ByKind, MIXED};
use crate::search::souk_search::Budget;
use crate::table_print::Table;

/// CPU time by kind at each size, for each engine.
#[derive(Default)]
pub(super) struct Growth {
    kinds: Vec<String>,
    sizes: Vec<u32>,
    exact: Vec<ByKind>,
    budgeted: Vec<ByKind>,
    bare: Vec<ByKind>,
}

impl Growth {
    /// Measures a catalog, without and with the work budget.
    pub(super) async fn measure(
        &mut self,
        fixture: &Fixture,
        contenders: &mut Contenders,
    ) -> Result<(), Failure> {
        self.kinds = fixture.kinds.iter().map(|(kind, _)| kind.clone()).collect();
        self.kinds.push(String::from(MIXED));
        self.sizes.push(fixture.catalog.size);
        if let Some(bare) = &contenders.bare {
            let twice = || -> Result<ByKind, Failure> {
                bare.by_kind(&fixture.kinds)?;
                bare.by_kind(&fixture.kinds)
            };
            self.bare.push(tokio::task::block_in_place(twice)?);
        }
        if let Some(souk) = &mut contenders.souk {
            // The first run is for warm-up.
            souk.by_kind(&fixture.kinds).await?;
            self.exact.push(souk.by_kind(&fixture.kinds).await?);
            souk.restart_server(Budget::Default).await?;
            souk.by_kind(&fixture.kinds).await?;
            self.budgeted.push(souk.by_kind(&fixture.kinds).await?);
        }
        Ok(())
    }

    pub(super) fn print(&self) {
        for (name, measured) in [
            ("souk without the work budget", &self.exact),
            ("souk with the work budget", &self.budgeted),
            ("tantivy in-process", &self.bare),
        ] {
            if !measured.is_empty() {
                self.print_engine(name, measured);
            }
        }
    }

    /// Prints a column for each size, with the growth factor since the previous size.
    fn print_engine(&self, name: &str, measured: &[ByKind]) {
        println!();
        println!("CPU ms per search by catalog size: {name}");
        let mut head = vec![String::from("kind")];
        for (index, size) in self.sizes.iter().enumerate() {
            head.push(grouped(*size));
            if index > 0 {
                head.push(String::from("growth"));
            }
        }
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let mut table = Table::new(&head);
        for kind in &self.kinds {
            let mut row = vec![kind.clone()];
            let mut before: Option<f64> = None;
            for by_kind in measured {
                let micros = by_kind.get(kind).copied().unwrap_or(f64::NAN);
                row.push(format!("{:.2}", micros / 1_000.0));
                if let Some(before) = before {
                    row.push(format!("{:.1}×", micros / before));
                }
                before = Some(micros);
            }
            table.add(row);
        }
        table.print();
    }
}
