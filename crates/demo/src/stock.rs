//! Generated stock. A status never contradicts its quantity.

use crate::data::Availability;
use crate::hash::{among, between};

/// Smallest quantity with the status `in_stock`.
const IN_STOCK_MIN: u16 = 5;

/// Status and quantity of a product or variant.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Stock {
    pub(crate) status: &'static str,
    pub(crate) quantity: Option<i32>,
}

const OUT_OF_STOCK: Stock = Stock { status: "out_of_stock", quantity: Some(0) };

/// Returns the stock of a product.
pub(crate) fn of_product(name: &str, availability: Availability, stock_max: u16) -> Stock {
    match availability {
        Availability::Always => in_stock(name, stock_max),
        Availability::Preorder => Stock { status: "preorder", quantity: None },
        Availability::Discontinued => Stock { status: "discontinued", quantity: Some(0) },
        Availability::Generated => match between(name, "stock", 0, 99) {
            0..8 => OUT_OF_STOCK,
            8..18 => low_stock(name),
            18..21 => Stock { status: "backorder", quantity: Some(0) },
            _ => in_stock(name, stock_max),
        },
    }
}

/// Returns the stock of each variant, given that of the product.
pub(crate) fn of_variants(
    product: Stock,
    name: &str,
    variants: &[String],
    stock_max: u16,
) -> Vec<Stock> {
    let last = u16::try_from(variants.len().saturating_sub(1)).unwrap_or(u16::MAX);
    let kept = usize::from(between(name, "kept variant", 0, last));
    let of_variant = |(position, variant): (usize, &String)| match product.status {
        "in_stock" if position == kept => in_stock(variant, stock_max),
        "in_stock" => of_variant_in_stock(variant, stock_max),
        "low_stock" if position == kept => low_stock(variant),
        "low_stock" => OUT_OF_STOCK,
        _ => product,
    };
    variants.iter().enumerate().map(of_variant).collect()
}

/// Returns the stock of a product with the sum of the quantities of its variants.
pub(crate) fn sum(product: Stock, variants: &[Stock]) -> Stock {
    let quantity = variants.iter().filter_map(|variant| variant.quantity).reduce(|a, b| a + b);
    Stock { quantity: quantity.or(product.quantity), ..product }
}

/// Returns the stock of a variant of a product in stock, which may itself be out of stock.
fn of_variant_in_stock(variant: &str, stock_max: u16) -> Stock {
    if among(variant, "gone", 7) {
        OUT_OF_STOCK
    } else if among(variant, "going", 9) {
        low_stock(variant)
    } else {
        in_stock(variant, stock_max)
    }
}

fn low_stock(name: &str) -> Stock {
    Stock { status: "low_stock", quantity: Some(between(name, "few", 1, IN_STOCK_MIN - 1).into()) }
}

fn in_stock(name: &str, stock_max: u16) -> Stock {
    let most = between(name, "most", 2 * IN_STOCK_MIN, stock_max);
    Stock { status: "in_stock", quantity: Some(between(name, "plenty", IN_STOCK_MIN, most).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_add_up_to_their_product() {
        let variants: Vec<String> = ["S", "M", "L"].map(|size| format!("TEE-1-{size}")).to_vec();
        for code in 0..300 {
            let name = format!("TEE-{code}");
            let product = of_product(&name, Availability::Generated, 40);
            let parts = of_variants(product, &name, &variants, 40);
            let sum = sum(product, &parts);
            let quantity = sum.quantity.unwrap_or_default();
            match sum.status {
                "in_stock" => assert!(quantity >= 5, "{name}: {quantity}"),
                "low_stock" => assert!((1..=4).contains(&quantity), "{name}: {quantity}"),
                _ => assert_eq!(quantity, 0, "{name}"),
            }
        }
    }

    #[test]
    fn a_given_availability_takes_precedence_over_the_hash() {
        for code in 0..100 {
            let name = format!("SKU-{code}");
            assert_eq!(of_product(&name, Availability::Always, 40).status, "in_stock");
            assert_eq!(of_product(&name, Availability::Preorder, 40).quantity, None);
            assert_eq!(of_product(&name, Availability::Discontinued, 40).quantity, Some(0));
        }
    }
}
