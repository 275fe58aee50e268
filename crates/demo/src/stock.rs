//! How much of everything there is. A status never contradicts its quantity.

use crate::line::Supply;
use crate::spread::{among, between};

/// From this many on, a product counts as in stock.
const PLENTY: u16 = 5;

#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Stock {
    pub(crate) status: &'static str,
    pub(crate) quantity: Option<i32>,
}

const SOLD_OUT: Stock = Stock { status: "out_of_stock", quantity: Some(0) };

/// The stock of a product; `deepest` is the most its shop keeps of one thing.
pub(crate) fn single(name: &str, supply: Supply, deepest: u16) -> Stock {
    match supply {
        Supply::Always => plenty(name, deepest),
        Supply::Preorder => Stock { status: "preorder", quantity: None },
        Supply::Discontinued => Stock { status: "discontinued", quantity: Some(0) },
        Supply::Usual => match between(name, "stock", 0, 99) {
            0..8 => SOLD_OUT,
            8..18 => few(name),
            18..21 => Stock { status: "backorder", quantity: Some(0) },
            _ => plenty(name, deepest),
        },
    }
}

/// The stock of each variant, given that of the product as a whole.
pub(crate) fn of_variants(
    product: Stock,
    name: &str,
    variants: &[String],
    deepest: u16,
) -> Vec<Stock> {
    let last = u16::try_from(variants.len().saturating_sub(1)).unwrap_or(u16::MAX);
    let kept = usize::from(between(name, "kept variant", 0, last));
    let of_variant = |(position, variant): (usize, &String)| match product.status {
        "in_stock" if position == kept => plenty(variant, deepest),
        "in_stock" => in_assortment(variant, deepest),
        "low_stock" if position == kept => few(variant),
        "low_stock" => SOLD_OUT,
        _ => product,
    };
    variants.iter().enumerate().map(of_variant).collect()
}

/// The product as the sum of its variants.
pub(crate) fn sum(product: Stock, variants: &[Stock]) -> Stock {
    let quantity = variants.iter().filter_map(|variant| variant.quantity).reduce(|a, b| a + b);
    Stock { quantity: quantity.or(product.quantity), ..product }
}

/// A variant of a product that is in stock may itself be gone.
fn in_assortment(variant: &str, deepest: u16) -> Stock {
    if among(variant, "gone", 7) {
        SOLD_OUT
    } else if among(variant, "going", 9) {
        few(variant)
    } else {
        plenty(variant, deepest)
    }
}

fn few(name: &str) -> Stock {
    Stock { status: "low_stock", quantity: Some(between(name, "few", 1, PLENTY - 1).into()) }
}

fn plenty(name: &str, deepest: u16) -> Stock {
    let most = between(name, "most", 2 * PLENTY, deepest);
    Stock { status: "in_stock", quantity: Some(between(name, "plenty", PLENTY, most).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_add_up_to_their_product() {
        let variants: Vec<String> = ["S", "M", "L"].map(|size| format!("TEE-1-{size}")).to_vec();
        for code in 0..300 {
            let name = format!("TEE-{code}");
            let product = single(&name, Supply::Usual, 40);
            let parts = of_variants(product, &name, &variants, 40);
            let whole = sum(product, &parts);
            let quantity = whole.quantity.unwrap_or_default();
            match whole.status {
                "in_stock" => assert!(quantity >= 5, "{name}: {quantity}"),
                "low_stock" => assert!((1..=4).contains(&quantity), "{name}: {quantity}"),
                _ => assert_eq!(quantity, 0, "{name}"),
            }
        }
    }

    #[test]
    fn supply_decides_before_chance() {
        for code in 0..100 {
            let name = format!("SKU-{code}");
            assert_eq!(single(&name, Supply::Always, 40).status, "in_stock");
            assert_eq!(single(&name, Supply::Preorder, 40).quantity, None);
            assert_eq!(single(&name, Supply::Discontinued, 40).quantity, Some(0));
        }
    }
}
