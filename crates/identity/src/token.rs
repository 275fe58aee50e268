//! Access tokens of people: JWTs signed with `EdDSA`, and the signing keys.
//!
//! The name and the public key of a signing key are in the database; the private key is derived from the server's secret
//! and the name when it is needed. A new key is published a minute before it signs, and an old one is accepted until its
//! last token has expired, so that rotation does not reject valid tokens.

use std::collections::BTreeMap;
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

use crate::audit::{self, Actor, AuditAction};
use crate::{IdentityError, Secret, table};

/// Lifetime of a token.
pub const TOKEN_LIFETIME: Duration = Duration::from_hours(1);
/// Maximum clock skew between servers.
const LEEWAY: Duration = Duration::from_mins(1);
/// How long a new key is published before it signs.
const PUBLICATION_LEAD: Duration = Duration::from_mins(1);
/// Maximum age of the cached signing keys; less than the publication lead.
const KEYS_AGE_MAX: Duration = Duration::from_secs(20);
/// Minimum interval between reloads for an unknown key, because clients can invent key names.
const RELOAD_INTERVAL_MIN: Duration = Duration::from_secs(2);

/// A signing key as stored in the database.
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
    /// Start of the person's valid sessions, in microseconds since the Unix epoch; a new password changes it.
    ses: i64,
}

/// The content of a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) user: UserId,
    pub(crate) sessions_from: Timestamp,
}

/// Issues and verifies tokens.
#[derive(Clone)]
pub struct Tokens {
    database: Database,
    secret: Secret,
    /// URL of the service.
    issuer: Arc<str>,
    /// The issuer, unless set otherwise.
    audience: Arc<str>,
    cache: Arc<RwLock<KeyCache>>,
    /// Held during a reload, so that concurrent requests share one.
    reload: Arc<Mutex<()>>,
}

#[derive(Default)]
struct KeyCache {
    keys: BTreeMap<String, SigningKey>,
    loaded_at: Option<Instant>,
}

impl Tokens {
    /// Creates the tokens of the service at the URL `issuer`.
    #[must_use]
    pub fn new(database: Database, secret: Secret, issuer: Arc<str>) -> Self {
        let audience = Arc::clone(&issuer);
        Self { database, secret, issuer, audience, cache: Arc::default(), reload: Arc::default() }
    }

    /// Sets another audience than the issuer.
    #[must_use]
    pub fn for_audience(self, audience: Arc<str>) -> Self {
        Self { audience, ..self }
    }

    /// Creates the first signing key if there is none, and returns a time at which one signs. Two processes may each create
    /// one; both are valid.
    async fn prepare(&self) -> Result<Timestamp, IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let now = work.now();
        let keys = table::signing::keys(work.sql(), now).await?;
        if keys.iter().any(|key| key.signs_from <= now && is_derived(&self.secret, key)) {
            work.rollback().await?;
        } else {
            add_key(&mut work, &self.secret, now).await?;
            work.commit().await?;
        }
        self.load().await?;
        Ok(now)
    }

    /// Issues a token.
    pub(crate) async fn issue(
        &self,
        session: Session,
        now: Timestamp,
    ) -> Result<String, IdentityError> {
        let mut key = self.signing_key(now);
        if key.is_none() {
            // The first key is created after the login that needs it.
            let prepared = self.prepare().await?;
            key = self.signing_key(prepared);
        }
        let key = key.ok_or(IdentityError::NoSigningKey)?;
        let claims = Claims {
            iss: self.issuer.to_string(),
            aud: self.audience.to_string(),
            sub: session.user,
            iat: now.unix_seconds(),
            exp: now.plus(TOKEN_LIFETIME).unix_seconds(),
            ses: session.sessions_from.unix_micros(),
        };
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(key.name.clone());
        let private = private_key(&self.secret, &key.name)?;
        let der = private.to_pkcs8v1().map_err(|_| IdentityError::SigningFailed)?;
        jsonwebtoken::encode(&header, &claims, &EncodingKey::from_ed_der(der.as_ref()))
            .map_err(|_| IdentityError::SigningFailed)
    }

    /// Verifies a token. Every defect yields the same error, except for an expired token: its owner has to log in again.
    pub(crate) async fn verify(&self, token: &str) -> Result<Session, IdentityError> {
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| IdentityError::InvalidCredential)?;
        // The server, never the token, chooses the algorithm.
        let name = header.kid.filter(|_| header.alg == Algorithm::EdDSA);
        let name = name.ok_or(IdentityError::InvalidCredential)?;
        let now = self.database.local_now();
        let key = self.key(&name, now).await?.ok_or(IdentityError::InvalidCredential)?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        // Checked below, by the clock of the database handle.
        validation.validate_exp = false;
        let key = DecodingKey::from_ed_der(&key.public);
        let claims = jsonwebtoken::decode::<Claims>(token, &key, &validation)
            .map_err(|_| IdentityError::InvalidCredential)?
            .claims;
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        if claims.exp.saturating_add(seconds(LEEWAY)) <= now.unix_seconds() {
            return Err(IdentityError::TokenExpired);
        }
        if claims.iat > now.unix_seconds().saturating_add(seconds(LEEWAY)) {
            return Err(IdentityError::InvalidCredential);
        }
        let sessions_from = Timestamp::from_unix_micros(claims.ses);
        Ok(Session { user: claims.sub, sessions_from })
    }

    /// Returns the public keys as a JWK set (RFC 7517).
    pub async fn jwks(&self) -> Result<Value, IdentityError> {
        self.reload_if_older(KEYS_AGE_MAX).await?;
        let now = self.database.local_now();
        let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        let accepted = cache.keys.values().filter(|key| key.is_accepted_at(now));
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
        let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
        if cache.loaded_at.is_none_or(|then| then.elapsed() > KEYS_AGE_MAX) {
            return None;
        }
        let signs = |key: &&SigningKey| key.signs_from <= now && key.is_accepted_at(now);
        cache.keys.values().filter(signs).max_by_key(|key| key.signs_from).cloned()
    }

    async fn key(&self, name: &str, now: Timestamp) -> Result<Option<SigningKey>, IdentityError> {
        self.reload_if_older(KEYS_AGE_MAX).await?;
        let mut found = self.cached_key(name);
        if found.is_none() {
            self.reload_if_older(RELOAD_INTERVAL_MIN).await?;
            found = self.cached_key(name);
        }
        Ok(found.filter(|key| key.is_accepted_at(now)))
    }

    fn cached_key(&self, name: &str) -> Option<SigningKey> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner).keys.get(name).cloned()
    }

    async fn reload_if_older(&self, age_max: Duration) -> Result<(), IdentityError> {
        let is_fresh = || {
            let loaded_at = self.cache.read().unwrap_or_else(PoisonError::into_inner).loaded_at;
            loaded_at.is_some_and(|then| then.elapsed() <= age_max)
        };
        if is_fresh() {
            return Ok(());
        }
        let _reload = self.reload.lock().await;
        if is_fresh() { Ok(()) } else { self.load().await }
    }

    async fn load(&self) -> Result<(), IdentityError> {
        let started = Instant::now();
        let reading = Reading::for_platform(&self.database);
        let keys: Vec<SigningKey> = reading
            .run(async |sql| {
                let now = sql.now().await?;
                Ok::<_, IdentityError>(table::signing::keys(sql, now).await?)
            })
            .await?;
        let derived = keys.into_iter().filter(|key| is_derived(&self.secret, key));
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        cache.keys = derived.map(|key| (key.name.clone(), key)).collect();
        cache.loaded_at = Some(started);
        Ok(())
    }
}

/// Rotates the signing key, in a platform transaction, and returns the name of the new key. Old keys are accepted until
/// their last token has expired; `at_once` revokes them and ends all sessions, for a key that may be compromised.
pub async fn rotate_signing_key(
    work: &mut Work,
    secret: &Secret,
    actor: Actor,
    at_once: bool,
) -> Result<String, IdentityError> {
    let now = work.now();
    let signs_from = if at_once { now } else { now.plus(PUBLICATION_LEAD) };
    let ends_at = if at_once { now } else { signs_from.plus(TOKEN_LIFETIME).plus(LEEWAY * 2) };
    table::signing::end_all(work, ends_at).await?;
    let name = add_key(work, secret, signs_from).await?;
    audit::record(
        work,
        actor,
        AuditAction::SigningKeyRotated,
        &name,
        json!({ "at_once": at_once }),
    )
    .await?;
    Ok(name)
}

async fn add_key(
    work: &mut Work,
    secret: &Secret,
    signs_from: Timestamp,
) -> Result<String, IdentityError> {
    let mut bytes = [0_u8; 16];
    work.random().fill_bytes(&mut bytes);
    let name = hex::encode(bytes);
    let public = private_key(secret, &name)?.public_key().as_ref().to_vec();
    let key = SigningKey { name: name.clone(), public, signs_from, ends_at: None };
    table::signing::insert(work, &key).await?;
    Ok(name)
}

/// Returns whether the key is derived from the secret. A key that was inserted into the database by other means is
/// ignored.
fn is_derived(secret: &Secret, key: &SigningKey) -> bool {
    private_key(secret, &key.name).is_ok_and(|derived| derived.public_key().as_ref() == key.public)
}

/// Derives the private key from the secret and the name.
fn private_key(secret: &Secret, name: &str) -> Result<Ed25519KeyPair, IdentityError> {
    let seed = secret.mac(&format!("signing key {name}"));
    Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| IdentityError::SigningFailed)
}
