//! Encryption at rest of secrets that must be readable again, such as those that sign webhooks.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rand::Rng;

/// The first byte of an encrypted secret.
const FORMAT: u8 = 1;

/// A key that encrypts stored secrets of one purpose, derived from the secret of the server with
/// [`Secret::derived_key`](crate::Secret::derived_key). Cheap to clone.
#[derive(Clone)]
pub struct SealingKey(Arc<LessSafeKey>);

/// A secret that cannot be encrypted or decrypted. Of a stored one: another key encrypted it, or it was encrypted for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored secret cannot be encrypted or decrypted")]
pub struct SealingError;

impl SealingKey {
    /// Creates a key from 256 bits.
    ///
    /// # Panics
    /// Never: AES-256 takes every key of 256 bits.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        #[expect(clippy::expect_used, reason = "AES-256 takes every key of 256 bits")]
        let key = UnboundKey::new(&AES_256_GCM, &key).expect("a key of 256 bits");
        Self(Arc::new(LessSafeKey::new(key)))
    }

    /// Encrypts a secret: format, nonce, ciphertext, tag. `owner` names what the secret belongs to: copied to something else, it is not
    /// readable there. With AES-GCM a nonce may be used once, so that it is random; 2³² secrets are far more than a key ever encrypts.
    pub fn seal(
        &self,
        random: &mut impl Rng,
        owner: &[u8],
        secret: &[u8],
    ) -> Result<Vec<u8>, SealingError> {
        let mut nonce = [0; NONCE_LEN];
        random.fill_bytes(&mut nonce);
        let mut text = secret.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(owner),
                &mut text,
            )
            .map_err(|_| SealingError)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_LEN + text.len());
        sealed.push(FORMAT);
        sealed.extend_from_slice(&nonce);
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// Decrypts the secret of `owner`.
    pub fn open(&self, owner: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealingError> {
        let rest = sealed.strip_prefix(&[FORMAT]).ok_or(SealingError)?;
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).ok_or(SealingError)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealingError)?;
        let mut text = text.to_vec();
        let secret =
            self.0.open_in_place(nonce, Aad::from(owner), &mut text).map_err(|_| SealingError)?;
        Ok(secret.to_vec())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealingKey")
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    const SECRET: &[u8] = b"sk_live_secret";

    fn sealed(seed: u64) -> (SealingKey, Vec<u8>) {
        let key = SealingKey::new([7; 32]);
        let sealed = key.seal(&mut StdRng::seed_from_u64(seed), b"store 1", SECRET).unwrap();
        (key, sealed)
    }

    #[test]
    fn a_secret_is_read_with_its_key_for_its_owner_only() {
        let (key, sealed) = sealed(1);
        assert_eq!(key.open(b"store 1", &sealed).unwrap(), SECRET);
        assert_eq!(key.open(b"store 2", &sealed), Err(SealingError));
        assert_eq!(SealingKey::new([8; 32]).open(b"store 1", &sealed), Err(SealingError));
        assert_eq!(format!("{key:?}"), "SealingKey");
    }

    #[test]
    fn no_byte_of_an_encrypted_secret_can_be_changed_or_removed() {
        let (key, sealed) = sealed(1);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(key.open(b"store 1", &changed), Err(SealingError), "{index}");
            assert_eq!(key.open(b"store 1", &sealed[..index]), Err(SealingError));
        }
    }

    #[test]
    fn equal_secrets_are_encrypted_differently() {
        let ((_, one), (_, two)) = (sealed(1), sealed(2));
        assert_ne!(one, two);
        assert!(!one.windows(SECRET.len()).any(|part| part == SECRET));
    }
}
