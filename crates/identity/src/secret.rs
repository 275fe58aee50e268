//! The secret of the server.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::Sha256;

/// The key of the MACs under which credentials are stored. Changing it invalidates every credential.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

/// Error returned for a secret that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret is shorter than {} bytes", Secret::BYTES_MIN)]
pub struct SecretTooShort;

/// The stored MAC of a credential.
pub(crate) type Mac = [u8; 32];

impl Secret {
    /// Minimum length: the output length of the hash.
    pub const BYTES_MIN: usize = 32;

    /// Creates a secret.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, SecretTooShort> {
        let bytes = bytes.as_ref();
        if bytes.len() < Self::BYTES_MIN { Err(SecretTooShort) } else { Ok(Self(bytes.into())) }
    }

    /// Returns the MAC of a text. Texts of different kinds of credentials have different prefixes, so that none is valid as
    /// another kind.
    pub(crate) fn mac(&self, text: &str) -> Mac {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Returns the secret of one purpose. Its MACs are unrelated to those of this secret and of other purposes.
    pub(crate) fn derived(&self, purpose: &str) -> Self {
        Self(self.derived_key(purpose).as_slice().into())
    }

    /// Returns a key of 256 bits for one purpose, from which neither this secret nor the key of another purpose follows. For
    /// crates that encrypt what they store; a new secret makes that unreadable.
    #[must_use]
    pub fn derived_key(&self, purpose: &str) -> [u8; 32] {
        self.mac(&format!("key of {purpose}"))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_a_minimum_length_and_is_not_printed() {
        assert_eq!(Secret::new([7; 31]).unwrap_err(), SecretTooShort);
        let secret = Secret::new("hush-hush-hush-hush-hush-hush-32").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret");
    }

    #[test]
    fn each_purpose_and_each_secret_has_its_own_key() {
        let [secret, other] = [[1; 32], [2; 32]].map(|bytes| Secret::new(bytes).unwrap());
        let key = secret.derived_key("webhook secrets");
        assert_eq!(key, secret.derived_key("webhook secrets"));
        assert_ne!(key, secret.derived_key("order links"));
        assert_ne!(key, other.derived_key("webhook secrets"));
        assert_ne!(key, secret.mac("webhook secrets"));
    }

    #[test]
    fn the_mac_is_hmac_sha256() {
        // RFC 4231, test case 6: a key that is longer than a block.
        let secret = Secret::new([0xaa; 131]).unwrap();
        let mac = secret.mac("Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(mac[..6], [0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0]);
        assert_eq!(mac[28..], [0x0e, 0xe3, 0x7f, 0x54]);
    }
}
