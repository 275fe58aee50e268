//! Passwords: argon2id, with at most one verification per core at a time.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use rand::Rng;
use tokio::sync::Semaphore;

use crate::IdentityError;

/// Parameters recommended by OWASP for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Length of a password in characters. The maximum bounds the cost of hashing.
const CHARACTERS: std::ops::RangeInclusive<usize> = 12..=200;

/// How long a login may wait for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Verifies passwords, with bounded concurrency.
#[derive(Clone)]
pub(crate) struct Passwords {
    permits: Arc<Semaphore>,
    /// Hash to verify against if the account does not exist, so that the response takes the same time.
    dummy_hash: Arc<str>,
}

impl Passwords {
    /// Creates the verifier for up to `concurrency` passwords at a time.
    pub(crate) fn new(concurrency: usize) -> Self {
        let dummy_hash = hash("nobody has this password", &[7; 16]).unwrap_or_default();
        let permits = Arc::new(Semaphore::new(concurrency.max(1)));
        Self { permits, dummy_hash: dummy_hash.into() }
    }

    /// Returns whether a password matches the hash. Without a hash it returns `false` after the same work.
    pub(crate) async fn verify(
        &self,
        password: String,
        hash: Option<String>,
    ) -> Result<bool, IdentityError> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout(PERMIT_TIMEOUT, permit).await;
        let Ok(Ok(permit)) = permit else { return Err(IdentityError::Overloaded) };
        let is_known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.dummy_hash.to_string());
        metrics::counter!("souk_password_verifications_total").increment(1);
        let in_progress = metrics::gauge!("souk_password_verifications_in_progress");
        in_progress.increment(1.0);
        let verified = tokio::task::spawn_blocking(move || {
            let is_same = argon2()
                .map(|argon2| argon2.verify_password(password.as_bytes(), hash.as_str()).is_ok());
            in_progress.decrement(1.0);
            drop(permit);
            is_same
        });
        Ok(verified.await.map_err(|_| IdentityError::HashingFailed)?? && is_known)
    }
}

/// Checks the length of a new password.
pub(crate) fn check(password: &str) -> Result<(), IdentityError> {
    if CHARACTERS.contains(&password.chars().count()) {
        Ok(())
    } else {
        Err(IdentityError::InvalidPassword)
    }
}

/// Hashes a new password with a random salt.
pub(crate) fn hash_new(password: &str, random: &mut impl Rng) -> Result<String, IdentityError> {
    check(password)?;
    let mut salt = [0; 16];
    random.fill_bytes(&mut salt);
    hash(password, &salt)
}

fn hash(password: &str, salt: &[u8]) -> Result<String, IdentityError> {
    let hashed = argon2()?.hash_password_with_salt(password.as_bytes(), salt);
    Ok(hashed.map_err(|_| IdentityError::HashingFailed)?.to_string())
}

fn argon2() -> Result<Argon2<'static>, IdentityError> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None);
    let params = params.map_err(|_| IdentityError::HashingFailed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_correct_password_is_verified() {
        let passwords = Passwords::new(1);
        assert!(!passwords.dummy_hash.is_empty());
        let stored = hash("correct horse battery", &[1; 16]).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let verify = async |text: &str, stored: Option<&str>| {
            passwords.verify(text.to_owned(), stored.map(str::to_owned)).await.unwrap()
        };
        assert!(verify("correct horse battery", Some(&stored)).await);
        assert!(!verify("correct horse batterz", Some(&stored)).await);
        assert!(!verify("nobody has this password", None).await);
    }

    #[test]
    fn passwords_of_invalid_length_are_rejected() {
        assert!(check("elevenchars").is_err());
        assert!(check("twelve chars").is_ok());
        assert!(check(&"é".repeat(200)).is_ok());
        assert!(check(&"a".repeat(201)).is_err());
    }
}
