//! What a search costs as the catalog grows.

use super::stage::{Sides, Stage};
use crate::report::{Failure, grouped};
use crate::search::measure::{ByKind, MIXED};
use crate::search::site::Budget;
use crate::table_print::Table;

/// CPU by kind at each size, of each side.
#[derive(Default)]
pub(super) struct Growth {
    kinds: Vec<String>,
    sizes: Vec<u32>,
    exact: Vec<ByKind>,
    budgeted: Vec<ByKind>,
    bare: Vec<ByKind>,
}

impl Growth {
    /// Measures a world, without and with the budget.
    pub(super) async fn measure(
        &mut self,
        stage: &Stage,
        sides: &mut Sides,
    ) -> Result<(), Failure> {
        self.kinds = stage.kinds.iter().map(|(kind, _)| kind.clone()).collect();
        self.kinds.push(String::from(MIXED));
        self.sizes.push(stage.world.size);
        if let Some(bare) = &sides.bare {
            let twice = || -> Result<ByKind, Failure> {
                bare.by_kind(&stage.kinds)?;
                bare.by_kind(&stage.kinds)
            };
            self.bare.push(tokio::task::block_in_place(twice)?);
        }
        if let Some(site) = &mut sides.site {
            // The first time is for caches.
            site.by_kind(&stage.kinds).await?;
            self.exact.push(site.by_kind(&stage.kinds).await?);
            site.serve_again(Budget::Ordinary).await?;
            site.by_kind(&stage.kinds).await?;
            self.budgeted.push(site.by_kind(&stage.kinds).await?);
        }
        Ok(())
    }

    pub(super) fn print(&self) {
        for (name, figures) in [
            ("souk without the work budget", &self.exact),
            ("souk with the work budget", &self.budgeted),
            ("tantivy in-process", &self.bare),
        ] {
            if !figures.is_empty() {
                self.print_side(name, figures);
            }
        }
    }

    /// One column a size, and by which factor it grew since the size before.
    fn print_side(&self, name: &str, figures: &[ByKind]) {
        println!();
        println!("CPU ms of a search as the catalog grows: {name}");
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
            for by_kind in figures {
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
