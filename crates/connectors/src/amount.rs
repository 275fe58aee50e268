//! Money as shops write it: `19.90 EUR`, `€19,90`, `1.299,00 EUR`, `1'299.00 CHF`. What comes out is
//! plain decimal text, so that no floating-point number ever rounds it, and the currency it named.

use catalog::{Amount, Fault, FaultCode};
use primitives::Currency;

/// The longest text that can be an amount; beyond it nobody wrote a price.
const CHARACTERS_MAX: usize = 40;

/// Currencies that write `$`. A store that charges in one of them means that one.
const DOLLARS: [&str; 8] = ["USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "BRL"];

/// Currencies that write `kr`.
const CROWNS: [&str; 4] = ["SEK", "NOK", "DKK", "ISK"];

const FORM: &str = "Write a decimal amount and a currency code, such as 1299.00 EUR.";

const AMBIGUOUS: &str = "The separator before the last three digits may group thousands or begin the decimals. \
     Write all decimals of the currency and no grouping, such as 1299.00 or 1.30.";

const UNKNOWN_CURRENCY: &str = "The currency is not known; use an ISO 4217 code or USDC.";

/// What an amount says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) amount: Amount,
    /// None if it names none.
    pub(crate) currency: Option<Currency>,
}

/// Reads an amount for a field; `store` is the currency of amounts that name none.
pub(crate) fn read(text: &str, store: Currency, field: &'static str) -> Result<Price, Fault> {
    let refuse = |code, reason: &'static str| Fault::new(field, code, reason);
    let text = text.trim_matches(is_space);
    if text.chars().count() > CHARACTERS_MAX {
        return Err(refuse(FaultCode::InvalidAmount, FORM));
    }
    let digit = |character: char| character.is_ascii_digit();
    let (Some(first), Some(last)) = (text.find(digit), text.rfind(digit)) else {
        return Err(refuse(FaultCode::InvalidAmount, FORM));
    };
    let (before, number, after) = (&text[..first], &text[first..=last], &text[last + 1..]);
    // A currency on both sides, or a currency on one and a sign on the other, is none.
    let sides = (before.trim_matches(is_space), after.trim_matches(is_space));
    let ((token, "") | ("", token)) = sides else {
        return Err(refuse(FaultCode::InvalidAmount, FORM));
    };
    if token.contains(['-', '+', '−', '–', '.', ',', '(', ')', '%']) && token != "Fr." {
        return Err(refuse(FaultCode::InvalidAmount, FORM));
    }
    let currency = match token {
        "" => None,
        token => match currency_of(token, store) {
            Some(currency) => Some(currency),
            None => return Err(refuse(FaultCode::UnknownCurrency, UNKNOWN_CURRENCY)),
        },
    };
    let decimals = currency.unwrap_or(store).decimals();
    let plain = plain(number, decimals).map_err(|why| refuse(FaultCode::InvalidAmount, why))?;
    Ok(Price { amount: Amount::new(plain), currency })
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

/// A space, also one that does not break, also a narrow one.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

/// The number without grouping, with a point before its decimals.
fn plain(number: &str, decimals: u32) -> Result<String, &'static str> {
    let point = decimal_separator(number, decimals)?;
    let (whole, fraction) = match point {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, ""),
    };
    if point.is_some() && (fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit())) {
        return Err(FORM);
    }
    let whole = ungrouped(whole)?;
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    Ok(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

/// Where the decimals begin, if there are any. A point and a comma are both used for both purposes
/// in the world; which one it is follows from the other separators, and where it does not, nobody
/// may guess.
fn decimal_separator(number: &str, decimals: u32) -> Result<Option<usize>, &'static str> {
    let is_mark = |character: char| character == '.' || character == ',';
    let Some(last) = number.rfind(is_mark) else { return Ok(None) };
    let mark = if number[last..].starts_with('.') { '.' } else { ',' };
    let of_its_kind = number.matches(mark).count();
    let of_any_kind = number.matches(is_mark).count();
    if of_its_kind < of_any_kind {
        // Both are there: the last one begins the decimals, and it can do so only once.
        return if of_its_kind == 1 { Ok(Some(last)) } else { Err(FORM) };
    }
    if of_its_kind > 1 {
        return Ok(None);
    }
    let (before, after) = (&number[..last], &number[last + 1..]);
    let is_plain = before.bytes().all(|byte| byte.is_ascii_digit());
    // Thousands are not grouped behind a zero or behind more than three digits, nor in two ways.
    let may_group = is_plain && before.len() <= 3 && !before.starts_with('0');
    if may_group && after.len() == 3 && decimals != 3 {
        return Err(AMBIGUOUS);
    }
    Ok(Some(last))
}

/// The digits of a whole number whose thousands may be grouped by one kind of separator.
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
        let kind = kind(character).ok_or(FORM)?;
        if used.is_some_and(|other| other != kind) {
            return Err(FORM);
        }
        used = Some(kind);
        groups.push(String::new());
    }
    let (first, others) = groups.split_first().ok_or(FORM)?;
    let is_grouped = !others.is_empty();
    if first.is_empty() || is_grouped && first.len() > 3 || others.iter().any(|g| g.len() != 3) {
        return Err(FORM);
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

    fn text(input: &str, store: Currency) -> Result<(String, Option<&'static str>), FaultCode> {
        match read(input, store, "price") {
            Ok(price) => Ok((price.amount.as_str().to_owned(), price.currency.map(Currency::code))),
            Err(fault) => Err(fault.code),
        }
    }

    #[test]
    fn the_forms_of_the_world_are_read() {
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
    fn what_can_be_read_in_two_ways_is_refused_with_advice() {
        for input in ["1.299", "1,299", "1.299 EUR", "€ 1,299", "999.999 JPY", "1.299 USDC"] {
            let fault = read(input, Currency::EUR, "price").unwrap_err();
            assert_eq!(fault.code, FaultCode::InvalidAmount, "{input}");
            assert!(fault.reason.contains("such as 1299.00"), "{input}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
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
            assert_eq!(text(input, Currency::EUR), Err(FaultCode::InvalidAmount), "{input}");
        }
        assert_eq!(text(&"9".repeat(41), Currency::EUR), Err(FaultCode::InvalidAmount));
        for input in ["5 EURO", "5 XYZ", "₿5", "5 kr"] {
            assert_eq!(text(input, Currency::EUR), Err(FaultCode::UnknownCurrency), "{input}");
        }
    }

    /// The amount in every form that is claimed to be read, for a currency that has decimals.
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
        fn every_form_of_an_amount_reads_back(minor in 0_i64..999_999_999_999) {
            for code in ["JPY", "KRW", "EUR", "USD", "CHF", "SEK", "KWD", "BHD", "USDC"] {
                let money = Money::new(minor, currency(code));
                for form in forms(money) {
                    let price = read(&form, Currency::USD, "price");
                    let price = price.map_err(|fault| TestCaseError::fail(format!("{form}: {fault:?}")))?;
                    prop_assert_eq!(price.currency, Some(currency(code)));
                    let again = Money::from_decimal_text(price.amount.as_str(), currency(code));
                    prop_assert_eq!(again, Ok(money), "{}", form);
                }
            }
        }

        #[test]
        fn anything_else_is_refused_quietly(input in "\\PC*", marks in "[0-9.,' €$A-Z-]{0,20}") {
            for text in [input, marks] {
                if let Ok(price) = read(&text, Currency::EUR, "price") {
                    let plain = price.amount.as_str();
                    prop_assert!(plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
                    prop_assert!(plain.matches('.').count() <= 1);
                }
            }
        }
    }
}
