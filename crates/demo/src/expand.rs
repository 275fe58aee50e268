//! Expansion of the data files into products: facts are given, other values follow from a hash of the SKU.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::cents;
use crate::data::{
    ARTICLES, Article, ArticleFile, Availability, DEFAULTS, DataError, DataFile, Item, Line,
    ProductOption, STORES, StoreFile,
};
use crate::gtin;
use crate::hash::{among, between};
use crate::options::{combinations, in_sku};
use crate::quality::Profile;
use crate::stock::{self, Stock};
use crate::world::{Image, Product, Rating, Store, Variant, World, id};

/// Reads and expands all data files.
pub(crate) fn world() -> Result<World, DataError> {
    let ArticleFile { articles } = ARTICLES.parse()?;
    let stores = STORES.iter().map(|file| store(file, &articles)).collect::<Result<_, _>>()?;
    Ok(World { stores })
}

/// Returns the store of a file with its ids and products.
fn store(file: &DataFile, articles: &[Article]) -> Result<Store, DataError> {
    let StoreFile { mut store, generator, lines } = file.parse_with(&DEFAULTS)?;
    store.id = id(&format!("store/{}", store.slug));
    for category in &mut store.categories {
        category.id = id(&format!("category/{}/{}", store.slug, category.path));
        category.parent = category.path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    }
    let expansion = Expansion {
        file,
        articles,
        store: &store,
        profile: generator.quality.profile(),
        stock_max: generator.stock_max,
    };
    let products = lines.iter().flat_map(|line| line.items.iter().map(move |item| (line, item)));
    let products = products.map(|(line, item)| Ok(expansion.source(line, item)?.product()));
    let products = products.collect::<Result<_, _>>()?;
    store.products = products;
    Ok(store)
}

/// What the products of one store have in common.
struct Expansion<'a> {
    file: &'a DataFile,
    articles: &'a [Article],
    store: &'a Store,
    profile: Profile,
    stock_max: u16,
}

impl<'a> Expansion<'a> {
    /// Resolves the references of an item.
    fn source(&'a self, line: &'a Line, item: &'a Item) -> Result<Source<'a>, DataError> {
        let category = line.category.get_ref();
        if self.store.categories.iter().all(|other| other.path != *category) {
            return Err(self.error(&line.category, "category", "is not a category of the store"));
        }
        let (name, article) = match (&item.name, &item.article) {
            (Some(name), None) => (name, None),
            (None, Some(key)) => {
                let article = self.articles.iter().find(|article| article.key == *key.get_ref());
                let unknown = || self.error(key, "article", "is not a key in articles.toml");
                let article = article.ok_or_else(unknown)?;
                if item.has_own_facts() {
                    let reason = "excludes name, description, attributes and colours";
                    return Err(self.error(key, "article", reason));
                }
                (&article.name, Some(article))
            }
            _ => {
                let reason = "an item has either a name or an article";
                return Err(self.error(&item.number, "number", reason));
            }
        };
        let sku = format!("{}-{}", line.sku_prefix, item.number.get_ref());
        let key = format!("{}/{sku}", self.store.slug);
        Ok(Source { expansion: self, line, item, article, name, sku, key })
    }

    fn error<T>(&self, value: &Spanned<T>, field: &str, reason: &str) -> DataError {
        self.file.error(Some(value.span()), field, reason)
    }
}

impl Item {
    /// Whether the item has facts that an article determines.
    fn has_own_facts(&self) -> bool {
        !(self.description.is_empty() && self.attributes.is_empty() && self.colours.is_empty())
    }
}

/// An item with all it refers to.
struct Source<'a> {
    expansion: &'a Expansion<'a>,
    line: &'a Line,
    item: &'a Item,
    /// An article has the same texts in every store: the line contributes none.
    article: Option<&'a Article>,
    name: &'a str,
    sku: String,
    /// Store and SKU, because two stores may use the same SKU.
    key: String,
}

impl Source<'_> {
    fn product(self) -> Product {
        let (stock, variants) = self.stocked_variants();
        Product {
            id: id(&format!("product/{}", self.key)),
            name: self.name.to_owned(),
            description: self.description(),
            brand: self.brand().to_owned(),
            gtin: self.gtin(&[]),
            category: self.line.category.get_ref().clone(),
            condition: self.line.condition.clone(),
            price_minor: self.minor(self.item.price_cents),
            currency: self.currency().to_owned(),
            list_price_minor: self.list_price_cents().map(|cents| self.minor(cents)),
            stock_status: stock.status,
            stock_quantity: stock.quantity,
            rating: self.rating(),
            attributes: self.attributes(),
            images: self.images(),
            variants,
            created_days_ago: self.created_days_ago(),
            sku: self.sku,
        }
    }

    /// Returns the stock of the product and its variants.
    fn stocked_variants(&self) -> (Stock, Vec<Variant>) {
        let stock_max = self.expansion.stock_max;
        let stock = stock::of_product(&self.key, self.item.availability, stock_max);
        let mut variants = self.variants();
        let slug = &self.expansion.store.slug;
        let keys: Vec<String> =
            variants.iter().map(|variant| format!("{slug}/{}", variant.sku)).collect();
        let parts = stock::of_variants(stock, &self.key, &keys, stock_max);
        let stock = self.stated(stock::sum(stock, &parts));
        for (variant, part) in variants.iter_mut().zip(parts) {
            let part = self.stated(part);
            variant.stock_status = part.status;
            variant.stock_quantity = part.quantity;
        }
        (stock, variants)
    }

    /// Returns a variant for every combination of option values, without stock.
    fn variants(&self) -> Vec<Variant> {
        let colours = self.article.map_or(&self.item.colours, |article| &article.colours);
        let colour = ProductOption {
            name: String::from("colour"),
            values: colours.clone(),
            surcharge_cents: Vec::new(),
        };
        let common = if self.article.is_some() { &[] } else { self.line.options.as_slice() };
        let options = common.iter().chain(&self.item.options).chain([&colour]);
        let options = options.filter(|option| !option.values.is_empty());
        let variant = |(options, surcharge_cents): (Vec<(&str, &str)>, i64)| {
            let values: Vec<&str> = options.iter().map(|&(_, value)| value).collect();
            let sku = format!("{}-{}", self.sku, in_sku(&values));
            let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            Variant {
                id: id(&format!("variant/{}/{sku}", self.expansion.store.slug)),
                sku,
                name: format!("{}, {}", self.name, values.join(", ")),
                gtin: self.gtin(&values),
                options: options.into_iter().map(owned).collect(),
                price_minor: self.minor(self.item.price_cents + surcharge_cents),
                stock_status: "out_of_stock",
                stock_quantity: Some(0),
            }
        };
        combinations(options).into_iter().map(variant).collect()
    }

    /// The same variant of the same article has one GTIN in every store.
    fn gtin(&self, values: &[&str]) -> Option<String> {
        let article = match self.article {
            Some(article) => format!("shared/{}", article.key),
            None if self.lacks(self.expansion.profile.without_gtin, "gtin") => return None,
            None => self.key.clone(),
        };
        let names: Vec<&str> = [article.as_str()].iter().chain(values).copied().collect();
        Some(gtin::ean13(&names.join("/")))
    }

    fn brand(&self) -> &str {
        let article = self.article.map(|article| &article.brand);
        self.item.brand.as_ref().or(article).unwrap_or(&self.line.brand)
    }

    fn currency(&self) -> &str {
        self.line.currency.as_ref().unwrap_or(&self.expansion.store.currency)
    }

    fn minor(&self, cents: i64) -> i64 {
        cents::minor(cents, self.currency())
    }

    fn description(&self) -> String {
        let (own, common) = match self.article {
            Some(article) => (article.description.as_str(), ""),
            None => (self.item.description.as_str(), self.line.description.as_str()),
        };
        let texts: Vec<&str> = [own, common].into_iter().filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }

    fn attributes(&self) -> BTreeMap<String, String> {
        if let Some(article) = self.article {
            return article.attributes.clone();
        }
        let mut attributes = self.line.attributes.clone();
        attributes.extend(self.item.attributes.clone());
        attributes
    }

    fn images(&self) -> Vec<Image> {
        if self.lacks(self.expansion.profile.without_image, "image") {
            return Vec::new();
        }
        let (name, brand) = (self.name, self.brand());
        let path = format!("/demo/images/{}/{}.svg", self.expansion.store.slug, self.sku);
        let alt = if name.contains(brand) { name.to_owned() } else { format!("{name} by {brand}") };
        vec![Image { path, alt }]
    }

    /// Whether the product is among those that lack something. Items that are always available are
    /// complete, because examples use them.
    fn lacks(&self, percent: u16, purpose: &str) -> bool {
        self.item.availability != Availability::Always && among(&self.key, purpose, percent)
    }

    /// Removes the quantity of a product in stock if the store states none.
    fn stated(&self, stock: Stock) -> Stock {
        let silent = self.lacks(self.expansion.profile.without_quantity, "quantity");
        let stated = stock.status != "in_stock" || !silent;
        Stock { quantity: stock.quantity.filter(|_| stated), ..stock }
    }

    /// The list price has the cents of the price: 24.95 was 29.95.
    fn list_price_cents(&self) -> Option<i64> {
        let profile = self.expansion.profile;
        let preorder = self.item.availability == Availability::Preorder;
        if preorder || !among(&self.key, "reduced", profile.reduced) {
            return None;
        }
        let (low, high) = profile.list_price_percent;
        let percent = i64::from(between(&self.key, "list price", low, high));
        let price = self.item.price_cents;
        let list = price * percent / 10_000 * 100 + price % 100;
        Some(list.max(price + 100))
    }

    fn rating(&self) -> Option<Rating> {
        let profile = self.expansion.profile;
        let unrated = among(&self.key, "unrated", profile.without_rating);
        if unrated || self.item.availability == Availability::Preorder {
            return None;
        }
        let (low, high) = profile.rating_hundredths;
        // The mean of two values, because extreme averages are rarer than middling ones.
        let stars = ["stars", "more stars"].map(|roll| between(&self.key, roll, low, high));
        // Squared, because few products have many ratings.
        let popularity = u32::from(between(&self.key, "fame", 3, profile.popularity_max));
        Some(Rating {
            average_hundredths: u16::midpoint(stars[0], stars[1]),
            count: popularity * popularity / 8,
        })
    }

    fn created_days_ago(&self) -> u32 {
        let member_since = self.expansion.store.member_since_days_ago;
        let oldest = u16::try_from(member_since).unwrap_or(u16::MAX);
        let oldest = match self.item.availability {
            Availability::Preorder => oldest.min(12),
            _ => oldest,
        };
        between(&self.key, "listed", 1, oldest).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = r#"
[store]
slug = "s"
name = "S"
legal_name = "S Ltd"
description = "Sells."
website_url = "https://s.example"
platform = "api"
country = "US"
currency = "USD"
languages = ["en"]
ships_to = ["US"]
support_email = "s@s.example"
member_since_days_ago = 9
last_sync_minutes_ago = 9
identity = { status = "unverified" }
categories = [{ path = "mugs", name = "Mugs" }]
[generator]
quality = "high"
stock_max = 40
[[line]]
sku_prefix = "M"
category = "mugs"
brand = "B"
[[line.item]]
number = 1
name = "Mug"
price_cents = 100
"#;

    fn expand(text: String) -> Result<Store, String> {
        let file = DataFile { name: "s.toml", text: text.leak() };
        store(&file, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn optional_fields_have_defaults() {
        let store = expand(STORE.to_owned()).unwrap();
        assert!(store.active && store.promotions.is_empty() && store.trust_score.is_none());
        let product = &store.products[0];
        assert_eq!((product.sku.as_str(), product.condition.as_str()), ("M-1", "new"));
        assert_eq!((product.currency.as_str(), product.variants.len()), ("USD", 0));
    }

    #[test]
    fn unresolved_references_are_errors_with_their_line() {
        let cases = [
            ("category = \"mugs\"", "category = \"cups\"", "23: category: is not a category"),
            ("name = \"Mug\"", "article = \"x/y\"", "27: article: is not a key in articles.toml"),
            ("name = \"Mug\"", "", "26: number: an item has either a name or an article"),
        ];
        for (from, to, expected) in cases {
            let error = expand(STORE.replacen(from, to, 1)).unwrap_err();
            assert!(error.starts_with(&format!("crates/demo/data/s.toml:{expected}")), "{error}");
        }
    }
}
