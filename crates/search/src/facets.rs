//! How results spread over brands, categories, prices and the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use merchants::Band;
use schemars::JsonSchema;
use serde::Serialize;
use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::roster::{Hot, Roster};

/// Values shown of each kind.
const VALUES_MAX: usize = 20;

/// The upper ends of the price ranges, in whole units of the currency.
const PRICE_ENDS: [u64; 8] = [10, 25, 50, 100, 250, 500, 1_000, u64::MAX];

/// How results spread, the most frequent values first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facets {
    /// Who makes them.
    pub brand: Vec<FacetValue>,
    /// Where they stand in their stores' trees.
    pub category: Vec<FacetValue>,
    /// Who sells them.
    pub merchant: Vec<FacetValue>,
    /// The trust labels of who sells them.
    pub verification_level: Vec<FacetValue>,
    /// Whether they can be had.
    pub stock_status: Vec<FacetValue>,
    /// New or not.
    pub condition: Vec<FacetValue>,
    /// What they are priced in.
    pub currency: Vec<FacetValue>,
    /// What they cost: `0-10` means below 10.
    pub price: Vec<FacetValue>,
}

/// One value and how many results have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FacetValue {
    /// The value, as the filter of that name takes it.
    pub value: String,
    /// How many results have it.
    pub count: i64,
}

/// The counts of a walk so far.
#[derive(Default)]
pub(crate) struct Count {
    brands: BTreeMap<String, f64>,
    categories: BTreeMap<String, f64>,
    stores: BTreeMap<u32, f64>,
    bands: BTreeMap<Option<Band>, f64>,
    stock: [f64; 6],
    conditions: [f64; 3],
    currencies: [f64; 3],
    prices: [f64; PRICE_ENDS.len()],
}

/// The counts of one segment.
pub(crate) struct SegmentCount {
    brand: Option<(StrColumn, Vec<u32>)>,
    category: Option<(StrColumn, Vec<u32>)>,
    price: Arc<dyn ColumnValues<u64>>,
    currency: Arc<dyn ColumnValues<u64>>,
    stock: Arc<dyn ColumnValues<u64>>,
    condition: Arc<dyn ColumnValues<u64>>,
    stores: BTreeMap<u32, u32>,
    bands: BTreeMap<Option<Band>, u32>,
    by_stock: [u32; 6],
    by_condition: [u32; 3],
    by_currency: [u32; 3],
    by_price: [u32; PRICE_ENDS.len()],
}

impl SegmentCount {
    pub(crate) fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        let text = |name: &str| -> tantivy::Result<Option<(StrColumn, Vec<u32>)>> {
            let column = columns.str(name)?;
            Ok(column.map(|column| {
                let counts = vec![0; column.num_terms()];
                (column, counts)
            }))
        };
        Ok(Self {
            brand: text("brand_name")?,
            category: text("category_path")?,
            price: columns.column_first_or_default("price_micros")?,
            currency: columns.column_first_or_default("currency")?,
            stock: columns.column_first_or_default("stock")?,
            condition: columns.column_first_or_default("condition")?,
            stores: BTreeMap::new(),
            bands: BTreeMap::new(),
            by_stock: [0; 6],
            by_condition: [0; 3],
            by_currency: [0; 3],
            by_price: [0; PRICE_ENDS.len()],
        })
    }

    pub(crate) fn see(&mut self, doc: DocId, store: u32, hot: Hot) {
        for (column, counts) in [&mut self.brand, &mut self.category].into_iter().flatten() {
            for ordinal in column.term_ords(doc) {
                bump(counts, ordinal);
            }
        }
        *self.stores.entry(store).or_insert(0) += 1;
        let band = (hot.group < 2).then(|| Band::of(f64::from(hot.score)));
        *self.bands.entry(band).or_insert(0) += 1;
        bump(&mut self.by_stock, self.stock.get_val(doc));
        bump(&mut self.by_condition, self.condition.get_val(doc));
        bump(&mut self.by_currency, self.currency.get_val(doc));
        let price = self.price.get_val(doc);
        let range = PRICE_ENDS.iter().position(|end| price < end.saturating_mul(1_000_000));
        bump(&mut self.by_price, u64::try_from(range.unwrap_or(PRICE_ENDS.len() - 1)).unwrap_or(0));
    }
}

fn bump(counts: &mut [u32], index: u64) {
    if let Some(count) = usize::try_from(index).ok().and_then(|index| counts.get_mut(index)) {
        *count += 1;
    }
}

impl Count {
    /// Adds a segment; `scale` is how much of it was walked, turned round.
    pub(crate) fn add(&mut self, count: SegmentCount, scale: f64) -> tantivy::Result<()> {
        add_terms(&mut self.brands, count.brand, scale)?;
        add_terms(&mut self.categories, count.category, scale)?;
        for (store, seen) in count.stores {
            *self.stores.entry(store).or_insert(0.0) += f64::from(seen) * scale;
        }
        for (band, seen) in count.bands {
            *self.bands.entry(band).or_insert(0.0) += f64::from(seen) * scale;
        }
        add_all(&mut self.stock, &count.by_stock, scale);
        add_all(&mut self.conditions, &count.by_condition, scale);
        add_all(&mut self.currencies, &count.by_currency, scale);
        add_all(&mut self.prices, &count.by_price, scale);
        Ok(())
    }

    /// The facets, stores by their slugs.
    pub(crate) fn facets(self, roster: &Roster) -> Facets {
        let slug = |number: u32| {
            roster.store(number).map(|member| member.store.slug.to_string()).unwrap_or_default()
        };
        let stores = self.stores.into_iter().map(|(number, count)| (slug(number), count));
        let band = |band: Option<Band>| {
            band.and_then(|band| serde_json::to_value(band).ok()?.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        let bands = self.bands.into_iter().map(|(name, count)| (band(name), count));
        let stock = catalog::StockStatus::ALL.iter().map(|(_, name)| (*name).to_owned());
        let conditions = ["new", "refurbished", "used"].map(str::to_owned);
        let currencies = primitives::Currency::SUPPORTED.map(|currency| currency.code().to_owned());
        Facets {
            brand: values(self.brands),
            category: values(self.categories),
            merchant: values(stores),
            verification_level: values(bands),
            stock_status: values(stock.zip(self.stock)),
            condition: values(conditions.into_iter().zip(self.conditions)),
            currency: values(currencies.into_iter().zip(self.currencies)),
            price: price_values(&self.prices),
        }
    }
}

fn add_terms(
    totals: &mut BTreeMap<String, f64>,
    counted: Option<(StrColumn, Vec<u32>)>,
    scale: f64,
) -> tantivy::Result<()> {
    let Some((column, counts)) = counted else { return Ok(()) };
    let seen: Vec<(u64, u32)> = (0..).zip(counts).filter(|(_, count)| *count > 0).collect();
    let mut counts = seen.iter().map(|(_, count)| *count);
    let ordinals: Vec<u64> = seen.iter().map(|(ordinal, _)| *ordinal).collect();
    column.dictionary().sorted_ords_to_term_cb(&ordinals, |bytes| {
        if let (Some(count), Ok(text)) = (counts.next(), std::str::from_utf8(bytes)) {
            *totals.entry(text.to_owned()).or_insert(0.0) += f64::from(count) * scale;
        }
    })?;
    Ok(())
}

fn add_all<const N: usize>(totals: &mut [f64; N], counts: &[u32; N], scale: f64) {
    for (total, count) in totals.iter_mut().zip(counts) {
        *total += f64::from(*count) * scale;
    }
}

fn values(counted: impl IntoIterator<Item = (String, f64)>) -> Vec<FacetValue> {
    let counted = counted.into_iter().filter(|(value, _)| !value.is_empty());
    let mut values: Vec<FacetValue> = counted
        .map(|(value, count)| FacetValue { value, count: whole(count) })
        .filter(|value| value.count > 0)
        .collect();
    values.sort_by(|left, right| {
        right.count.cmp(&left.count).then_with(|| left.value.cmp(&right.value))
    });
    values.truncate(VALUES_MAX);
    values
}

/// Price ranges stay in the order of prices.
fn price_values(counts: &[f64; PRICE_ENDS.len()]) -> Vec<FacetValue> {
    let mut from = 0;
    let mut values = Vec::new();
    for (end, count) in PRICE_ENDS.into_iter().zip(counts) {
        let value = if end == u64::MAX { format!("{from}-") } else { format!("{from}-{end}") };
        if whole(*count) > 0 {
            values.push(FacetValue { value, count: whole(*count) });
        }
        from = end;
    }
    values
}

/// A count as a whole number; scaled ones are rounded.
pub(crate) fn whole(count: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "counts stay far below where it would")]
    let whole = count.round() as i64;
    whole
}
