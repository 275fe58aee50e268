//! Combinations of option values.

use crate::data::ProductOption;

/// Name and value of each option of a variant.
pub(crate) type Options<'a> = Vec<(&'a str, &'a str)>;

/// Returns all combinations with their surcharge in cents, the last option varying fastest; none without options.
pub(crate) fn combinations<'a>(
    options: impl Iterator<Item = &'a ProductOption>,
) -> Vec<(Options<'a>, i64)> {
    let mut combinations = vec![(Vec::new(), 0)];
    for option in options {
        let longer = combinations.iter().flat_map(|combination| extensions(combination, option));
        combinations = longer.collect();
    }
    combinations.retain(|(options, _)| !options.is_empty());
    combinations
}

/// Returns the combination with each value of one more option.
fn extensions<'a>(
    combination: &(Options<'a>, i64),
    option: &'a ProductOption,
) -> Vec<(Options<'a>, i64)> {
    let (options, cents) = combination;
    let surcharges = option.surcharge_cents.iter().chain(std::iter::repeat(&0));
    let extend = |(value, surcharge): (&'a String, &i64)| {
        let mut options = options.clone();
        options.push((option.name.as_str(), value.as_str()));
        (options, cents + surcharge)
    };
    option.values.iter().zip(surcharges).map(extend).collect()
}

/// Returns values as they appear in a SKU: `250 g` and `Sea Green` become `250-G-SEA-GREEN`.
pub(crate) fn in_sku(values: &[&str]) -> String {
    let joined = values.join("-");
    let words = joined.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, values: &[&str], surcharge_cents: &[i64]) -> ProductOption {
        ProductOption {
            name: name.to_owned(),
            values: values.iter().map(ToString::to_string).collect(),
            surcharge_cents: surcharge_cents.to_vec(),
        }
    }

    #[test]
    fn every_combination_of_values_is_returned_once() {
        let size = option("size", &["250 g", "1 kg"], &[0, 2400]);
        let grind = option("grind", &["Whole bean", "Filter"], &[]);
        let all = combinations([&size, &grind].into_iter());
        let expected = [
            (vec![("size", "250 g"), ("grind", "Whole bean")], 0),
            (vec![("size", "250 g"), ("grind", "Filter")], 0),
            (vec![("size", "1 kg"), ("grind", "Whole bean")], 2400),
            (vec![("size", "1 kg"), ("grind", "Filter")], 2400),
        ];
        assert_eq!(all, expected);
        assert_eq!(combinations([].into_iter()), []);
    }

    #[test]
    fn a_sku_has_no_spaces() {
        assert_eq!(in_sku(&["250 g", "Sea Green"]), "250-G-SEA-GREEN");
        assert_eq!(in_sku(&["3.5 mm"]), "3-5-MM");
    }
}
