//! Updating prices and stock without sending whole products.

use std::collections::{BTreeMap, HashSet};

use database::Work;
use primitives::{Currency, MerchantId, Money, ProductId, Timestamp, VariantId};

use crate::put::changed;
use crate::table::{self, PriceChange};
use crate::{Amount, CatalogError, FieldError, FieldErrorCode, Sale, StockStatus};

/// A new price or a new stock of a product or variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferUpdate {
    pub external_id: String,
    /// The variant; `None` for a product without variants.
    pub sku: Option<String>,
    pub change: OfferChange,
}

/// The change of an offer update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferChange {
    Price {
        price: Amount,
        /// `None` removes the list price.
        list_price: Option<Amount>,
        /// Must be the product's currency; `None` means that one.
        currency: Option<String>,
    },
    /// At least one of the two is required.
    Stock {
        /// `None` if unknown.
        quantity: Option<i32>,
        /// `None`: follows from the quantity.
        status: Option<StockStatus>,
    },
}

/// Outcome of an offer update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferUpdateOutcome {
    Updated,
    Unchanged,
    /// The product or variant does not exist.
    NotFound,
    Rejected(FieldError),
}

/// The price and stock columns of a product or variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredOffer {
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    /// The sale from which the prices follow.
    pub(crate) sale: Option<Sale>,
    pub(crate) stock_status: StockStatus,
    pub(crate) stock_quantity: Option<i32>,
}

/// A product row that is locked while its offer changes.
#[derive(Debug, Clone)]
pub(crate) struct LockedProduct {
    pub(crate) product: ProductId,
    pub(crate) external_id: String,
    pub(crate) currency: Currency,
    pub(crate) offer: StoredOffer,
    pub(crate) variants: Vec<LockedVariant>,
}

#[derive(Debug, Clone)]
pub(crate) struct LockedVariant {
    pub(crate) variant: VariantId,
    pub(crate) sku: String,
    pub(crate) offer: StoredOffer,
}

/// Applies offer updates in their order and returns their outcomes. One event per changed product is published, and each
/// changed price is added to the price history.
pub async fn update_offers(
    work: &mut Work,
    merchant: MerchantId,
    updates: &[OfferUpdate],
) -> Result<Vec<OfferUpdateOutcome>, CatalogError> {
    // No external id contains NUL, and PostgreSQL rejects it as a parameter.
    let ids =
        updates.iter().map(|update| update.external_id.as_str()).filter(|id| !id.contains('\0'));
    let ids: HashSet<&str> = ids.collect();
    let mut ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    ids.sort();
    let before = table::lock_offers(work, merchant, &ids).await?;
    let mut after: BTreeMap<String, LockedProduct> =
        before.iter().map(|product| (product.external_id.clone(), product.clone())).collect();
    let mut outcomes = Vec::with_capacity(updates.len());
    for update in updates {
        outcomes.push(match after.get_mut(&update.external_id) {
            Some(product) => product.apply(update),
            None => OfferUpdateOutcome::NotFound,
        });
    }
    write(work, merchant, &before, &after, true).await?;
    Ok(outcomes)
}

/// Sets the prices of a product to those that apply now, when a sale of it begins or ends.
pub(crate) async fn update_sale_prices(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
) -> Result<(), CatalogError> {
    let now = work.now();
    let Some(external_id) = table::listed_external_id(work, merchant, product).await? else {
        // A retired product that is listed again is written as a whole.
        return Ok(table::set_price_due(work, merchant, product, None).await?);
    };
    let before = table::lock_offers(work, merchant, std::slice::from_ref(&external_id)).await?;
    let mut after = BTreeMap::new();
    for mut product in before.iter().cloned() {
        product.set_prices(now);
        after.insert(product.external_id.clone(), product);
    }
    write(work, merchant, &before, &after, false).await?;
    let due = after.get(&external_id).and_then(|product| product.next_price_change(now));
    Ok(table::set_price_due(work, merchant, product, due).await?)
}

/// Writes the offers that differ. `is_push`: the merchant changed them.
async fn write(
    work: &mut Work,
    merchant: MerchantId,
    before: &[LockedProduct],
    after: &BTreeMap<String, LockedProduct>,
    is_push: bool,
) -> Result<(), CatalogError> {
    let (mut products, mut variants) = (Vec::new(), Vec::new());
    let (mut prices, mut events) = (Vec::new(), Vec::new());
    for old in before {
        let Some(new) = after.get(&old.external_id) else { continue };
        let mut has_changed = old.offer != new.offer;
        prices.extend(new.price_change(None, &old.offer, &new.offer));
        for (old_variant, new_variant) in old.variants.iter().zip(&new.variants) {
            if old_variant.offer != new_variant.offer {
                has_changed = true;
                let id = new_variant.variant;
                variants.push((id, new_variant.offer));
                prices.extend(new.price_change(Some(id), &old_variant.offer, &new_variant.offer));
            }
        }
        if has_changed {
            products.push(new);
            events.push(changed(merchant, new.product));
        }
    }
    if products.is_empty() {
        return Ok(());
    }
    table::write_offers(work, merchant, &products, &variants, is_push).await?;
    table::append_prices(work, merchant, &prices).await?;
    jobs::publish(work, &events).await?;
    Ok(())
}

impl LockedProduct {
    fn set_prices(&mut self, now: Timestamp) {
        self.offer.set_prices(now);
        self.variants.iter_mut().for_each(|variant| variant.offer.set_prices(now));
        if let Some(offer) = aggregate_offer(self.variants.iter().map(|variant| variant.offer)) {
            let (stock_status, stock_quantity) =
                (self.offer.stock_status, self.offer.stock_quantity);
            self.offer = StoredOffer { stock_status, stock_quantity, ..offer };
        }
    }

    /// Returns when a price changes next by itself.
    pub(crate) fn next_price_change(&self, now: Timestamp) -> Option<Timestamp> {
        let variants = self.variants.iter().filter_map(|variant| variant.offer.sale);
        let sales = self.offer.sale.into_iter().chain(variants);
        sales.filter_map(|sale| sale.next_change(now)).min()
    }

    fn apply(&mut self, update: &OfferUpdate) -> OfferUpdateOutcome {
        let currency = self.currency;
        let offer = match &update.sku {
            None if self.variants.is_empty() => &mut self.offer,
            None => {
                let reason = "is required, because the product has variants";
                return OfferUpdateOutcome::Rejected(FieldError::new(
                    "sku",
                    FieldErrorCode::Missing,
                    reason,
                ));
            }
            Some(sku) => match self.variants.iter_mut().find(|variant| variant.sku == *sku) {
                Some(variant) => &mut variant.offer,
                None => return OfferUpdateOutcome::NotFound,
            },
        };
        let new = match offer.with(&update.change, currency) {
            Ok(new) => new,
            Err(error) => return OfferUpdateOutcome::Rejected(error),
        };
        if *offer == new {
            return OfferUpdateOutcome::Unchanged;
        }
        *offer = new;
        if let Some(offer) = aggregate_offer(self.variants.iter().map(|variant| variant.offer)) {
            self.offer = offer;
        }
        OfferUpdateOutcome::Updated
    }

    fn price_change(
        &self,
        variant: Option<VariantId>,
        old: &StoredOffer,
        new: &StoredOffer,
    ) -> Option<PriceChange> {
        let same =
            (old.price_minor, old.list_price_minor) == (new.price_minor, new.list_price_minor);
        (!same).then(|| PriceChange {
            product: self.product,
            variant,
            price_minor: new.price_minor,
            list_price_minor: new.list_price_minor,
            currency: self.currency.code(),
        })
    }
}

impl StoredOffer {
    /// Sets the prices to those that apply at this time.
    fn set_prices(&mut self, now: Timestamp) {
        if let Some(sale) = self.sale {
            (self.price_minor, self.list_price_minor) = sale.prices(now);
        }
    }

    fn with(self, change: &OfferChange, currency: Currency) -> Result<Self, FieldError> {
        match change {
            OfferChange::Price { price, list_price, currency: sent } => {
                if sent.as_deref().is_some_and(|sent| sent != currency.code()) {
                    let reason =
                        "is not the currency of the product; send the whole product to change it";
                    return Err(FieldError::new("currency", FieldErrorCode::InvalidValue, reason));
                }
                let (price_minor, list_price_minor) =
                    prices("", price, list_price.as_ref(), currency)?;
                // A price that is set by itself ends a sale.
                Ok(Self { price_minor, list_price_minor, sale: None, ..self })
            }
            OfferChange::Stock { quantity: None, status: None } => {
                let reason = "or stock_status is required";
                Err(FieldError::new("stock_quantity", FieldErrorCode::Missing, reason))
            }
            OfferChange::Stock { quantity, status } => {
                let stock_status = stock(*status, *quantity)?;
                Ok(Self { stock_status, stock_quantity: *quantity, ..self })
            }
        }
    }
}

/// Parses a price and a list price. A list price that is not higher than the price is dropped.
pub(crate) fn prices(
    path_prefix: &str,
    price: &Amount,
    list_price: Option<&Amount>,
    currency: Currency,
) -> Result<(i64, Option<i64>), FieldError> {
    let price = amount(&format!("{path_prefix}price"), price, currency)?;
    let list_price = match list_price {
        Some(list) => Some(amount(&format!("{path_prefix}list_price"), list, currency)?),
        None => None,
    };
    Ok((price, list_price.filter(|list| *list > price)))
}

fn amount(field: &str, amount: &Amount, currency: Currency) -> Result<i64, FieldError> {
    let money = Money::from_decimal_text(amount.as_str(), currency);
    match money {
        Ok(money) if money.minor() > Money::UNIT_PRICE_MINOR_MAX => {
            let max = Money::new(Money::UNIT_PRICE_MINOR_MAX, currency);
            let reason = format!("must be at most {}", max.to_decimal_text());
            Err(FieldError::new(field.to_owned(), FieldErrorCode::InvalidAmount, reason))
        }
        Ok(money) if money.minor() >= 0 => Ok(money.minor()),
        _ => {
            let reason = format!(
                "must be a decimal amount such as 12.50, not negative, with at most {} decimals",
                currency.decimals()
            );
            Err(FieldError::new(field.to_owned(), FieldErrorCode::InvalidAmount, reason))
        }
    }
}

/// Returns the status, or the one that follows from the quantity; without either, `unknown`.
pub(crate) fn stock(
    status: Option<StockStatus>,
    quantity: Option<i32>,
) -> Result<StockStatus, FieldError> {
    if quantity.is_some_and(|quantity| quantity < 0) {
        let reason = "must not be negative";
        return Err(FieldError::new("stock_quantity", FieldErrorCode::InvalidValue, reason));
    }
    let from_quantity = || quantity.map_or(StockStatus::Unknown, StockStatus::of_quantity);
    Ok(status.filter(|status| *status != StockStatus::Unknown).unwrap_or_else(from_quantity))
}

/// Returns the offer of a product with variants: the lowest price, the best stock status, and the sum of the quantities
/// if each variant has one. `None` without variants.
pub(crate) fn aggregate_offer(
    variants: impl Iterator<Item = StoredOffer> + Clone,
) -> Option<StoredOffer> {
    let cheapest = variants.clone().min_by_key(|offer| offer.price_minor)?;
    let stock_status = StockStatus::best(variants.clone().map(|offer| offer.stock_status))?;
    let stock_quantity = variants
        .map(|offer| offer.stock_quantity)
        .try_fold(0_i32, |sum, quantity| Some(sum.saturating_add(quantity?)));
    Some(StoredOffer { stock_status, stock_quantity, sale: None, ..cheapest })
}
