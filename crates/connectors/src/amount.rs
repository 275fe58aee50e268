//! Parses amounts as stores write them: `19.90 EUR`, `€19,90`, `1.299,00 EUR`, `1'299.00 CHF`. The result is
//! decimal text, which no floating-point number rounds, and the currency, if one is given.

use catalog::{Amount, FieldError, FieldErrorCode};
use primitives::Currency;

/// Maximum length of an amount.
const CHARACTERS_MAX: usize = 40;

/// Currencies with the symbol `$`. It means the currency of the store if that is one of them.
const DOLLARS: [&str; 8] = ["USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "BRL"];

/// Currencies with the symbol `kr`.
const CROWNS: [&str; 4] = ["SEK", "NOK", "DKK", "ISK"];

const EXPECTED_FORMAT: &str = "Expected a decimal amount and a currency code, such as 1299.00 EUR.";

const AMBIGUOUS: &str = "Ambiguous amount: the separator before the last three digits may group thousands or start the decimals. \
     Write all decimals of the currency and no grouping, such as 1299.00 or 1.30.";

const UNKNOWN_CURRENCY: &str = "Unknown currency; use an ISO 4217 code or USDC.";

/// A parsed amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) amount: Amount,
    /// `None` if the text names no currency.
    pub(crate) currency: Option<Currency>,
}

/// Parses the amount of a field; `store` is the currency of amounts that name none.
pub(crate) fn read(text: &str, store: Currency, field: &'static str) -> Result<Price, FieldError> {
    let refuse = |code, reason: &'static str| FieldError::new(field, code, reason);
    let text = text.trim_matches(is_space);
    if text.chars().count() > CHARACTERS_MAX {
        return Err(refuse(FieldErrorCode::InvalidAmount, EXPECTED_FORMAT));
    }
    let digit = |character: char| character.is_ascii_digit();
    let (Some(first), Some(last)) = (text.find(digit), text.rfind(digit)) else {
        return Err(refuse(FieldErrorCode::InvalidAmount, EXPECTED_FORMAT));
    };
    let (before, number, after) = (&text[..first], &text[first..=last], &text[last + 1..]);
    // Text on both sides is invalid.
    let sides = (before.trim_matches(is_space), after.trim_matches(is_space));
    let ((token, "") | ("", token)) = sides else {
        return Err(refuse(FieldErrorCode::InvalidAmount, EXPECTED_FORMAT));
    };
    if token.contains(['-', '+', '−', '–', '.', ',', '(', ')', '%']) && token != "Fr." {
        return Err(refuse(FieldErrorCode::InvalidAmount, EXPECTED_FORMAT));
    }
    let currency = match token {
        "" => None,
        token => match currency_of(token, store) {
            Some(currency) => Some(currency),
            None => return Err(refuse(FieldErrorCode::UnknownCurrency, UNKNOWN_CURRENCY)),
        },
    };
    let decimals = currency.unwrap_or(store).decimals();
    let decimal = decimal(number, decimals);
    let decimal = decimal.map_err(|reason| refuse(FieldErrorCode::InvalidAmount, reason))?;
    Ok(Price { amount: Amount::new(decimal), currency })
}

fn currency_of(token: &str, store: Currency) -> Option<Currency> {
    let code = match token {
        "€" => "EUR",
        "$" if DOLLARS.contains(&store.code()) => store.code(),
        "$" | "US$" => "USD",
        "£" => "GBP",
        "¥" if store.code() == "CNY" => "CNY",
        "¥" => "JPY",
        "₹" => "INR",
        "zł" => "PLN",
        "Kč" => "CZK",
        "Fr." => "CHF",
        "kr" if CROWNS.contains(&store.code()) => store.code(),
        code => return code.to_ascii_uppercase().parse().ok(),
    };
    code.parse().ok()
}

/// Whether a character is a space, including no-break and narrow spaces.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

/// Returns the number without grouping, with a point before the decimals.
fn decimal(number: &str, decimals: u32) -> Result<String, &'static str> {
    let point = decimal_separator(number, decimals)?;
    let (whole, fraction) = match point {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, ""),
    };
    if point.is_some() && (fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit())) {
        return Err(EXPECTED_FORMAT);
    }
    let whole = ungrouped(whole)?;
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    Ok(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

/// Returns the position of the decimal separator, or `None` if there are no decimals. Points and commas
/// serve both purposes; the meaning follows from the other separators, and is an error if ambiguous.
fn decimal_separator(number: &str, decimals: u32) -> Result<Option<usize>, &'static str> {
    let is_separator = |character: char| character == '.' || character == ',';
    let Some(last) = number.rfind(is_separator) else { return Ok(None) };
    let separator = if number[last..].starts_with('.') { '.' } else { ',' };
    let same = number.matches(separator).count();
    let total = number.matches(is_separator).count();
    if same < total {
        // Both occur: the last one starts the decimals, and must occur once.
        return if same == 1 { Ok(Some(last)) } else { Err(EXPECTED_FORMAT) };
    }
    if same > 1 {
        return Ok(None);
    }
    let (before, after) = (&number[..last], &number[last + 1..]);
    let is_plain = before.bytes().all(|byte| byte.is_ascii_digit());
    // A group of thousands follows at most three digits, which do not start with a zero.
    let may_group = is_plain && before.len() <= 3 && !before.starts_with('0');
    if may_group && after.len() == 3 && decimals != 3 {
        return Err(AMBIGUOUS);
    }
    Ok(Some(last))
}

/// Returns the digits of a whole number; its thousands may be grouped by one kind of separator.
fn ungrouped(whole: &str) -> Result<String, &'static str> {
    let kind = |character: char| match character {
        '.' | ',' => Some(character),
        '\'' | '’' => Some('\''),
        other if is_space(other) => Some(' '),
        _ => None,
    };
    let mut used = None;
    let mut groups = vec![String::new()];
    for character in whole.chars() {
        if character.is_ascii_digit() {
            groups.last_mut().unwrap_or(&mut String::new()).push(character);
            continue;
        }
        let kind = kind(character).ok_or(EXPECTED_FORMAT)?;
        if used.is_some_and(|other| other != kind) {
            return Err(EXPECTED_FORMAT);
        }
        used = Some(kind);
        groups.push(String::new());
    }
    let (first, others) = groups.split_first().ok_or(EXPECTED_FORMAT)?;
    let is_grouped = !others.is_empty();
    if first.is_empty() || is_grouped && first.len() > 3 || others.iter().any(|g| g.len() != 3) {
        return Err(EXPECTED_FORMAT);
    }
    Ok(groups.concat())
}

#[cfg(test)]
mod tests {
    use primitives::Money;
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn text(
        input: &str,
        store: Currency,
    ) -> Result<(String, Option<&'static str>), FieldErrorCode> {
        match read(input, store, "price") {
            Ok(price) => Ok((price.amount.as_str().to_owned(), price.currency.map(Currency::code))),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn common_formats_are_parsed() {
        for (input, amount, code) in [
            ("19.90 EUR", "19.90", Some("EUR")),
            ("EUR 19.90", "19.90", Some("EUR")),
            ("EUR19.90", "19.90", Some("EUR")),
            ("€19,90", "19.90", Some("EUR")),
            ("19,90 €", "19.90", Some("EUR")),
            ("$1,299.00", "1299.00", Some("USD")),
            ("US$ 5", "5", Some("USD")),
            ("1.299,00 EUR", "1299.00", Some("EUR")),
            ("1 299,00 EUR", "1299.00", Some("EUR")),
            ("1\u{a0}299,00\u{a0}EUR", "1299.00", Some("EUR")),
            ("1\u{202f}299,00\u{202f}eur", "1299.00", Some("EUR")),
            ("1'299.00 CHF", "1299.00", Some("CHF")),
            ("1’299’000 chf", "1299000", Some("CHF")),
            ("1,299,000 JPY", "1299000", Some("JPY")),
            ("1.299 KWD", "1.299", Some("KWD")),
            ("0.500000 usdc", "0.500000", Some("USDC")),
            ("0.500 USDC", "0.500", Some("USDC")),
            ("1299.000 EUR", "1299.000", Some("EUR")),
            ("1299", "1299", None),
            (" 007.5 ", "7.5", None),
            ("0", "0", None),
        ] {
            assert_eq!(text(input, Currency::USD), Ok((amount.to_owned(), code)), "{input}");
        }
        assert_eq!(text("$5.00", currency("CAD")), Ok(("5.00".to_owned(), Some("CAD"))));
        assert_eq!(text("5,50 kr", currency("SEK")), Ok(("5.50".to_owned(), Some("SEK"))));
    }

    #[test]
    fn ambiguous_amounts_are_refused_with_a_hint() {
        for input in ["1.299", "1,299", "1.299 EUR", "€ 1,299", "999.999 JPY", "1.299 USDC"] {
            let error = read(input, Currency::EUR, "price").unwrap_err();
            assert_eq!(error.code, FieldErrorCode::InvalidAmount, "{input}");
            assert!(error.reason.contains("such as 1299.00"), "{input}");
        }
    }

    #[test]
    fn invalid_amounts_are_refused() {
        for input in [
            "",
            " ",
            "free",
            "-5",
            "- 5 EUR",
            "5- EUR",
            "+5",
            "1e3",
            "1.5e3 EUR",
            "0x10",
            "12,",
            ".5",
            "5.",
            "19,- EUR",
            "1,29,900.00 INR",
            "1.2,3.4",
            "1,2,3",
            "12 34",
            "1'2.50",
            "10-20 EUR",
            "10 EUR 20",
            "EUR 5 EUR",
            "5 %",
            "(5.00)",
            "٣ EUR",
            "1,299 000",
            "1 299 000.000,00",
            "1.000.00,00",
        ] {
            assert_eq!(text(input, Currency::EUR), Err(FieldErrorCode::InvalidAmount), "{input}");
        }
        assert_eq!(text(&"9".repeat(41), Currency::EUR), Err(FieldErrorCode::InvalidAmount));
        for input in ["5 EURO", "5 XYZ", "₿5", "5 kr"] {
            assert_eq!(text(input, Currency::EUR), Err(FieldErrorCode::UnknownCurrency), "{input}");
        }
    }

    /// Returns the amount in every supported format.
    fn forms(money: Money) -> Vec<String> {
        let plain = money.to_decimal_text();
        let code = money.currency().code();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let mut forms = vec![plain.clone(), plain.replace('.', ",")];
        for (group, point) in [
            (",", "."),
            (".", ","),
            (" ", ","),
            ("\u{a0}", ","),
            ("\u{202f}", ","),
            ("'", "."),
            ("’", "."),
        ] {
            let whole = grouped(whole, group);
            // Without decimals a single point or comma would be ambiguous, and is refused.
            if !fraction.is_empty() {
                forms.push(format!("{whole}{point}{fraction}"));
            } else if !matches!(group, "." | ",") || whole.matches(group).count() != 1 {
                forms.push(whole);
            }
        }
        let with_code = forms.iter().flat_map(|form| {
            [
                format!("{form} {code}"),
                format!("{code} {form}"),
                format!("{form}\u{a0}{}", code.to_lowercase()),
                format!("{code}{form}"),
            ]
        });
        with_code.collect()
    }

    fn grouped(whole: &str, separator: &str) -> String {
        let mut text = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                text.push_str(separator);
            }
            text.push(digit);
        }
        text
    }

    proptest! {
        #[test]
        fn every_format_of_an_amount_is_parsed(minor in 0_i64..999_999_999_999) {
            for code in ["JPY", "KRW", "EUR", "USD", "CHF", "SEK", "KWD", "BHD", "USDC"] {
                let money = Money::new(minor, currency(code));
                for form in forms(money) {
                    let price = read(&form, Currency::USD, "price");
                    let price = price.map_err(|error| TestCaseError::fail(format!("{form}: {error:?}")))?;
                    prop_assert_eq!(price.currency, Some(currency(code)));
                    let again = Money::from_decimal_text(price.amount.as_str(), currency(code));
                    prop_assert_eq!(again, Ok(money), "{}", form);
                }
            }
        }

        #[test]
        fn other_input_is_refused_without_panic(input in "\\PC*", amount in "[0-9.,' €$A-Z-]{0,20}") {
            for text in [input, amount] {
                if let Ok(price) = read(&text, Currency::EUR, "price") {
                    let plain = price.amount.as_str();
                    prop_assert!(plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
                    prop_assert!(plain.matches('.').count() <= 1);
                }
            }
        }
    }
}
