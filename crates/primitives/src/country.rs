//! Country codes: ISO 3166-1, two letters.

/// All assigned codes, and `XK`, which carriers use for Kosovo.
const CODES: &str = "\
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ \
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR \
    GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP \
    KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT \
    MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW \
    SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ \
    UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

/// Codes that are often mistaken for one, and the right one.
const MISTAKEN: [(&str, &str); 12] = [
    ("UK", "GB"),
    ("EN", "GB"),
    ("EL", "GR"),
    ("SP", "ES"),
    ("GER", "DE"),
    ("DEU", "DE"),
    ("GBR", "GB"),
    ("USA", "US"),
    ("FRA", "FR"),
    ("ESP", "ES"),
    ("ITA", "IT"),
    ("PRT", "PT"),
];

/// Describes valid codes; completes "must be …".
pub const ALLOWED: &str = "the two capital letters of a country (ISO 3166), such as GB";

/// Whether this is the code of a country.
#[must_use]
pub fn is_country(code: &str) -> bool {
    code.len() == 2 && CODES.split(' ').any(|known| known == code)
}

/// Returns the code that is probably meant, if any.
#[must_use]
pub fn nearest(text: &str) -> Option<&'static str> {
    let text = text.trim().to_ascii_uppercase();
    let mistaken = MISTAKEN.iter().find(|(wrong, _)| *wrong == text).map(|(_, right)| *right);
    mistaken.or_else(|| CODES.split(' ').find(|known| *known == text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_complete() {
        let codes: Vec<&str> = CODES.split(' ').collect();
        assert_eq!(codes.len(), 249 + 1);
        assert!(codes.iter().all(|code| code.len() == 2));
        assert!(codes.is_sorted_by(|one, next| one < next));
        assert!(MISTAKEN.iter().all(|(wrong, right)| !is_country(wrong) && is_country(right)));
    }

    #[test]
    fn a_mistaken_code_has_a_suggestion() {
        assert_eq!(nearest("UK"), Some("GB"));
        assert_eq!(nearest(" de "), Some("DE"));
        assert_eq!(nearest("XX"), None);
        assert!(!is_country("XX") && !is_country("UK") && !is_country("de") && !is_country("A "));
    }
}
