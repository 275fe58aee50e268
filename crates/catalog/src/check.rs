//! The check of product drafts, the same for every way to import products.

mod offers;

use std::collections::BTreeMap;

use primitives::{Currency, Money, Timestamp};

use crate::draft::{PolicyDraft, ProductDraft, RatingDraft, ReviewDraft};
use crate::gtin::Gtin;
use crate::incoming::Incoming;
use crate::text::{one_line, paragraphs};
use crate::web_url::{WebUrlError, image_url, web_url};
use crate::{
    CategoryPath, Condition, FieldError, FieldErrorCode, Image, ProductFacts, ProductPolicies,
    Rating, Review,
};

/// Longer fields are rejected unread, because sanitizing them would be expensive.
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
/// Most errors reported for one product.
const ERRORS_MAX: usize = 20;
/// A product and its variants are written in one transaction of at most 500 rows.
const VARIANTS_MAX: usize = 400;

/// Checks a draft. Returns the sanitized product with warnings of what was left out of it, or the errors of all invalid
/// fields.
pub fn check(draft: &ProductDraft, store_currency: Currency) -> Result<Incoming, Vec<FieldError>> {
    let mut checker =
        Checker { errors: Vec::new(), warnings: Vec::new(), path_prefix: String::new() };
    let incoming = checker.product(draft, store_currency);
    match incoming {
        Some(incoming) if checker.errors.is_empty() => {
            Ok(Incoming { warnings: checker.warnings, ..incoming })
        }
        _ => Err(checker.errors),
    }
}

/// Collects errors while a draft is converted.
struct Checker {
    errors: Vec<FieldError>,
    /// What is left out of a product that is accepted.
    warnings: Vec<FieldError>,
    /// Prefix of field names while a variant is checked: `variants[3].`
    path_prefix: String,
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
        let facts = ProductFacts {
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
            listed_at: draft.listed_at.as_deref().and_then(|at| self.timestamp("listed_at", at)),
            price: Money::new(offer.map_or(0, |offer| offer.price_minor), currency?),
            list_price_minor: offer?.list_price_minor,
            sale: offer?.sale,
            stock_status: offer?.stock_status,
            stock_quantity: offer?.stock_quantity,
            external_id: external_id?,
            sku: sku?,
            name: name?,
        };
        let reviews = self.reviews(&draft.reviews);
        let variants = variants.into_iter().map(|variant| (None, variant)).collect();
        Some(Incoming { id: None, category, facts, variants, reviews, warnings: Vec::new() })
    }

    /// Reports something that is left out of a product, or is probably a mistake.
    fn warn(
        &mut self,
        field: &str,
        code: FieldErrorCode,
        reason: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        if self.warnings.len() < ERRORS_MAX {
            let field = format!("{}{field}", self.path_prefix);
            self.warnings.push(FieldError::new(field, code, reason));
        }
    }

    fn reject(
        &mut self,
        field: &str,
        code: FieldErrorCode,
        reason: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        if self.errors.len() < ERRORS_MAX {
            let field = format!("{}{field}", self.path_prefix);
            self.errors.push(FieldError::new(field, code, reason));
        }
    }

    /// Returns whether a field is short enough to be sanitized; rejects it otherwise.
    fn is_within_limit(&mut self, field: &str, text: &str) -> bool {
        let fits = text.len() <= RAW_BYTES_MAX;
        if !fits {
            self.reject(field, FieldErrorCode::TooLong, "must have at most 100000 bytes");
        }
        fits
    }

    fn line(&mut self, field: &str, text: Option<&str>, max: usize) -> Option<String> {
        let text = text.filter(|text| self.is_within_limit(field, text))?;
        // One character more than allowed, so that a text that is too long is rejected and not truncated.
        let sanitized = one_line(text, max + 1);
        if sanitized.chars().count() > max {
            let reason = format!("must have at most {max} characters");
            self.reject(field, FieldErrorCode::TooLong, reason);
        }
        (!sanitized.is_empty()).then(|| sanitized.into_owned())
    }

    fn required_line(&mut self, field: &str, text: Option<&str>, max: usize) -> Option<String> {
        let before = self.errors.len();
        let line = self.line(field, text, max);
        if line.is_none() && self.errors.len() == before {
            self.reject(
                field,
                FieldErrorCode::Missing,
                "is required and must contain visible text",
            );
        }
        line
    }

    /// Identifiers are compared, so that they are rejected instead of sanitized.
    fn identifier(&mut self, field: &str, text: &str) -> Option<String> {
        let line = self.required_line(field, Some(text), ID_MAX)?;
        if line != text.trim() {
            let reason = "must be plain text without markup or invisible characters";
            self.reject(field, FieldErrorCode::InvalidValue, reason);
        }
        Some(line)
    }

    /// Long descriptions are truncated, not rejected.
    fn description(&mut self, text: Option<&str>) -> String {
        let text = text.filter(|text| self.is_within_limit("description", text));
        text.map(|text| paragraphs(text, DESCRIPTION_MAX).into_owned()).unwrap_or_default()
    }

    fn currency(&mut self, code: Option<&str>, store: Currency) -> Option<Currency> {
        let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else {
            return Some(store);
        };
        let currency = code.to_ascii_uppercase().parse().ok();
        if currency.is_none() {
            let reason = "is not a known currency; use an ISO 4217 code such as EUR, or USDC";
            self.reject("currency", FieldErrorCode::UnknownCurrency, reason);
        }
        if currency.is_some_and(|currency| currency != store) {
            let reason = "is not the currency of the store; the product was accepted in its currency, but cannot be bought";
            self.warn("currency", FieldErrorCode::ForeignCurrency, reason);
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
        Condition::parse(&name.to_ascii_lowercase()).unwrap_or_else(|| {
            let reason = "must be new, refurbished or used";
            self.reject("condition", FieldErrorCode::InvalidValue, reason);
            Condition::New
        })
    }

    /// A product is accepted without a GTIN that is invalid: shops keep internal numbers in this field.
    fn gtin(&mut self, text: Option<&str>) -> Option<String> {
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        match text.parse::<Gtin>() {
            Ok(gtin) => Some(gtin.to_string()),
            Err(error) => {
                let reason = format!("{error}; the product was accepted without it");
                self.warn("gtin", FieldErrorCode::InvalidGtin, reason);
                None
            }
        }
    }

    fn url(&mut self, field: &str, text: Option<&str>) -> Option<String> {
        self.parsed_url(field, text, web_url)
    }

    fn image_url(&mut self, field: &str, text: Option<&str>) -> Option<String> {
        self.parsed_url(field, text, image_url)
    }

    fn parsed_url(
        &mut self,
        field: &str,
        text: Option<&str>,
        parse: fn(&str) -> Result<String, WebUrlError>,
    ) -> Option<String> {
        let text = text.map(str::trim).filter(|text| !text.is_empty())?;
        match parse(text) {
            Ok(url) => Some(url),
            Err(error) => {
                self.reject(field, FieldErrorCode::InvalidUrl, error.to_string());
                None
            }
        }
    }

    fn timestamp(&mut self, field: &str, text: &str) -> Option<Timestamp> {
        let timestamp = text.trim().parse().ok();
        if timestamp.is_none() {
            let reason = "must be an RFC 3339 timestamp, such as 2026-11-01T08:00:00Z";
            self.reject(field, FieldErrorCode::InvalidValue, reason);
        }
        timestamp
    }

    fn pairs(&mut self, field: &str, pairs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        if pairs.len() > ATTRIBUTES_MAX {
            let reason = format!("must have at most {ATTRIBUTES_MAX} entries");
            self.reject(field, FieldErrorCode::TooLong, reason);
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
            if let Some(url) = self.image_url("images.url", Some(&image.url)) {
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
            let reason = "must be an average from 0 to 5 with at most two decimals, and a count";
            self.reject("rating", FieldErrorCode::InvalidValue, reason);
        }
        Some(Rating { hundredths: hundredths?, count: count? })
    }

    fn policies(&mut self, draft: Option<&PolicyDraft>) -> ProductPolicies {
        let Some(draft) = draft else { return ProductPolicies::default() };
        let mut number = |field: &str, value: Option<i64>| {
            let value = value?;
            let number = i32::try_from(value).ok().filter(|days| (0..=3_650).contains(days));
            if number.is_none() {
                self.reject(field, FieldErrorCode::InvalidValue, "must be a number from 0 to 3650");
            }
            number
        };
        let least = number("policies.shipping_days_min", draft.shipping_days_min);
        let most = number("policies.shipping_days_max", draft.shipping_days_max);
        let policies = ProductPolicies {
            return_window_days: number("policies.return_window_days", draft.return_window_days),
            warranty_months: number("policies.warranty_months", draft.warranty_months),
            shipping_days: least.zip(most),
        };
        if policies.shipping_days.is_some_and(|(least, most)| least > most) {
            let reason = "must not be less than shipping_days_min";
            self.reject("policies.shipping_days_max", FieldErrorCode::InvalidValue, reason);
        }
        policies
    }

    fn reviews(&mut self, drafts: &[ReviewDraft]) -> Vec<Review> {
        let mut reviews: Vec<Review> = Vec::new();
        for draft in drafts.iter().take(REVIEWS_MAX) {
            let external_id = self.identifier("reviews.external_id", &draft.external_id);
            let stars = i16::try_from(draft.stars).ok().filter(|stars| (1..=5).contains(stars));
            if stars.is_none() {
                self.reject("reviews.stars", FieldErrorCode::InvalidValue, "must be 1 to 5");
            }
            let title = self.line("reviews.title", draft.title.as_deref(), NAME_MAX);
            let text = draft.text.as_deref().map(|text| paragraphs(text, DESCRIPTION_MAX));
            let author = self.line("reviews.author", draft.author.as_deref(), BRAND_MAX);
            let written_at = self.timestamp("reviews.written_at", &draft.written_at);
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
}
