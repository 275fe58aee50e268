//! How the stores are written down: a line is what several products have in common, an item is
//! one of those products.

/// Products that share a shelf, a maker and a sentence.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// Begins the SKU of every item.
    pub(crate) prefix: &'static str,
    pub(crate) category: &'static str,
    pub(crate) brand: &'static str,
    /// Said of every item, after the item's own words.
    pub(crate) about: &'static str,
    pub(crate) attributes: &'static [(&'static str, &'static str)],
    /// What a buyer chooses, for every item.
    pub(crate) axes: &'static [Axis],
    pub(crate) condition: &'static str,
    /// Where it differs from the store's.
    pub(crate) currency: Option<&'static str>,
    pub(crate) items: &'static [Item],
}

/// The line with nothing in it, to be completed by a store.
pub(crate) const LINE: Line = Line {
    prefix: "",
    category: "",
    brand: "",
    about: "",
    attributes: &[],
    axes: &[],
    condition: "new",
    currency: None,
    items: &[],
};

/// One product of a line.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    /// Ends the SKU. Written out, so that inserting an item renumbers no other.
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    /// Hundredths of the currency, also where its minor unit is smaller.
    pub(crate) price_cents: i64,
    pub(crate) about: &'static str,
    /// These replace the line's attributes of the same name.
    pub(crate) attributes: &'static [(&'static str, &'static str)],
    pub(crate) axes: &'static [Axis],
    pub(crate) colours: &'static [&'static str],
    pub(crate) supply: Supply,
    /// Who makes it, where it is not the maker of the line.
    pub(crate) brand: Option<&'static str>,
    /// The article several stores sell, if it is one.
    pub(crate) good: Option<Good>,
}

/// How an item reaches the shelf.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Supply {
    /// Sometimes there, sometimes not.
    Usual,
    /// Never sold out.
    Always,
    /// Announced, not yet there.
    Preorder,
    /// Will not come back.
    Discontinued,
}

/// An article of a brand that several stores carry under one GTIN.
#[derive(Clone, Copy)]
pub(crate) struct Good {
    /// Names the article; its GTIN follows from it.
    pub(crate) key: &'static str,
    pub(crate) brand: &'static str,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) attributes: &'static [(&'static str, &'static str)],
    pub(crate) colours: &'static [&'static str],
}

/// One thing a buyer chooses: a size, a grind.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [&'static str],
    /// What each value costs on top; nothing where the list ends early.
    pub(crate) extra_cents: &'static [i64],
}

/// A choice that does not change the price.
pub(crate) const fn axis(name: &'static str, values: &'static [&'static str]) -> Axis {
    Axis { name, values, extra_cents: &[] }
}

impl Axis {
    /// The same choice with a surcharge per value; the first value carries none.
    pub(crate) const fn costing(mut self, extra_cents: &'static [i64]) -> Self {
        self.extra_cents = extra_cents;
        self
    }
}

/// The sizes clothes come in.
pub(crate) const SIZES: Axis = axis("size", &["XS", "S", "M", "L", "XL"]);

/// A product of the store's own.
pub(crate) const fn item(code: u16, name: &'static str, price_cents: i64) -> Item {
    Item {
        code,
        name,
        price_cents,
        about: "",
        attributes: &[],
        axes: &[],
        colours: &[],
        supply: Supply::Usual,
        brand: None,
        good: None,
    }
}

/// A product that other stores sell too, at this store's price.
pub(crate) const fn sold(good: Good, code: u16, price_cents: i64) -> Item {
    let mut item = item(code, good.name, price_cents);
    item.about = good.about;
    item.attributes = good.attributes;
    item.colours = good.colours;
    item.brand = Some(good.brand);
    item.good = Some(good);
    item
}

impl Item {
    /// One or two sentences about this item alone.
    pub(crate) const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Facts about this item alone.
    pub(crate) const fn with(mut self, facts: &'static [(&'static str, &'static str)]) -> Self {
        self.attributes = facts;
        self
    }

    /// What a buyer chooses, for this item alone.
    pub(crate) const fn choose(mut self, axes: &'static [Axis]) -> Self {
        self.axes = axes;
        self
    }

    /// The colours it comes in.
    pub(crate) const fn colours(mut self, colours: &'static [&'static str]) -> Self {
        self.colours = colours;
        self
    }

    /// Who makes it, where it is not the maker of the line.
    pub(crate) const fn by(mut self, brand: &'static str) -> Self {
        self.brand = Some(brand);
        self
    }

    pub(crate) const fn always_there(mut self) -> Self {
        self.supply = Supply::Always;
        self
    }

    pub(crate) const fn preorder(mut self) -> Self {
        self.supply = Supply::Preorder;
        self
    }

    pub(crate) const fn discontinued(mut self) -> Self {
        self.supply = Supply::Discontinued;
        self
    }
}
