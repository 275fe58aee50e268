//! Patterns of shown responses: JSON in which a field that the specification shows with its type is written `<type>`.

use serde_json::Value;

/// Checks that a value has everything that a pattern shows. Further fields of objects are allowed. Returns what differs.
pub(super) fn differences(pattern: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", pattern, value, &mut found);
    found
}

fn compare(path: &str, pattern: &Value, value: &Value, found: &mut Vec<String>) {
    match (pattern, value) {
        (Value::Object(fields), Value::Object(values)) => {
            for (name, field) in fields {
                let path = format!("{path}/{name}");
                match values.get(name) {
                    Some(value) => compare(&path, field, value, found),
                    None => found.push(format!("{path} is missing")),
                }
            }
        }
        // One element describes all elements, of which there is at least one.
        (Value::Array(patterns), Value::Array(values)) if patterns.len() == 1 => {
            if values.is_empty() {
                found.push(format!("{path} is empty"));
            }
            for (index, value) in values.iter().enumerate() {
                compare(&format!("{path}/{index}"), &patterns[0], value, found);
            }
        }
        (Value::Array(patterns), Value::Array(values)) if patterns.len() == values.len() => {
            for (index, (pattern, value)) in patterns.iter().zip(values).enumerate() {
                compare(&format!("{path}/{index}"), pattern, value, found);
            }
        }
        (Value::String(text), value) if is_type(text) => {
            if !has_type(&text[1..text.len() - 1], value) {
                found.push(format!("{path} is {value}, not {text}"));
            }
        }
        // 58 and 58.0 are the same number.
        (Value::Number(shown), Value::Number(number)) if shown.as_f64() == number.as_f64() => {}
        (shown, value) if shown == value => {}
        (shown, value) => found.push(format!("{path} is {value}, not {shown}")),
    }
}

fn is_type(text: &str) -> bool {
    text.starts_with('<') && text.ends_with('>')
}

fn has_type(name: &str, value: &Value) -> bool {
    let text = value.as_str();
    match name {
        "string" => text.is_some_and(|text| !text.is_empty()),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "object" => value.is_object(),
        "url" => text.is_some_and(is_absolute_url),
        "jwt" => text.is_some_and(|text| text.split('.').count() == 3),
        "range" => text.and_then(|text| text.split_once('-')).is_some_and(|(least, most)| {
            least.parse::<u32>().is_ok_and(|least| most.parse().is_ok_and(|most| least <= most))
        }),
        "unix time" => text.is_some_and(|text| text.parse::<u32>().is_ok_and(|at| at > 1 << 30)),
        _ => match name.split_once(' ') {
            Some(("string", prefix)) => text.is_some_and(|text| text.starts_with(prefix)),
            Some(("one", values)) => {
                let mut values = values.split(' ').skip(1);
                text.is_some_and(|text| values.any(|value| value == text))
            }
            _ => panic!("unknown type <{name}>"),
        },
    }
}

fn is_absolute_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(' '))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_requires_what_it_shows_and_allows_more() {
        let shown =
            json!({ "id": "<string prod_>", "price": 5, "tags": ["<string>"], "next": null });
        let differs = |value: Value| !differences(&shown, &value).is_empty();
        let exact = json!({ "id": "prod_1", "price": 5.0, "tags": ["a", "b"], "next": null });
        assert!(!differs(exact.clone()));
        for (field, wrong) in [
            ("id", json!("cart_1")),
            ("id", json!(1)),
            ("price", json!(6)),
            ("price", json!("5")),
            ("tags", json!([])),
            ("tags", json!(["a", 1])),
            ("next", json!(1)),
        ] {
            let mut value = exact.clone();
            value[field] = wrong;
            assert!(differs(value.clone()), "{value}");
        }
        let mut more = exact.clone();
        more["more"] = json!(1);
        assert!(!differs(more));
        let mut less = exact;
        less.as_object_mut().expect("an object").remove("next");
        assert!(differs(less), "a shown null is a field");
    }
}
