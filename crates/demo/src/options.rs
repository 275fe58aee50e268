//! What a buyer can choose, and every choice there is.

use crate::line::Axis;

/// One value per axis, with the axis it belongs to.
pub(crate) type Options<'a> = Vec<(&'a str, &'a str)>;

/// All choices with their surcharge in cents, the last axis turning fastest; none without axes.
pub(crate) fn combinations<'a>(axes: impl Iterator<Item = &'a Axis>) -> Vec<(Options<'a>, i64)> {
    let mut chosen = vec![(Vec::new(), 0)];
    for axis in axes {
        let longer = chosen.iter().flat_map(|choice| extensions(choice, axis));
        chosen = longer.collect();
    }
    chosen.retain(|(options, _)| !options.is_empty());
    chosen
}

/// The choice, completed by each value of one more axis.
fn extensions<'a>(choice: &(Options<'a>, i64), axis: &'a Axis) -> Vec<(Options<'a>, i64)> {
    let (options, cents) = choice;
    let surcharges = axis.extra_cents.iter().chain(std::iter::repeat(&0));
    let extend = |(value, surcharge): (&&'a str, &i64)| {
        let mut options = options.clone();
        options.push((axis.name, *value));
        (options, cents + surcharge)
    };
    axis.values.iter().zip(surcharges).map(extend).collect()
}

/// Values as they appear in a SKU: `250 g` and `Sea Green` become `250-G-SEA-GREEN`.
pub(crate) fn in_sku(values: &[&str]) -> String {
    let signs = values.join("-");
    let words = signs.split(|sign: char| !sign.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::axis;

    #[test]
    fn every_value_meets_every_other() {
        let size = axis("size", &["250 g", "1 kg"]).costing(&[0, 2400]);
        let grind = axis("grind", &["Whole bean", "Filter"]);
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
