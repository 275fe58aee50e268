//! From lines to products: the facts are written down, the figures follow from the SKU.

use uuid::Uuid;

use crate::gtin;
use crate::habits::Habits;
use crate::line::{Item, LINE, Line, Supply, axis};
use crate::options::{combinations, in_sku};
use crate::spread::{among, between};
use crate::stock::{self, Stock};
use crate::world::{Category, Image, Product, Rating, Variant, id};

/// What the products of one store have in common.
#[derive(Clone, Copy)]
pub(crate) struct Shop {
    pub(crate) slug: &'static str,
    pub(crate) currency: &'static str,
    pub(crate) member_since_days_ago: u32,
    pub(crate) habits: Habits,
    /// The most it keeps of one thing.
    pub(crate) deepest_stock: u16,
}

/// The id of the store with this slug.
pub(crate) fn store_id(slug: &str) -> Uuid {
    id(&format!("store/{slug}"))
}

/// The tree of a store, given as paths and names, every parent before its children.
pub(crate) fn categories(slug: &str, tree: &[(&str, &'static str)]) -> Vec<Category> {
    let category = |&(path, name): &(&str, &'static str)| Category {
        id: id(&format!("category/{slug}/{path}")),
        path: path.to_owned(),
        name,
        parent: path.rsplit_once('/').map(|(parent, _)| parent.to_owned()),
    };
    tree.iter().map(category).collect()
}

/// Every item of every line, in the order written.
pub(crate) fn products(shop: &Shop, lines: &[&[Line]]) -> Vec<Product> {
    let lines = lines.iter().copied().flatten();
    lines.flat_map(|line| line.items.iter().map(|item| draft(shop, line, item).product())).collect()
}

/// A product in the making: what was written about it, and its names.
struct Draft<'a> {
    shop: &'a Shop,
    /// What holds for the item because of its line.
    common: &'a Line,
    line: &'a Line,
    item: &'a Item,
    sku: String,
    /// The SKU under its store, for two stores may use the same.
    key: String,
}

fn draft<'a>(shop: &'a Shop, line: &'a Line, item: &'a Item) -> Draft<'a> {
    let sku = format!("{}-{}", line.prefix, item.code);
    let key = format!("{}/{sku}", shop.slug);
    // An article that several stores carry reads the same in each of them.
    let common = if item.good.is_some() { &LINE } else { line };
    Draft { shop, common, line, item, sku, key }
}

impl Draft<'_> {
    fn product(self) -> Product {
        let (whole, variants) = self.stocked_variants();
        Product {
            id: id(&format!("product/{}", self.key)),
            name: self.item.name,
            description: self.description(),
            brand: self.brand(),
            gtin: self.gtin(&[]),
            category: self.line.category.to_owned(),
            condition: self.line.condition,
            price_minor: self.minor(self.item.price_cents),
            currency: self.currency(),
            list_price_minor: self.list_price_cents().map(|cents| self.minor(cents)),
            stock_status: whole.status,
            stock_quantity: whole.quantity,
            rating: self.rating(),
            attributes: self.attributes(),
            images: self.images(),
            variants,
            created_days_ago: self.created_days_ago(),
            sku: self.sku,
        }
    }

    /// The variants with their stock, and the stock of all of them together.
    fn stocked_variants(&self) -> (Stock, Vec<Variant>) {
        let deepest = self.shop.deepest_stock;
        let whole = stock::single(&self.key, self.item.supply, deepest);
        let mut variants = self.variants();
        let keys: Vec<String> =
            variants.iter().map(|variant| format!("{}/{}", self.shop.slug, variant.sku)).collect();
        let parts = stock::of_variants(whole, &self.key, &keys, deepest);
        let whole = self.told(stock::sum(whole, &parts));
        for (variant, part) in variants.iter_mut().zip(parts) {
            let part = self.told(part);
            variant.stock_status = part.status;
            variant.stock_quantity = part.quantity;
        }
        (whole, variants)
    }

    /// Every combination of the axes, as sold out; stock depends on the product as a whole.
    fn variants(&self) -> Vec<Variant> {
        let colours = axis("colour", self.item.colours);
        let axes = self.common.axes.iter().chain(self.item.axes);
        let axes = axes.chain([&colours]).filter(|axis| !axis.values.is_empty());
        let variant = |(options, extra_cents): (Vec<(&str, &str)>, i64)| {
            let values: Vec<&str> = options.iter().map(|&(_, value)| value).collect();
            let sku = format!("{}-{}", self.sku, in_sku(&values));
            Variant {
                id: id(&format!("variant/{}/{sku}", self.shop.slug)),
                sku,
                name: format!("{}, {}", self.item.name, values.join(", ")),
                gtin: self.gtin(&values),
                options: owned(&options),
                price_minor: self.minor(self.item.price_cents + extra_cents),
                stock_status: "out_of_stock",
                stock_quantity: Some(0),
            }
        };
        combinations(axes).into_iter().map(variant).collect()
    }

    /// The same variant of the same article has one GTIN in every store.
    fn gtin(&self, values: &[&str]) -> Option<String> {
        let article = match self.item.good {
            Some(good) => format!("shared/{}", good.key),
            None if self.lacks(self.shop.habits.without_gtin, "gtin") => return None,
            None => self.key.clone(),
        };
        let names: Vec<&str> = [article.as_str()].iter().chain(values).copied().collect();
        Some(gtin::ean13(&names.join("/")))
    }

    fn brand(&self) -> &'static str {
        self.item.brand.unwrap_or(self.line.brand)
    }

    fn currency(&self) -> &'static str {
        self.line.currency.unwrap_or(self.shop.currency)
    }

    /// USDC has six decimals, the others two (decisions §1).
    fn minor(&self, cents: i64) -> i64 {
        if self.currency() == "USDC" { cents * 10_000 } else { cents }
    }

    fn description(&self) -> String {
        let texts = [self.item.about, self.common.about].into_iter();
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }

    fn attributes(&self) -> Vec<(String, String)> {
        let own = self.item.attributes;
        let replaced = |name: &str| own.iter().any(|&(other, _)| other == name);
        let common = self.common.attributes.iter();
        let common = common.filter(|(name, _)| !replaced(name));
        let facts: Vec<(&str, &str)> = own.iter().chain(common).copied().collect();
        owned(&facts)
    }

    fn images(&self) -> Vec<Image> {
        if self.lacks(self.shop.habits.without_image, "image") {
            return Vec::new();
        }
        let (name, brand) = (self.item.name, self.brand());
        let path = format!("/demo/images/{}/{}.svg", self.shop.slug, self.sku);
        let alt = if name.contains(brand) { name.to_owned() } else { format!("{name} by {brand}") };
        vec![Image { path, alt }]
    }

    /// Examples point at items that are always there; those must be complete.
    fn lacks(&self, percent: u16, what: &str) -> bool {
        self.item.supply != Supply::Always && among(&self.key, what, percent)
    }

    /// Some shops tell that a product is there, but not how many.
    fn told(&self, stock: Stock) -> Stock {
        let silent = self.lacks(self.shop.habits.without_quantity, "quantity");
        let told = stock.status != "in_stock" || !silent;
        Stock { quantity: stock.quantity.filter(|_| told), ..stock }
    }

    /// The list price ends as the price does: 24.95 was 29.95.
    fn list_price_cents(&self) -> Option<i64> {
        let habits = self.shop.habits;
        if self.item.supply == Supply::Preorder || !among(&self.key, "reduced", habits.reduced) {
            return None;
        }
        let (low, high) = habits.list_price_percent;
        let percent = i64::from(between(&self.key, "list price", low, high));
        let price = self.item.price_cents;
        let list = price * percent / 10_000 * 100 + price % 100;
        Some(list.max(price + 100))
    }

    fn rating(&self) -> Option<Rating> {
        let habits = self.shop.habits;
        let unrated = among(&self.key, "unrated", habits.without_rating);
        if unrated || self.item.supply == Supply::Preorder {
            return None;
        }
        let (low, high) = habits.rating_hundredths;
        // The mean of two, because extreme averages are rarer than middling ones.
        let stars = ["stars", "more stars"].map(|roll| between(&self.key, roll, low, high));
        // Squared, because few products have many ratings.
        let fame = u32::from(between(&self.key, "fame", 3, habits.fame));
        Some(Rating {
            average_hundredths: u16::midpoint(stars[0], stars[1]),
            count: fame * fame / 8,
        })
    }

    fn created_days_ago(&self) -> u32 {
        let oldest = u16::try_from(self.shop.member_since_days_ago).unwrap_or(u16::MAX);
        let oldest = match self.item.supply {
            Supply::Preorder => oldest.min(12),
            _ => oldest,
        };
        between(&self.key, "listed", 1, oldest).into()
    }
}

fn owned(facts: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    facts.iter().map(owned).collect()
}
