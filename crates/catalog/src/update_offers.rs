//! Prices and stock, changed without sending the whole product.

use std::collections::{BTreeMap, HashSet};

use database::Work;
use primitives::{Currency, MerchantId, Money, ProductId, VariantId};

use crate::put::changed;
use crate::table::{self, PriceLine};
use crate::{Amount, CatalogError, Fault, FaultCode, StockStatus};

/// A new price or a new stock of one product, or of one of its variants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The merchant's own identifier of the product.
    pub external_id: String,
    /// The variant; left out for a product without variants.
    pub sku: Option<String>,
    /// What changes.
    pub change: Change,
}

/// What a revision changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The price; a list price that is left out is none.
    Price {
        /// What it costs now.
        price: Amount,
        /// What it cost before.
        list_price: Option<Amount>,
        /// The currency the amounts are meant in, if the merchant says; it has to be the product's.
        currency: Option<String>,
    },
    /// The stock; one of the two has to be there.
    Stock {
        /// How many there are; none if nobody knows.
        quantity: Option<i32>,
        /// Whether it can be had; none if it follows from the quantity.
        status: Option<StockStatus>,
    },
}

/// What became of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revised {
    /// It was carried out.
    Updated,
    /// It was so already.
    Unchanged,
    /// There is no such product or variant.
    NotFound,
    /// It cannot be carried out.
    Refused(Fault),
}

/// What something costs and whether it can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    pub(crate) stock_status: StockStatus,
    pub(crate) stock_quantity: Option<i32>,
}

/// A product that is held while its offer changes.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) product: ProductId,
    pub(crate) external_id: String,
    pub(crate) currency: Currency,
    pub(crate) offer: Offer,
    pub(crate) variants: Vec<HeldVariant>,
}

#[derive(Debug, Clone)]
pub(crate) struct HeldVariant {
    pub(crate) variant: VariantId,
    pub(crate) sku: String,
    pub(crate) offer: Offer,
}

/// Carries revisions out, one after another. Each product that changed is told to the outbox once;
/// each price that changed becomes a line of the history.
pub async fn revise(
    work: &mut Work,
    merchant: MerchantId,
    revisions: &[Revision],
) -> Result<Vec<Revised>, CatalogError> {
    // No product has a NUL in its identifier, and PostgreSQL would not look for one.
    let ids = revisions.iter().map(|new| new.external_id.as_str()).filter(|id| !id.contains('\0'));
    let ids: HashSet<&str> = ids.collect();
    let mut ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    ids.sort();
    let before = table::hold(work, merchant, &ids).await?;
    let mut held: BTreeMap<String, Held> =
        before.iter().map(|held| (held.external_id.clone(), held.clone())).collect();
    let mut answers = Vec::with_capacity(revisions.len());
    for revision in revisions {
        answers.push(match held.get_mut(&revision.external_id) {
            Some(held) => held.revise(revision),
            None => Revised::NotFound,
        });
    }
    write(work, merchant, &before, &held).await?;
    Ok(answers)
}

async fn write(
    work: &mut Work,
    merchant: MerchantId,
    before: &[Held],
    held: &BTreeMap<String, Held>,
) -> Result<(), CatalogError> {
    let (mut products, mut variants) = (Vec::new(), Vec::new());
    let (mut lines, mut events) = (Vec::new(), Vec::new());
    for was in before {
        let Some(is) = held.get(&was.external_id) else { continue };
        let mut changed_any = was.offer != is.offer;
        lines.extend(is.line(None, &was.offer, &is.offer));
        for (old, new) in was.variants.iter().zip(&is.variants) {
            if old.offer != new.offer {
                changed_any = true;
                variants.push((new.variant, new.offer));
                lines.extend(is.line(Some(new.variant), &old.offer, &new.offer));
            }
        }
        if changed_any {
            products.push(is);
            events.push(changed(merchant, is.product));
        }
    }
    if products.is_empty() {
        return Ok(());
    }
    table::write_offers(work, merchant, &products, &variants).await?;
    table::append(work, merchant, &lines).await?;
    jobs::publish(work, &events).await?;
    Ok(())
}

impl Held {
    fn revise(&mut self, revision: &Revision) -> Revised {
        let currency = self.currency;
        let offer = match &revision.sku {
            None if self.variants.is_empty() => &mut self.offer,
            None => {
                let reason = "the product has variants; name the one that changes by its sku";
                return Revised::Refused(Fault::new("sku", FaultCode::Missing, reason));
            }
            Some(sku) => match self.variants.iter_mut().find(|variant| variant.sku == *sku) {
                Some(variant) => &mut variant.offer,
                None => return Revised::NotFound,
            },
        };
        let new = match offer.with(&revision.change, currency) {
            Ok(new) => new,
            Err(fault) => return Revised::Refused(fault),
        };
        if *offer == new {
            return Revised::Unchanged;
        }
        *offer = new;
        if let Some(sum) = sum_of(self.variants.iter().map(|variant| variant.offer)) {
            self.offer = sum;
        }
        Revised::Updated
    }

    fn line(&self, variant: Option<VariantId>, was: &Offer, is: &Offer) -> Option<PriceLine> {
        let same = (was.price_minor, was.list_price_minor) == (is.price_minor, is.list_price_minor);
        (!same).then(|| PriceLine {
            product: self.product,
            variant,
            price_minor: is.price_minor,
            list_price_minor: is.list_price_minor,
            currency: self.currency.code(),
        })
    }
}

impl Offer {
    fn with(self, change: &Change, currency: Currency) -> Result<Self, Fault> {
        match change {
            Change::Price { price, list_price, currency: meant } => {
                if meant.as_deref().is_some_and(|meant| meant != currency.code()) {
                    let reason = "the product is priced in another currency; push the whole product to change it";
                    return Err(Fault::new("currency", FaultCode::InvalidValue, reason));
                }
                let (price_minor, list_price_minor) =
                    prices("", price, list_price.as_ref(), currency)?;
                Ok(Self { price_minor, list_price_minor, ..self })
            }
            Change::Stock { quantity: None, status: None } => {
                let reason = "or stock_status is required";
                Err(Fault::new("stock_quantity", FaultCode::Missing, reason))
            }
            Change::Stock { quantity, status } => {
                let stock_status = stock(*status, *quantity)?;
                Ok(Self { stock_status, stock_quantity: *quantity, ..self })
            }
        }
    }
}

/// A price and the one before it. One that is not higher than the price is no earlier price, and is
/// left out.
pub(crate) fn prices(
    place: &str,
    price: &Amount,
    list_price: Option<&Amount>,
    currency: Currency,
) -> Result<(i64, Option<i64>), Fault> {
    let price = amount(&format!("{place}price"), price, currency)?;
    let list_price = match list_price {
        Some(list) => Some(amount(&format!("{place}list_price"), list, currency)?),
        None => None,
    };
    Ok((price, list_price.filter(|list| *list > price)))
}

fn amount(field: &str, amount: &Amount, currency: Currency) -> Result<i64, Fault> {
    let money = Money::from_decimal_text(amount.as_str(), currency);
    match money {
        Ok(money) if money.minor() >= 0 => Ok(money.minor()),
        _ => {
            let reason = format!(
                "must be a decimal amount such as 12.50, not negative, with at most {} digits behind the point",
                currency.decimals()
            );
            Err(Fault::new(field.to_owned(), FaultCode::InvalidAmount, reason))
        }
    }
}

/// A status, or what follows from the number. Without either it can be had.
pub(crate) fn stock(
    status: Option<StockStatus>,
    quantity: Option<i32>,
) -> Result<StockStatus, Fault> {
    if quantity.is_some_and(|quantity| quantity < 0) {
        let reason = "must not be negative";
        return Err(Fault::new("stock_quantity", FaultCode::InvalidValue, reason));
    }
    let follows = || quantity.map_or(StockStatus::InStock, StockStatus::of_quantity);
    Ok(status.unwrap_or_else(follows))
}

/// The offer of a product as its variants make it: the lowest price, the best stock, and the number of
/// all if each has one. None without variants.
pub(crate) fn sum_of(variants: impl Iterator<Item = Offer> + Clone) -> Option<Offer> {
    let cheapest = variants.clone().min_by_key(|offer| offer.price_minor)?;
    let stock_status = StockStatus::best(variants.clone().map(|offer| offer.stock_status))?;
    let stock_quantity = variants
        .map(|offer| offer.stock_quantity)
        .try_fold(0_i32, |sum, quantity| Some(sum.saturating_add(quantity?)));
    Some(Offer { stock_status, stock_quantity, ..cheapest })
}
