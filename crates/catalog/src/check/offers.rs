//! The check of prices, stock and variants of a draft.

use std::collections::{BTreeMap, HashSet};

use primitives::{Currency, Money, Timestamp};

use super::{Checker, ERRORS_MAX, NAME_MAX, VARIANTS_MAX};
use crate::draft::{Amount, ProductDraft, SaleDraft, VariantDraft};
use crate::text::one_line;
use crate::update_offers::{StoredOffer, aggregate_offer, prices, stock};
use crate::{FieldErrorCode, Sale, StockStatus, VariantFacts};

impl Checker {
    /// Returns the offer of the product: that of its variants, or its own.
    pub(super) fn offer(
        &mut self,
        draft: &ProductDraft,
        currency: Option<Currency>,
        variants: &[VariantFacts],
    ) -> Option<StoredOffer> {
        if !draft.variants.is_empty() {
            return aggregate_offer(variants.iter().map(VariantFacts::offer));
        }
        let prices = PriceDraft {
            price: draft.price.as_ref(),
            list_price: draft.list_price.as_ref(),
            sale: draft.sale(),
        };
        self.own_offer(&prices, currency?, draft.stock_status.as_deref(), draft.stock_quantity)
    }

    fn own_offer(
        &mut self,
        draft: &PriceDraft<'_>,
        currency: Currency,
        status: Option<&str>,
        quantity: Option<i64>,
    ) -> Option<StoredOffer> {
        let stock = self.stock(status, quantity);
        let Some(price) = draft.price else {
            self.reject("price", FieldErrorCode::Missing, "is required");
            return None;
        };
        match prices(&self.path_prefix, price, draft.list_price, currency) {
            Ok((price_minor, list_price_minor)) => {
                self.warn_of_prices(price_minor, draft.list_price, currency);
                let sale = self.sale(&draft.sale, (price_minor, list_price_minor), currency);
                let (stock_status, stock_quantity) = stock?;
                Some(StoredOffer {
                    price_minor,
                    list_price_minor,
                    sale,
                    stock_status,
                    stock_quantity,
                })
            }
            Err(error) if self.errors.len() < ERRORS_MAX => {
                self.errors.push(error);
                None
            }
            Err(_) => None,
        }
    }

    fn warn_of_prices(
        &mut self,
        price_minor: i64,
        list_price: Option<&Amount>,
        currency: Currency,
    ) {
        if price_minor == 0 {
            let reason = "is 0; the product was accepted and can be bought for nothing";
            self.warn("price", FieldErrorCode::ZeroPrice, reason);
        }
        let list_price =
            list_price.and_then(|it| Money::from_decimal_text(it.as_str(), currency).ok());
        if list_price.is_some_and(|list| list.minor() > 0 && list.minor() < price_minor) {
            let reason = "is lower than the price; the product was accepted without it";
            self.warn("list_price", FieldErrorCode::ListPriceTooLow, reason);
        }
    }

    /// Returns the sale of an offer. A sale without a valid price or period is left out: a price that may have ended must
    /// not be sold, and many tables have 0 where there is no sale.
    fn sale(
        &mut self,
        draft: &SaleDraft<'_>,
        (regular_price_minor, regular_list_price_minor): (i64, Option<i64>),
        currency: Currency,
    ) -> Option<Sale> {
        let price = draft.price?;
        let money = Money::from_decimal_text(price.as_str(), currency).ok();
        let price_minor = money.map(Money::minor).filter(|minor| *minor > 0);
        let is_lower = price_minor.is_some_and(|minor| minor < regular_price_minor);
        if !is_lower {
            let reason = "must be an amount above 0 and below the price; the product was accepted without the sale";
            self.warn("sale_price", FieldErrorCode::InvalidAmount, reason);
            return None;
        }
        let time = |text: Option<&str>| text.map(|text| text.trim().parse::<Timestamp>().ok());
        let (starts_at, ends_at) = (time(draft.starts_at), time(draft.ends_at));
        let is_empty =
            matches!((starts_at, ends_at), (Some(Some(from)), Some(Some(to))) if from >= to);
        if starts_at == Some(None) || ends_at == Some(None) || is_empty {
            let reason = "the period of the sale must be two RFC 3339 timestamps, the begin before the end; \
                          the product was accepted without the sale";
            self.warn("sale_price", FieldErrorCode::InvalidValue, reason);
            return None;
        }
        Some(Sale {
            price_minor: price_minor?,
            starts_at: starts_at.flatten(),
            ends_at: ends_at.flatten(),
            regular_price_minor,
            regular_list_price_minor,
        })
    }

    fn stock(
        &mut self,
        status: Option<&str>,
        quantity: Option<i64>,
    ) -> Option<(StockStatus, Option<i32>)> {
        let status = match status.map(str::trim).filter(|status| !status.is_empty()) {
            None => None,
            Some(name) => {
                let status = StockStatus::parse(name);
                if status.is_none() {
                    let names: Vec<&str> = StockStatus::ALL.iter().map(|it| it.as_str()).collect();
                    let reason = format!("must be one of {}", names.join(", "));
                    self.reject("stock_status", FieldErrorCode::InvalidValue, reason);
                }
                Some(status?)
            }
        };
        let number = quantity.map(i32::try_from).transpose().ok();
        let stock = number.and_then(|number| Some((stock(status, number).ok()?, number)));
        if stock.is_none() {
            let reason = "must be a number from 0 to 2147483647";
            self.reject("stock_quantity", FieldErrorCode::InvalidValue, reason);
        }
        stock
    }

    pub(super) fn variants(
        &mut self,
        draft: &ProductDraft,
        name: &str,
        currency: Option<Currency>,
    ) -> Vec<VariantFacts> {
        if draft.variants.len() > VARIANTS_MAX {
            let reason = format!("must have at most {VARIANTS_MAX} entries; split the product");
            self.reject("variants", FieldErrorCode::TooLong, reason);
            return Vec::new();
        }
        let mut skus = HashSet::new();
        let mut variants = Vec::new();
        for (index, variant) in draft.variants.iter().enumerate() {
            self.path_prefix = format!("variants[{index}].");
            if let Some(variant) = currency.and_then(|it| self.variant(draft, variant, name, it)) {
                if skus.insert(variant.sku.clone()) {
                    variants.push(variant);
                } else {
                    let reason = "is the sku of another variant of this product";
                    self.reject("sku", FieldErrorCode::Duplicate, reason);
                }
            }
        }
        self.path_prefix.clear();
        variants
    }

    fn variant(
        &mut self,
        product: &ProductDraft,
        draft: &VariantDraft,
        name: &str,
        currency: Currency,
    ) -> Option<VariantFacts> {
        let sku = self.identifier("sku", &draft.sku);
        let own_name = self.line("name", draft.name.as_deref(), NAME_MAX);
        let gtin = self.gtin(draft.gtin.as_deref());
        let options = self.pairs("options", &draft.options);
        let image = self.image_url("image", draft.image.as_deref());
        // A variant without a price of its own has those of the product.
        let prices = match &draft.price {
            Some(price) => PriceDraft {
                price: Some(price),
                list_price: draft.list_price.as_ref(),
                sale: draft.sale(),
            },
            None => PriceDraft {
                price: product.price.as_ref(),
                list_price: draft.list_price.as_ref().or(product.list_price.as_ref()),
                sale: draft.sale().or(product.sale()),
            },
        };
        let status = draft.stock_status.as_deref();
        let offer = self.own_offer(&prices, currency, status, draft.stock_quantity)?;
        Some(VariantFacts {
            sku: sku?,
            name: own_name.unwrap_or_else(|| variant_name(name, &options)),
            gtin,
            options,
            image,
            price: Money::new(offer.price_minor, currency),
            list_price_minor: offer.list_price_minor,
            sale: offer.sale,
            stock_status: offer.stock_status,
            stock_quantity: offer.stock_quantity,
        })
    }
}

/// The prices of a product or variant as sent.
struct PriceDraft<'draft> {
    price: Option<&'draft Amount>,
    list_price: Option<&'draft Amount>,
    sale: SaleDraft<'draft>,
}

/// Returns the name of a variant without one: the product's name and the option values.
fn variant_name(product: &str, options: &BTreeMap<String, String>) -> String {
    let values: Vec<&str> = options.values().map(String::as_str).collect();
    let name = if values.is_empty() {
        product.to_owned()
    } else {
        format!("{product}, {}", values.join(", "))
    };
    one_line(&name, NAME_MAX).into_owned()
}

impl VariantFacts {
    pub(crate) fn offer(&self) -> StoredOffer {
        StoredOffer {
            price_minor: self.price.minor(),
            list_price_minor: self.list_price_minor,
            sale: self.sale,
            stock_status: self.stock_status,
            stock_quantity: self.stock_quantity,
        }
    }
}
