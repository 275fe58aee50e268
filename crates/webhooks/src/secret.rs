//! Signing secrets of endpoints, and their encryption at rest. A secret must be readable to sign, so that it is encrypted, not
//! hashed.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use primitives::{EndpointId, MerchantId};
use rand::Rng;

/// Random bytes of a secret.
const KEY_BYTES: usize = 32;
/// The first byte of an encrypted secret.
const FORMAT: u8 = 1;

/// The secret with which the requests to an endpoint are signed: `whsec_` and the base64 of 32 random bytes. It is in the
/// response that creates it and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret([u8; KEY_BYTES]);

impl SigningSecret {
    /// The prefix of the text.
    const PREFIX: &'static str = "whsec_";

    pub(crate) fn generate(random: &mut impl Rng) -> Self {
        let mut key = [0; KEY_BYTES];
        random.fill_bytes(&mut key);
        Self(key)
    }

    /// Creates a secret from its bytes.
    #[must_use]
    pub const fn of(key: [u8; KEY_BYTES]) -> Self {
        Self(key)
    }

    /// Returns the text that the merchant gets. `X-Webhook-Signature` is keyed with all of it
    /// (docs/contract/webhooks.md#signature).
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", Self::PREFIX, STANDARD.encode(self.0))
    }

    /// Returns the bytes that the text encodes. `webhook-signature` is keyed with them, as Standard Webhooks defines.
    #[must_use]
    pub const fn key(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningSecret")
    }
}

/// The key that encrypts the signing secrets of all endpoints, derived from the secret of the server. Cheap to clone.
#[derive(Clone)]
pub struct SealingKey(Arc<LessSafeKey>);

/// A signing secret that cannot be encrypted or decrypted. Of a stored one: another key encrypted it, or it was encrypted for
/// another endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret of a webhook endpoint cannot be encrypted or decrypted")]
pub struct SecretError;

impl SealingKey {
    /// The purpose for which the secret of the server is derived.
    pub const PURPOSE: &'static str = "webhook secrets";

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

    /// Encrypts a secret for one endpoint: format, nonce, ciphertext, tag. With AES-GCM a nonce may be used once, so that it is
    /// random; 2³² secrets are far more than a key ever encrypts.
    pub(crate) fn seal(
        &self,
        random: &mut impl Rng,
        merchant: MerchantId,
        endpoint: EndpointId,
        secret: &SigningSecret,
    ) -> Result<Vec<u8>, SecretError> {
        let mut nonce = [0; NONCE_LEN];
        random.fill_bytes(&mut nonce);
        let mut text = secret.0.to_vec();
        let aad = Aad::from(associated(merchant, endpoint));
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text)
            .map_err(|_| SecretError)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_LEN + text.len());
        sealed.push(FORMAT);
        sealed.extend_from_slice(&nonce);
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// Decrypts the secret of an endpoint.
    pub(crate) fn open(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        sealed: &[u8],
    ) -> Result<SigningSecret, SecretError> {
        let rest = sealed.strip_prefix(&[FORMAT]).ok_or(SecretError)?;
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).ok_or(SecretError)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SecretError)?;
        let aad = Aad::from(associated(merchant, endpoint));
        let mut text = text.to_vec();
        let key = self.0.open_in_place(nonce, aad, &mut text).map_err(|_| SecretError)?;
        <[u8; KEY_BYTES]>::try_from(&*key).map(SigningSecret).map_err(|_| SecretError)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealingKey")
    }
}

/// The associated data: an encrypted secret that is copied to another endpoint is not readable there.
fn associated(merchant: MerchantId, endpoint: EndpointId) -> [u8; 32] {
    let mut data = [0; 32];
    data[..16].copy_from_slice(merchant.uuid().as_bytes());
    data[16..].copy_from_slice(endpoint.uuid().as_bytes());
    data
}

#[cfg(test)]
mod tests {
    use primitives::Id;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn ids(merchant: u128, endpoint: u128) -> (MerchantId, EndpointId) {
        (MerchantId::from_random(merchant), EndpointId::from_random(endpoint))
    }

    fn sealed() -> (SealingKey, SigningSecret, Vec<u8>) {
        let mut random = StdRng::seed_from_u64(1);
        let key = SealingKey::new([7; 32]);
        let secret = SigningSecret::generate(&mut random);
        let (merchant, endpoint) = ids(1, 2);
        let sealed = key.seal(&mut random, merchant, endpoint, &secret).unwrap();
        (key, secret, sealed)
    }

    #[test]
    fn the_text_is_the_prefix_and_the_padded_base64_of_the_key() {
        let secret = SigningSecret([0; 32]);
        assert_eq!(secret.text(), "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
        assert_eq!(secret.key(), &[0; 32]);
        assert_eq!(
            format!("{secret:?} {:?}", SealingKey::new([7; 32])),
            "SigningSecret SealingKey"
        );
    }

    #[test]
    fn a_secret_is_read_with_its_key_for_its_endpoint_only() {
        let (key, secret, sealed) = sealed();
        let open = |key: &SealingKey, (merchant, endpoint): (MerchantId, EndpointId)| {
            key.open(merchant, endpoint, &sealed)
        };
        assert_eq!(open(&key, ids(1, 2)), Ok(secret));
        assert_eq!(open(&SealingKey::new([8; 32]), ids(1, 2)), Err(SecretError));
        assert_eq!(open(&key, ids(1, 3)), Err(SecretError));
        assert_eq!(open(&key, ids(3, 2)), Err(SecretError));
    }

    #[test]
    fn no_byte_of_an_encrypted_secret_can_be_changed_or_removed() {
        let (key, _, sealed) = sealed();
        let (merchant, endpoint) = ids(1, 2);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(key.open(merchant, endpoint, &changed), Err(SecretError), "{index}");
            assert_eq!(key.open(merchant, endpoint, &sealed[..index]), Err(SecretError));
        }
    }

    #[test]
    fn equal_secrets_are_encrypted_differently() {
        let (key, secret, sealed) = sealed();
        let (merchant, endpoint) = ids(1, 2);
        let mut random = StdRng::seed_from_u64(2);
        let again = key.seal(&mut random, merchant, endpoint, &secret).unwrap();
        assert_ne!(again, sealed);
        assert!(!sealed.windows(8).any(|part| secret.key().windows(8).any(|it| it == part)));
    }
}
