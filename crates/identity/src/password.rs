//! Passwords: argon2id, and never more of it at once than there are cores.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use rand::Rng;
use tokio::sync::Semaphore;

use crate::IdentityError;

/// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Characters of a password. The most keeps a body from becoming work.
const CHARACTERS: std::ops::RangeInclusive<usize> = 12..=200;

/// How long a login may wait for its turn.
const TURN_MAX: Duration = Duration::from_secs(2);

/// Hashes and compares, as many at once as there are cores.
#[derive(Clone)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    /// The hash of a password nobody has: whoever has no account costs as much as whoever has one.
    nobody: Arc<str>,
}

impl Passwords {
    /// With room for so many at once.
    pub(crate) fn new(at_once: usize) -> Self {
        let nobody = hash("nobody has this password", &[7; 16]).unwrap_or_default();
        Self { turns: Arc::new(Semaphore::new(at_once.max(1))), nobody: nobody.into() }
    }

    /// Whether a password is the one that was hashed. Without a hash it is not, after as much work.
    pub(crate) async fn verify(
        &self,
        password: String,
        hash: Option<String>,
    ) -> Result<bool, IdentityError> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = tokio::time::timeout(TURN_MAX, turn).await;
        let Ok(Ok(turn)) = turn else { return Err(IdentityError::TooBusy) };
        let is_known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.nobody.to_string());
        metrics::counter!("souk_passwords_compared_total").increment(1);
        let comparing = metrics::gauge!("souk_passwords_comparing");
        comparing.increment(1.0);
        let compared = tokio::task::spawn_blocking(move || {
            let is_same = argon2()
                .map(|argon2| argon2.verify_password(password.as_bytes(), hash.as_str()).is_ok());
            comparing.decrement(1.0);
            drop(turn);
            is_same
        });
        Ok(compared.await.map_err(|_| IdentityError::Unhashable)?? && is_known)
    }
}

/// Says what is wrong with a new password.
pub(crate) fn check(password: &str) -> Result<(), IdentityError> {
    if CHARACTERS.contains(&password.chars().count()) {
        Ok(())
    } else {
        Err(IdentityError::InvalidPassword)
    }
}

/// What is kept of a password, with a salt of these dice.
pub(crate) fn hash_new(password: &str, random: &mut impl Rng) -> Result<String, IdentityError> {
    check(password)?;
    let mut salt = [0; 16];
    random.fill_bytes(&mut salt);
    hash(password, &salt)
}

fn hash(password: &str, salt: &[u8]) -> Result<String, IdentityError> {
    let hashed = argon2()?.hash_password_with_salt(password.as_bytes(), salt);
    Ok(hashed.map_err(|_| IdentityError::Unhashable)?.to_string())
}

fn argon2() -> Result<Argon2<'static>, IdentityError> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None);
    let params = params.map_err(|_| IdentityError::Unhashable)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_passes() {
        let passwords = Passwords::new(1);
        assert!(!passwords.nobody.is_empty());
        let kept = hash("correct horse battery", &[1; 16]).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let verify = async |text: &str, kept: Option<&str>| {
            passwords.verify(text.to_owned(), kept.map(str::to_owned)).await.unwrap()
        };
        assert!(verify("correct horse battery", Some(&kept)).await);
        assert!(!verify("correct horse batterz", Some(&kept)).await);
        assert!(!verify("nobody has this password", None).await);
    }

    #[test]
    fn short_and_endless_ones_are_refused() {
        assert!(check("elevenchars").is_err());
        assert!(check("twelve chars").is_ok());
        assert!(check(&"é".repeat(200)).is_ok());
        assert!(check(&"a".repeat(201)).is_err());
    }
}
