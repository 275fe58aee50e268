//! Tokens of people who are logged in: JWTs under `EdDSA`, and the keys that sign them.
//!
//! A signing key has a name and a public half, which are in the database, and a private half, which
//! is derived from the server's secret and the name whenever it is needed. A new key is published a
//! minute before it signs, and an old one is accepted until its last token has run out: changing
//! keys fails nobody's call.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use database::{Database, Reading, Work};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use primitives::{Timestamp, UserId};
use rand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::audit::{self, Act, Actor};
use crate::{IdentityError, Secret, table};

/// How long a token lives.
pub const TOKEN_LIFE: Duration = Duration::from_hours(1);
/// How far apart the clocks of two of our machines may be.
const LEEWAY: Duration = Duration::from_mins(1);
/// How long a new key is known before it signs.
const PUBLISHED_BEFORE: Duration = Duration::from_mins(1);
/// How old what a process knows of the keys may be: less than that.
const KEYS_AGE_MAX: Duration = Duration::from_secs(20);
/// How soon a process looks again for a key it does not know: strangers invent names.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// A signing key as the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SigningKey {
    pub(crate) name: String,
    pub(crate) public: Vec<u8>,
    pub(crate) signs_from: Timestamp,
    pub(crate) ends_at: Option<Timestamp>,
}

impl SigningKey {
    fn is_accepted_at(&self, now: Timestamp) -> bool {
        self.ends_at.is_none_or(|end| end > now)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: UserId,
    iat: i64,
    exp: i64,
    /// Since when the person's sessions count, in microseconds: a new password changes it.
    ses: i64,
}

/// What a good token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) user: UserId,
    pub(crate) sessions_from: Timestamp,
}

/// Issues and reads tokens.
#[derive(Clone)]
pub struct Tokens {
    database: Database,
    secret: Secret,
    /// Who issues them: the address of the service.
    issuer: Arc<str>,
    /// For whom: the same, unless it is said otherwise.
    audience: Arc<str>,
    known: Arc<RwLock<Known>>,
    /// One looks, the others wait for what it sees: strangers send tokens by the thousand.
    looking: Arc<Mutex<()>>,
}

#[derive(Default)]
struct Known {
    keys: BTreeMap<String, SigningKey>,
    looked_at: Option<Instant>,
}

impl Tokens {
    /// For a service at this address.
    #[must_use]
    pub fn new(database: Database, secret: Secret, issuer: Arc<str>) -> Self {
        let audience = Arc::clone(&issuer);
        Self { database, secret, issuer, audience, known: Arc::default(), looking: Arc::default() }
    }

    /// The same, for somebody else than the service itself.
    #[must_use]
    pub fn for_audience(self, audience: Arc<str>) -> Self {
        Self { audience, ..self }
    }

    /// Makes the first signing key if there is none, and says at which moment one signs. Two processes may each make one;
    /// both are good.
    async fn prepare(&self) -> Result<Timestamp, IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let now = work.now();
        let keys = table::signing::keys(work.sql(), now).await?;
        if !keys.iter().any(|key| key.signs_from <= now && is_ours(&self.secret, key)) {
            add_key(&mut work, &self.secret, now).await?;
            work.commit().await?;
        }
        self.look().await?;
        Ok(now)
    }

    /// A token for a person.
    pub(crate) async fn issue(
        &self,
        session: Session,
        now: Timestamp,
    ) -> Result<String, IdentityError> {
        let mut key = self.signing_key(now);
        if key.is_none() {
            // A first key is younger than the login that needs it.
            let prepared = self.prepare().await?;
            key = self.signing_key(prepared);
        }
        let key = key.ok_or(IdentityError::NoSigningKey)?;
        let claims = Claims {
            iss: self.issuer.to_string(),
            aud: self.audience.to_string(),
            sub: session.user,
            iat: now.unix_seconds(),
            exp: now.plus(TOKEN_LIFE).unix_seconds(),
            ses: session.sessions_from.unix_micros(),
        };
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(key.name.clone());
        let private = private_key(&self.secret, &key.name)?;
        let der = private.to_pkcs8v1().map_err(|_| IdentityError::Unsigned)?;
        jsonwebtoken::encode(&header, &claims, &EncodingKey::from_ed_der(der.as_ref()))
            .map_err(|_| IdentityError::Unsigned)
    }

    /// Whose token this is. Everything that can be wrong with it is refused in the same words, but for
    /// one that has run out: its owner is told to log in again.
    pub(crate) async fn read(&self, token: &str) -> Result<Session, IdentityError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| IdentityError::Refused)?;
        // The algorithm is ours to choose and never the token's.
        let name = header.kid.filter(|_| header.alg == Algorithm::EdDSA);
        let name = name.ok_or(IdentityError::Refused)?;
        let now = self.database.local_now();
        let key = self.key(&name, now).await?.ok_or(IdentityError::Refused)?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        // By the clock the rest of the process goes by, below.
        validation.validate_exp = false;
        let key = DecodingKey::from_ed_der(&key.public);
        let claims = jsonwebtoken::decode::<Claims>(token, &key, &validation)
            .map_err(|_| IdentityError::Refused)?
            .claims;
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        if claims.exp.saturating_add(seconds(LEEWAY)) <= now.unix_seconds() {
            return Err(IdentityError::TokenExpired);
        }
        if claims.iat > now.unix_seconds().saturating_add(seconds(LEEWAY)) {
            return Err(IdentityError::Refused);
        }
        let sessions_from = Timestamp::from_unix_micros(claims.ses);
        Ok(Session { user: claims.sub, sessions_from })
    }

    /// The public keys, for everybody who wants to check a token (RFC 7517).
    pub async fn jwks(&self) -> Result<Value, IdentityError> {
        self.look_if_older(KEYS_AGE_MAX).await?;
        let now = self.database.local_now();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let accepted = known.keys.values().filter(|key| key.is_accepted_at(now));
        let keys: Vec<Value> = accepted
            .map(|key| {
                let x = BASE64_URL_SAFE_NO_PAD.encode(&key.public);
                json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
                        "kid": key.name, "x": x })
            })
            .collect();
        Ok(json!({ "keys": keys }))
    }

    fn signing_key(&self, now: Timestamp) -> Option<SigningKey> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.looked_at.is_none_or(|then| then.elapsed() > KEYS_AGE_MAX) {
            return None;
        }
        let signs = |key: &&SigningKey| key.signs_from <= now && key.is_accepted_at(now);
        known.keys.values().filter(signs).max_by_key(|key| key.signs_from).cloned()
    }

    async fn key(&self, name: &str, now: Timestamp) -> Result<Option<SigningKey>, IdentityError> {
        self.look_if_older(KEYS_AGE_MAX).await?;
        let mut found = self.known_key(name);
        if found.is_none() {
            self.look_if_older(LOOK_AGAIN).await?;
            found = self.known_key(name);
        }
        Ok(found.filter(|key| key.is_accepted_at(now)))
    }

    fn known_key(&self, name: &str) -> Option<SigningKey> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).keys.get(name).cloned()
    }

    async fn look_if_older(&self, age_max: Duration) -> Result<(), IdentityError> {
        let is_young = || {
            let looked_at = self.known.read().unwrap_or_else(PoisonError::into_inner).looked_at;
            looked_at.is_some_and(|then| then.elapsed() <= age_max)
        };
        if is_young() {
            return Ok(());
        }
        let _turn = self.looking.lock().await;
        if is_young() { Ok(()) } else { self.look().await }
    }

    async fn look(&self) -> Result<(), IdentityError> {
        let began = Instant::now();
        let mut snapshot = Reading::for_platform(&self.database).open().await?;
        let now = snapshot.now().await?;
        let keys = table::signing::keys(&mut snapshot, now).await?;
        snapshot.close().await?;
        let ours = keys.into_iter().filter(|key| is_ours(&self.secret, key));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.keys = ours.map(|key| (key.name.clone(), key)).collect();
        known.looked_at = Some(began);
        Ok(())
    }
}

/// Lets another key sign, in a work for the platform. The old ones are accepted until their last token has
/// run out; `at_once` ends them now, and every session with them, because one may be in wrong hands.
pub async fn rotate_signing_key(
    work: &mut Work,
    secret: &Secret,
    actor: Actor,
    at_once: bool,
) -> Result<String, IdentityError> {
    let now = work.now();
    let signs_from = if at_once { now } else { now.plus(PUBLISHED_BEFORE) };
    let ends_at = if at_once { now } else { signs_from.plus(TOKEN_LIFE).plus(LEEWAY * 2) };
    table::signing::end_all(work, ends_at).await?;
    let name = add_key(work, secret, signs_from).await?;
    audit::record(work, actor, Act::SigningKeyRotated, &name, json!({ "at_once": at_once }))
        .await?;
    Ok(name)
}

async fn add_key(
    work: &mut Work,
    secret: &Secret,
    signs_from: Timestamp,
) -> Result<String, IdentityError> {
    let mut bits = [0_u8; 16];
    work.random().fill_bytes(&mut bits);
    let name = bits.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    let public = private_key(secret, &name)?.public_key().as_ref().to_vec();
    let key = SigningKey { name: name.clone(), public, signs_from, ends_at: None };
    table::signing::insert(work, &key).await?;
    Ok(name)
}

/// Whether the secret yields the key. A line that somebody else wrote into the database signs nothing.
fn is_ours(secret: &Secret, key: &SigningKey) -> bool {
    private_key(secret, &key.name).is_ok_and(|own| own.public_key().as_ref() == key.public)
}

/// The private half of a key: 32 bytes that only the secret and the name together yield.
fn private_key(secret: &Secret, name: &str) -> Result<Ed25519KeyPair, IdentityError> {
    let seed = secret.mac(&format!("signing key {name}"));
    Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| IdentityError::Unsigned)
}
