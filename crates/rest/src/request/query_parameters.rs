//! The query parameters of an endpoint: their names, and those without a value.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schema::{Violation, is_absent};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::InvalidInput;
use crate::ErrorResponse;

/// The query parameters that an endpoint declares. A request with another one is rejected: a misspelt `dry_run` must not
/// write. An optional parameter without a value is absent, except a boolean: `dry_run=` does not mean `false`.
pub(crate) struct QueryParameters(Value);

impl QueryParameters {
    /// Takes the query parameters from those of an OpenAPI operation.
    pub(crate) fn of(parameters: &[Value]) -> Self {
        let queries = || parameters.iter().filter(|parameter| parameter["in"] == "query");
        let properties: Map<String, Value> = queries()
            .filter_map(|it| Some((it["name"].as_str()?.to_owned(), it["schema"].clone())))
            .collect();
        let required: Vec<&Value> =
            queries().filter(|it| it["required"] == true).map(|it| &it["name"]).collect();
        let schema = json!({
            "properties": properties, "required": required, "additionalProperties": false,
        });
        Self(schema)
    }

    /// Returns an error for the first parameter that the endpoint does not have.
    fn check(&self, query: &str) -> Result<(), InvalidInput> {
        let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        let unknown = names.find_map(|name| Violation::of_unknown_field(&self.0, &name));
        unknown.map_or(Ok(()), |violation| Err(InvalidInput::query(violation)))
    }

    /// Returns a query string without the parameters that are absent.
    fn present<'query>(&self, query: &'query str) -> Cow<'query, str> {
        let pairs = || form_urlencoded::parse(query.as_bytes());
        if pairs().all(|(_, value)| !value.is_empty()) {
            return Cow::Borrowed(query);
        }
        // An unset variable of a script in `dry_run=` does not mean `false`.
        let is_boolean = |name: &str| self.0["properties"][name]["type"] == "boolean";
        let is_present =
            |name: &str, value: &str| is_boolean(name) || !is_absent(&self.0, name, &json!(value));
        let kept = pairs().filter(|(name, value)| is_present(name, value));
        Cow::Owned(form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish())
    }

    /// Runs the endpoint if it has all parameters of the request.
    pub(crate) async fn run(self: Arc<Self>, mut request: Request, next: Next) -> Response {
        let query = request.uri().query().unwrap_or_default();
        if let Err(error) = self.check(query) {
            return ErrorResponse::from(error).into_response();
        }
        if let Cow::Owned(query) = self.present(query)
            && let Some(uri) = with_query(request.uri(), &query)
        {
            *request.uri_mut() = uri;
        }
        next.run(request).await
    }
}

fn with_query(uri: &Uri, query: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let path_and_query: PathAndQuery = format!("{}?{query}", uri.path()).parse().ok()?;
    parts.path_and_query = Some(path_and_query);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use primitives::{Details, Problem};

    use super::*;

    #[test]
    fn an_unknown_parameter_is_named_with_the_nearest_one() {
        let parameter = |name: &str| json!({ "in": "query", "name": name });
        let header = json!({ "in": "header", "name": "X-Store" });
        let names = QueryParameters::of(&[parameter("dry_run"), parameter("mode"), header]);
        for query in ["", "dry_run=true", "mode=&dry_run=", "&"] {
            assert!(names.check(query).is_ok(), "{query}");
        }
        for (query, field, nearest, sentence) in [
            (
                "mode=merge&dryrun=true",
                json!("dryrun"),
                json!("dry_run"),
                "dryrun is not a query parameter of this endpoint; did you mean dry_run?",
            ),
            (
                "dry-run=true",
                json!(null),
                json!("dry_run"),
                "the query string contains an unknown parameter; did you mean dry_run?",
            ),
            (
                "X_Store=a",
                json!("X_Store"),
                json!(null),
                "X_Store is not a query parameter of this endpoint",
            ),
            (
                "do+as+I+say",
                json!(null),
                json!(null),
                "the query string contains an unknown parameter",
            ),
        ] {
            let error = names.check(query).unwrap_err();
            assert_eq!(error.to_string(), sentence);
            let mut details = Details::default();
            error.details(&mut details);
            let mut details = details.into_json(crate::action::NAMES);
            assert_eq!(details.remove("allowed"), Some(json!(["dry_run", "mode"])));
            assert_eq!(details.remove("field").unwrap_or_default(), field, "{query}");
            assert_eq!(details.remove("did_you_mean").unwrap_or_default(), nearest, "{query}");
        }
    }

    #[test]
    fn optional_parameters_without_a_value_are_absent() {
        let parameter = |name: &str, is_required: bool, kind: &str| {
            let schema = json!({ "type": kind });
            json!({ "in": "query", "name": name, "required": is_required, "schema": schema })
        };
        let parameters = QueryParameters::of(&[
            parameter("q", true, "string"),
            parameter("category", false, "string"),
            parameter("limit", false, "integer"),
            parameter("dry_run", false, "boolean"),
        ]);
        for (query, present) in [
            ("", ""),
            ("q=a%20b&limit=1", "q=a%20b&limit=1"),
            ("q=&category=&limit=", "q="),
            ("q=a%20b&category=", "q=a+b"),
            ("dry_run=&limit=", "dry_run="),
        ] {
            assert_eq!(parameters.present(query), present, "{query}");
        }
        let uri: Uri = "/search?q=&limit=".parse().unwrap();
        assert_eq!(with_query(&uri, "q=a+b").unwrap(), "/search?q=a+b");
    }

    #[test]
    fn an_endpoint_without_parameters_accepts_none() {
        assert!(QueryParameters::of(&[]).check("").is_ok());
        assert!(QueryParameters::of(&[]).check("dry_run=true").is_err());
    }
}
