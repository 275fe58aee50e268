//! The shared vectors, and what they cannot express.
#![expect(clippy::unwrap_used, reason = "a vector that cannot be read is a failed test")]

use std::collections::BTreeSet;
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use souk_webhooks::{Error, Event, Verifier};

struct Vector {
    name: String,
    secrets: Vec<String>,
    header: Option<String>,
    body: Vec<u8>,
    now: u64,
    tolerance: Option<u64>,
    expected: String,
    /// The id and the kind of the event.
    event: Option<(String, String)>,
}

fn vectors() -> Vec<Vector> {
    let values: Vec<Value> =
        serde_json::from_str(include_str!("../../webhooks-vectors.json")).unwrap();
    values.iter().map(Vector::read).collect()
}

impl Vector {
    fn read(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let secrets = value["secrets"].as_array().unwrap();
        Self {
            name: text("name").unwrap(),
            secrets: secrets.iter().map(|secret| secret.as_str().unwrap().to_owned()).collect(),
            header: text("header"),
            body: match text("body") {
                Some(body) => body.into_bytes(),
                None => STANDARD.decode(text("bodyBase64").unwrap()).unwrap(),
            },
            now: value["now"].as_u64().unwrap(),
            tolerance: value.get("tolerance").map(|seconds| seconds.as_u64().unwrap()),
            expected: text("expected").unwrap(),
            event: text("id").zip(text("event")),
        }
    }

    fn verifier(&self) -> Result<Verifier, Error> {
        let verifier = Verifier::new(self.secrets.clone())?;
        Ok(match self.tolerance {
            Some(seconds) => verifier.with_tolerance(Duration::from_secs(seconds)),
            None => verifier,
        })
    }

    fn verify(&self) -> Result<Event, Error> {
        self.verifier()?.verify_at(self.header.as_deref(), &self.body, self.now)
    }

    fn verify_signature(&self) -> Result<(), Error> {
        self.verifier()?.verify_signature_at(self.header.as_deref(), &self.body, self.now)
    }
}

#[test]
fn every_vector_has_the_expected_result() {
    let vectors = vectors();
    assert!(vectors.len() > 100);
    for vector in vectors {
        match vector.verify() {
            Ok(event) => {
                let data: Value = serde_json::from_slice(&vector.body).unwrap();
                assert_eq!(vector.expected, "ok", "{}", vector.name);
                assert_eq!(event.data, data, "{}", vector.name);
                assert_eq!(Some((event.id, event.kind)), vector.event, "{}", vector.name);
            }
            Err(error) => assert_eq!(error.reason(), vector.expected, "{}", vector.name),
        }
    }
}

#[test]
fn the_signature_alone_says_nothing_about_the_body() {
    for vector in vectors() {
        let found = vector.verify_signature().err().map_or("ok", Error::reason);
        let expected = match vector.expected.as_str() {
            "invalid_body" => "ok",
            other => other,
        };
        assert_eq!(found, expected, "{}", vector.name);
    }
}

#[test]
fn every_reason_has_a_vector() {
    let expected: BTreeSet<String> = vectors().into_iter().map(|vector| vector.expected).collect();
    let reasons = Error::ALL.map(|error| error.reason().to_owned());
    let reasons: BTreeSet<String> = reasons.into_iter().chain(["ok".to_owned()]).collect();
    assert_eq!(expected, reasons);
}

#[test]
fn the_current_time_is_the_default() {
    let vector = &vectors()[0];
    let (header, body) = (vector.header.as_deref(), vector.body.as_slice());
    let verifier = vector.verifier().unwrap();
    // The timestamp of the vectors is not the current time.
    assert_eq!(verifier.verify(header, body), Err(Error::OutsideTolerance));
    assert_eq!(verifier.verify_signature(header, body), Err(Error::OutsideTolerance));
    let century = Duration::from_hours(100 * 365 * 24);
    let verifier = verifier.with_tolerance(century);
    assert!(verifier.verify(header, body).is_ok());
    assert!(verifier.verify_signature(header, body).is_ok());
}

#[test]
fn secrets_are_not_printed() {
    let verifier = Verifier::new(["whsec_c291aw=="]).unwrap();
    assert_eq!(format!("{verifier:?}"), "Verifier { tolerance: 300s, .. }");
    for error in Error::ALL {
        assert!(!error.to_string().is_empty() && !error.to_string().contains("whsec_"));
    }
}
