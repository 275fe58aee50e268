//! The one check every product passes, whichever way it comes in.

use std::collections::{BTreeMap, HashSet};

use primitives::{Currency, Money, Timestamp};

use crate::address::web_address;
use crate::draft::{Amount, PolicyDraft, ProductDraft, RatingDraft, ReviewDraft, VariantDraft};
use crate::gtin::Gtin;
use crate::incoming::Incoming;
use crate::revise::{Offer, prices, stock, sum_of};
use crate::text::{one_line, paragraphs};
use crate::{
    CategoryPath, Condition, Fault, FaultCode, Image, NewProduct, NewVariant, ProductPolicies,
    Rating, Review, StockStatus,
};

/// A field beyond this is not looked at: cleaning it would cost more than it is worth.
const RAW_BYTES_MAX: usize = 100_000;
const ID_MAX: usize = 100;
const NAME_MAX: usize = 300;
const DESCRIPTION_MAX: usize = 5_000;
const BRAND_MAX: usize = 100;
const LABEL_MAX: usize = 60;
const VALUE_MAX: usize = 500;
const ATTRIBUTES_MAX: usize = 50;
const IMAGES_MAX: usize = 20;
const REVIEWS_MAX: usize = 50;
/// Faults of one product that are told: whoever mends these learns of the others next time.
const FAULTS_MAX: usize = 20;
/// A product and its variants are written in one work of at most 500 rows.
const VARIANTS_MAX: usize = 400;

/// Checks a draft: everything it says, cleaned and believed, or all that is wrong with it.
pub fn check(draft: &ProductDraft, store_currency: Currency) -> Result<Incoming, Vec<Fault>> {
    let mut checker = Checker { faults: Vec::new(), place: String::new() };
    let incoming = checker.product(draft, store_currency);
    match incoming {
        Some(incoming) if checker.faults.is_empty() => Ok(incoming),
        _ => Err(checker.faults),
    }
}

/// Collects what is wrong while it goes through a draft.
struct Checker {
    faults: Vec<Fault>,
    /// Where in the draft it is: `variants[3].`
    place: String,
}

impl Checker {
    fn product(&mut self, draft: &ProductDraft, store_currency: Currency) -> Option<Incoming> {
        let currency = self.currency(draft.currency.as_deref(), store_currency);
        let external_id = self.identifier("external_id", &draft.external_id);
        let name = self.required_line("name", draft.name.as_deref(), NAME_MAX);
        let sku = match draft.sku.as_deref() {
            Some(sku) => self.identifier("sku", sku),
            None => external_id.clone(),
        };
        let category = self.category(&draft.category);
        let variants = self.variants(draft, name.as_deref().unwrap_or_default(), currency);
        let offer = self.offer(draft, currency, &variants);
        let facts = NewProduct {
            description: self.description(draft.description.as_deref()),
            brand: self.line("brand", draft.brand.as_deref(), BRAND_MAX).unwrap_or_default(),
            gtin: self.gtin(draft.gtin.as_deref()),
            mpn: self.line("mpn", draft.mpn.as_deref(), ID_MAX),
            url: self.url("url", draft.url.as_deref()),
            category: category.path(),
            condition: self.condition(draft.condition.as_deref()),
            rating: draft.rating.as_ref().and_then(|rating| self.rating(rating)),
            attributes: self.pairs("attributes", &draft.attributes),
            images: self.images(draft, name.as_deref().unwrap_or_default()),
            policies: self.policies(draft.policies.as_ref()),
            listed_at: draft.listed_at.as_deref().and_then(|at| self.moment("listed_at", at)),
            price: Money::new(offer.map_or(0, |offer| offer.price_minor), currency?),
            list_price_minor: offer?.list_price_minor,
            stock_status: offer?.stock_status,
            stock_quantity: offer?.stock_quantity,
            external_id: external_id?,
            sku: sku?,
            name: name?,
        };
        let reviews = self.reviews(&draft.reviews);
        let variants = variants.into_iter().map(|variant| (None, variant)).collect();
        Some(Incoming { id: None, category, facts, variants, reviews })
    }

    fn refuse(
        &mut self,
        field: &str,
        code: FaultCode,
        reason: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        if self.faults.len() < FAULTS_MAX {
            let field = format!("{}{field}", self.place);
            self.faults.push(Fault::new(field, code, reason));
        }
    }

    /// Whether a field is short enough to be looked at.
    fn is_bearable(&mut self, field: &str, text: &str) -> bool {
        let bearable = text.len() <= RAW_BYTES_MAX;
        if !bearable {
            self.refuse(field, FaultCode::TooLong, "is longer than any product needs; shorten it");
        }
        bearable
    }

    fn line(&mut self, field: &str, text: Option<&str>, max: usize) -> Option<String> {
        let text = text.filter(|text| self.is_bearable(field, text))?;
        // One more than allowed is let through, so that what is too long is noticed and not cut.
        let clean = one_line(text, max + 1);
        if clean.chars().count() > max {
            let reason = format!("must have at most {max} characters");
            self.refuse(field, FaultCode::TooLong, reason);
        }
        (!clean.is_empty()).then(|| clean.into_owned())
    }

    fn required_line(&mut self, field: &str, text: Option<&str>, max: usize) -> Option<String> {
        let before = self.faults.len();
        let line = self.line(field, text, max);
        if line.is_none() && self.faults.len() == before {
            self.refuse(field, FaultCode::Missing, "is required and must hold readable text");
        }
        line
    }

    /// An identifier is compared, so it has to be clean as it stands.
    fn identifier(&mut self, field: &str, text: &str) -> Option<String> {
        let line = self.required_line(field, Some(text), ID_MAX)?;
        if line != text.trim() {
            let reason = "must be plain text without markup and invisible characters";
            self.refuse(field, FaultCode::InvalidValue, reason);
        }
        Some(line)
    }

    /// Descriptions are cut rather than refused: nobody loses a sale over the last sentence.
    fn description(&mut self, text: Option<&str>) -> String {
        let text = text.filter(|text| self.is_bearable("description", text));
        text.map(|text| paragraphs(text, DESCRIPTION_MAX).into_owned()).unwrap_or_default()
    }

    fn currency(&mut self, code: Option<&str>, store: Currency) -> Option<Currency> {
        let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else {
            return Some(store);
        };
        let currency = code.to_ascii_uppercase().parse().ok();
        if currency.is_none() {
            let reason = "is not known; use an ISO 4217 code such as EUR, or USDC";
            self.refuse("currency", FaultCode::UnknownCurrency, reason);
        }
        currency
    }

    fn category(&mut self, names: &[String]) -> CategoryPath {
        let names: Vec<String> =
            names.iter().filter_map(|name| self.line("category", Some(name), BRAND_MAX)).collect();
        CategoryPath::new(names)
    }

    fn condition(&mut self, name: Option<&str>) -> Condition {
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        let Some(name) = name else { return Condition::New };
        Condition::from_name(&name.to_ascii_lowercase()).unwrap_or_else(|| {
            let reason = "must be new, refurbished or used";
            self.refuse("condition", FaultCode::InvalidValue, reason);
            Condition::New
        })
    }

    fn gtin(&mut self, text: Option<&str>) -> Option<String> {
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        match text.parse::<Gtin>() {
            Ok(gtin) => Some(gtin.to_string()),
            Err(error) => {
                self.refuse("gtin", FaultCode::InvalidGtin, error.to_string());
                None
            }
        }
    }

    fn url(&mut self, field: &str, text: Option<&str>) -> Option<String> {
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        match web_address(text) {
            Ok(url) => Some(url),
            Err(error) => {
                self.refuse(field, FaultCode::InvalidUrl, error.to_string());
                None
            }
        }
    }

    fn moment(&mut self, field: &str, text: &str) -> Option<Timestamp> {
        let moment = text.trim().parse().ok();
        if moment.is_none() {
            let reason = "must be a moment in RFC 3339 form, such as 2026-11-01T08:00:00Z";
            self.refuse(field, FaultCode::InvalidValue, reason);
        }
        moment
    }

    fn pairs(&mut self, field: &str, pairs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        if pairs.len() > ATTRIBUTES_MAX {
            let reason = format!("must be at most {ATTRIBUTES_MAX}");
            self.refuse(field, FaultCode::TooLong, reason);
            return BTreeMap::new();
        }
        let pair = |(name, value): (&String, &String)| {
            let name = self.line(field, Some(name), LABEL_MAX)?;
            Some((name, self.line(field, Some(value), VALUE_MAX)?))
        };
        pairs.iter().filter_map(pair).collect()
    }

    fn images(&mut self, draft: &ProductDraft, name: &str) -> Vec<Image> {
        let mut images = Vec::new();
        for image in draft.images.iter().take(IMAGES_MAX) {
            let alt = self.line("images.alt", image.alt.as_deref(), NAME_MAX);
            if let Some(url) = self.url("images.url", Some(&image.url)) {
                images.push(Image { url, alt: alt.unwrap_or_else(|| name.to_owned()) });
            }
        }
        images
    }

    fn rating(&mut self, rating: &RatingDraft) -> Option<Rating> {
        let hundredths = Money::from_decimal_text(rating.average.as_str(), Currency::EUR)
            .map(Money::minor)
            .ok()
            .and_then(|hundredths| i32::try_from(hundredths).ok())
            .filter(|hundredths| (0..=500).contains(hundredths));
        let count = i32::try_from(rating.count).ok().filter(|count| *count >= 0);
        if hundredths.is_none() || count.is_none() {
            let reason = "must be an average from 0 to 5 with at most two digits behind the point, and a count";
            self.refuse("rating", FaultCode::InvalidValue, reason);
        }
        Some(Rating { hundredths: hundredths?, count: count? })
    }

    fn policies(&mut self, draft: Option<&PolicyDraft>) -> ProductPolicies {
        let Some(draft) = draft else { return ProductPolicies::default() };
        let mut days = |field: &str, value: Option<i64>| {
            let value = value?;
            let days = i32::try_from(value).ok().filter(|days| (0..=3_650).contains(days));
            if days.is_none() {
                self.refuse(field, FaultCode::InvalidValue, "must be a number from 0 to 3650");
            }
            days
        };
        let least = days("policies.shipping_days_min", draft.shipping_days_min);
        let most = days("policies.shipping_days_max", draft.shipping_days_max);
        let policies = ProductPolicies {
            return_window_days: days("policies.return_window_days", draft.return_window_days),
            warranty_months: days("policies.warranty_months", draft.warranty_months),
            shipping_days: least.zip(most),
        };
        if policies.shipping_days.is_some_and(|(least, most)| least > most) {
            let reason = "must not be less than the quickest delivery";
            self.refuse("policies.shipping_days_max", FaultCode::InvalidValue, reason);
        }
        policies
    }

    fn reviews(&mut self, drafts: &[ReviewDraft]) -> Vec<Review> {
        let mut reviews: Vec<Review> = Vec::new();
        for draft in drafts.iter().take(REVIEWS_MAX) {
            let external_id = self.identifier("reviews.external_id", &draft.external_id);
            let stars = i16::try_from(draft.stars).ok().filter(|stars| (1..=5).contains(stars));
            if stars.is_none() {
                self.refuse("reviews.stars", FaultCode::InvalidValue, "must be 1 to 5");
            }
            let title = self.line("reviews.title", draft.title.as_deref(), NAME_MAX);
            let text = draft.text.as_deref().map(|text| paragraphs(text, DESCRIPTION_MAX));
            let author = self.line("reviews.author", draft.author.as_deref(), BRAND_MAX);
            let written_at = self.moment("reviews.written_at", &draft.written_at);
            let (Some(external_id), Some(stars), Some(written_at)) =
                (external_id, stars, written_at)
            else {
                continue;
            };
            if reviews.iter().all(|other| other.external_id != external_id) {
                reviews.push(Review {
                    external_id,
                    stars,
                    title: title.unwrap_or_default(),
                    text: text.unwrap_or_default().into_owned(),
                    author: author.unwrap_or_default(),
                    written_at,
                });
            }
        }
        reviews
    }

    /// The offer of the product: that of its variants, or its own.
    fn offer(
        &mut self,
        draft: &ProductDraft,
        currency: Option<Currency>,
        variants: &[NewVariant],
    ) -> Option<Offer> {
        if !draft.variants.is_empty() {
            return sum_of(variants.iter().map(NewVariant::offer));
        }
        let price = draft.price.as_ref();
        self.own_offer(
            price,
            draft.list_price.as_ref(),
            currency?,
            draft.stock_status.as_deref(),
            draft.stock_quantity,
        )
    }

    fn own_offer(
        &mut self,
        price: Option<&Amount>,
        list_price: Option<&Amount>,
        currency: Currency,
        status: Option<&str>,
        quantity: Option<i64>,
    ) -> Option<Offer> {
        let stock = self.stock(status, quantity);
        let Some(price) = price else {
            self.refuse("price", FaultCode::Missing, "is required");
            return None;
        };
        match prices(&self.place, price, list_price, currency) {
            Ok((price_minor, list_price_minor)) => {
                let (stock_status, stock_quantity) = stock?;
                Some(Offer { price_minor, list_price_minor, stock_status, stock_quantity })
            }
            Err(fault) if self.faults.len() < FAULTS_MAX => {
                self.faults.push(fault);
                None
            }
            Err(_) => None,
        }
    }

    fn stock(
        &mut self,
        status: Option<&str>,
        quantity: Option<i64>,
    ) -> Option<(StockStatus, Option<i32>)> {
        let status = match status.map(str::trim).filter(|status| !status.is_empty()) {
            None => None,
            Some(name) => {
                let status = StockStatus::from_name(name);
                if status.is_none() {
                    let names = StockStatus::ALL.map(|(_, name)| name).join(", ");
                    let reason = format!("must be one of {names}");
                    self.refuse("stock_status", FaultCode::InvalidValue, reason);
                }
                Some(status?)
            }
        };
        let number = quantity.map(i32::try_from).transpose().ok();
        let stock = number.and_then(|number| Some((stock(status, number).ok()?, number)));
        if stock.is_none() {
            let reason = "must be a number from 0 to 2147483647";
            self.refuse("stock_quantity", FaultCode::InvalidValue, reason);
        }
        stock
    }

    fn variants(
        &mut self,
        draft: &ProductDraft,
        name: &str,
        currency: Option<Currency>,
    ) -> Vec<NewVariant> {
        if draft.variants.len() > VARIANTS_MAX {
            let reason = format!("must be at most {VARIANTS_MAX}; split the product");
            self.refuse("variants", FaultCode::TooLong, reason);
            return Vec::new();
        }
        let mut skus = HashSet::new();
        let mut variants = Vec::new();
        for (index, variant) in draft.variants.iter().enumerate() {
            self.place = format!("variants[{index}].");
            if let Some(variant) = currency.and_then(|it| self.variant(draft, variant, name, it)) {
                if skus.insert(variant.sku.clone()) {
                    variants.push(variant);
                } else {
                    let reason = "is the sku of another variant of this product";
                    self.refuse("sku", FaultCode::Duplicate, reason);
                }
            }
        }
        self.place.clear();
        variants
    }

    fn variant(
        &mut self,
        product: &ProductDraft,
        draft: &VariantDraft,
        name: &str,
        currency: Currency,
    ) -> Option<NewVariant> {
        let sku = self.identifier("sku", &draft.sku);
        let own_name = self.line("name", draft.name.as_deref(), NAME_MAX);
        let gtin = self.gtin(draft.gtin.as_deref());
        let options = self.pairs("options", &draft.options);
        let image = self.url("image", draft.image.as_deref());
        let price = draft.price.as_ref().or(product.price.as_ref());
        let list_price = match draft.price {
            Some(_) => draft.list_price.as_ref(),
            None => draft.list_price.as_ref().or(product.list_price.as_ref()),
        };
        let status = draft.stock_status.as_deref();
        let offer = self.own_offer(price, list_price, currency, status, draft.stock_quantity)?;
        Some(NewVariant {
            sku: sku?,
            name: own_name.unwrap_or_else(|| named(name, &options)),
            gtin,
            options,
            image,
            price: Money::new(offer.price_minor, currency),
            list_price_minor: offer.list_price_minor,
            stock_status: offer.stock_status,
            stock_quantity: offer.stock_quantity,
        })
    }
}

/// A variant's name where the merchant gives none: the product's, and what sets it apart.
fn named(product: &str, options: &BTreeMap<String, String>) -> String {
    let values: Vec<&str> = options.values().map(String::as_str).collect();
    let name = if values.is_empty() {
        product.to_owned()
    } else {
        format!("{product}, {}", values.join(", "))
    };
    one_line(&name, NAME_MAX).into_owned()
}

impl NewVariant {
    pub(crate) fn offer(&self) -> Offer {
        Offer {
            price_minor: self.price.minor(),
            list_price_minor: self.list_price_minor,
            stock_status: self.stock_status,
            stock_quantity: self.stock_quantity,
        }
    }
}
