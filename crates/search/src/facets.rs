//! Facets: counts of results by brand, category, price and so on.

use std::collections::BTreeMap;
use std::sync::Arc;

use merchants::Band;
use schemars::JsonSchema;
use serde::Serialize;
use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::store_directory::{RankingInputs, StoreDirectory};

/// Values returned per facet.
const VALUES_MAX: usize = 20;

/// Upper bounds of the price ranges, in whole units of the currency.
const PRICE_ENDS: [u64; 8] = [10, 25, 50, 100, 250, 500, 1_000, u64::MAX];

/// Counts of results by value, the most frequent values first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facets {
    /// By brand.
    pub brand: Vec<FacetValue>,
    /// By category path.
    pub category: Vec<FacetValue>,
    /// By store slug.
    pub merchant: Vec<FacetValue>,
    /// By trust label of the store.
    pub verification_level: Vec<FacetValue>,
    /// By stock status.
    pub stock_status: Vec<FacetValue>,
    /// By condition.
    pub condition: Vec<FacetValue>,
    /// By currency.
    pub currency: Vec<FacetValue>,
    /// By price range in whole currency units: `0-10` is from 0 to below 10.
    pub price: Vec<FacetValue>,
}

/// A value with the number of results that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FacetValue {
    /// Value, as accepted by the filter of the same name.
    pub value: String,
    /// Number of results with this value.
    pub count: i64,
}

/// Counts over all segments collected so far.
#[derive(Default)]
pub(crate) struct FacetCounts {
    brands: BTreeMap<String, f64>,
    categories: BTreeMap<String, f64>,
    stores: BTreeMap<u32, f64>,
    bands: BTreeMap<Option<Band>, f64>,
    stock: [f64; 6],
    conditions: [f64; 3],
    currencies: [f64; 3],
    prices: [f64; PRICE_ENDS.len()],
}

/// Counts of one segment.
pub(crate) struct SegmentFacetCounts {
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

impl SegmentFacetCounts {
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

    pub(crate) fn count(&mut self, doc: DocId, store: u32, ranking: RankingInputs) {
        for (column, counts) in [&mut self.brand, &mut self.category].into_iter().flatten() {
            for ordinal in column.term_ords(doc) {
                increment(counts, ordinal);
            }
        }
        *self.stores.entry(store).or_insert(0) += 1;
        let band = ranking.is_scored().then(|| Band::of(f64::from(ranking.score)));
        *self.bands.entry(band).or_insert(0) += 1;
        increment(&mut self.by_stock, self.stock.get_val(doc));
        increment(&mut self.by_condition, self.condition.get_val(doc));
        increment(&mut self.by_currency, self.currency.get_val(doc));
        let price = self.price.get_val(doc);
        let range = PRICE_ENDS.iter().position(|end| price < end.saturating_mul(1_000_000));
        increment(
            &mut self.by_price,
            u64::try_from(range.unwrap_or(PRICE_ENDS.len() - 1)).unwrap_or(0),
        );
    }
}

fn increment(counts: &mut [u32], index: u64) {
    if let Some(count) = usize::try_from(index).ok().and_then(|index| counts.get_mut(index)) {
        *count += 1;
    }
}

impl FacetCounts {
    /// Adds the counts of a segment; `scale` is the number of its documents per document visited.
    pub(crate) fn add(&mut self, count: SegmentFacetCounts, scale: f64) -> tantivy::Result<()> {
        add_terms(&mut self.brands, count.brand, scale)?;
        add_terms(&mut self.categories, count.category, scale)?;
        for (store, number) in count.stores {
            *self.stores.entry(store).or_insert(0.0) += f64::from(number) * scale;
        }
        for (band, number) in count.bands {
            *self.bands.entry(band).or_insert(0.0) += f64::from(number) * scale;
        }
        add_all(&mut self.stock, &count.by_stock, scale);
        add_all(&mut self.conditions, &count.by_condition, scale);
        add_all(&mut self.currencies, &count.by_currency, scale);
        add_all(&mut self.prices, &count.by_price, scale);
        Ok(())
    }

    /// Returns the facets, with stores named by slug.
    pub(crate) fn facets(self, directory: &StoreDirectory) -> Facets {
        let slug = |number: u32| {
            directory.store(number).map(|entry| entry.store.slug.to_string()).unwrap_or_default()
        };
        let stores = self.stores.into_iter().map(|(number, count)| (slug(number), count));
        let label = |band: Option<Band>| band.map(|band| band.to_string()).unwrap_or_default();
        let bands = self.bands.into_iter().map(|(band, count)| (label(band), count));
        let stock = catalog::StockStatus::ALL.iter().map(ToString::to_string);
        let conditions = catalog::Condition::ALL.iter().map(ToString::to_string);
        let currencies = primitives::Currency::SUPPORTED.map(|currency| currency.code().to_owned());
        Facets {
            brand: values(self.brands),
            category: values(self.categories),
            merchant: values(stores),
            verification_level: values(bands),
            stock_status: values(stock.zip(self.stock)),
            condition: values(conditions.zip(self.conditions)),
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
    let present: Vec<(u64, u32)> = (0..).zip(counts).filter(|(_, count)| *count > 0).collect();
    let mut counts = present.iter().map(|(_, count)| *count);
    let ordinals: Vec<u64> = present.iter().map(|(ordinal, _)| *ordinal).collect();
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
        .map(|(value, count)| FacetValue { value, count: round_count(count) })
        .filter(|value| value.count > 0)
        .collect();
    values.sort_by(|left, right| {
        right.count.cmp(&left.count).then_with(|| left.value.cmp(&right.value))
    });
    values.truncate(VALUES_MAX);
    values
}

/// Returns the non-empty price ranges in ascending order.
fn price_values(counts: &[f64; PRICE_ENDS.len()]) -> Vec<FacetValue> {
    let mut from = 0;
    let mut values = Vec::new();
    for (end, count) in PRICE_ENDS.into_iter().zip(counts) {
        let value = if end == u64::MAX { format!("{from}-") } else { format!("{from}-{end}") };
        if round_count(*count) > 0 {
            values.push(FacetValue { value, count: round_count(*count) });
        }
        from = end;
    }
    values
}

/// Rounds a scaled count to a whole number.
pub(crate) fn round_count(count: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "counts stay far below the limit")]
    let rounded = count.round() as i64;
    rounded
}
