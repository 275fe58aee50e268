//! What can be checked about a payment without asking anybody.

use alloy_primitives::Signature as RecoverableSignature;
use primitives::Timestamp;

use crate::contract::{Domain, signing_hash};
use crate::decimal::AtomicAmount;
use crate::hexadecimal::{Address, Nonce};
use crate::network::Network;
use crate::payload::{Authorization, PaymentPayload, Signature};
use crate::requirements::{PaymentRequirements, SCHEME_EXACT};

/// Seconds that an authorization has to remain valid, so that a block can still contain it. The reference implementation has
/// the same margin.
pub const EXPIRY_MARGIN_SECONDS: u64 = 6;

/// Seconds by which an authorization may expire later than the quote allows: clocks of payers differ from ours.
pub const CLOCK_ALLOWANCE_SECONDS: u64 = 30;

const SIGNATURE_BYTES: usize = 65;

primitives::text_enum! {
    /// Why a payment is rejected before anybody is asked to settle it.
    #[strum(serialize_all = "snake_case")]
    pub enum Rejection {
        UnsupportedScheme,
        NetworkMismatch,
        AssetMismatch,
        AmountMismatch,
        RecipientMismatch,
        /// Timeout or `extra`.
        AcceptedMismatch,
        /// The requirements were quoted without the domain of the token: a defect of the server.
        MissingDomain,
        AuthorizationValueMismatch,
        AuthorizationRecipientMismatch,
        AuthorizationExpired,
        AuthorizationNotYetValid,
        AuthorizationValidTooLong,
        SignatureLength,
        SignatureRecoveryId,
        SignatureMalleable,
        SignatureInvalid,
        SignerMismatch,
    }
}

impl Rejection {
    /// Returns a sentence for the agent.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::UnsupportedScheme => "the scheme is not `exact`",
            Self::NetworkMismatch => "the network is not the one that was quoted",
            Self::AssetMismatch => "the token is not the one that was quoted",
            Self::AmountMismatch => "the accepted amount is not the one that was quoted",
            Self::RecipientMismatch => "the accepted recipient is not the one that was quoted",
            Self::AcceptedMismatch => "`accepted` is not one of the quoted requirements",
            Self::MissingDomain => {
                "the quoted requirements lack the name and version of an EIP-3009 token"
            }
            Self::AuthorizationValueMismatch => {
                "the authorized value is not exactly the quoted amount"
            }
            Self::AuthorizationRecipientMismatch => {
                "the authorization pays another recipient than the one that was quoted"
            }
            Self::AuthorizationExpired => "the authorization has expired or expires within seconds",
            Self::AuthorizationNotYetValid => "the authorization is not valid yet",
            Self::AuthorizationValidTooLong => {
                "the authorization is valid for longer than `maxTimeoutSeconds` allows"
            }
            Self::SignatureLength => {
                "the signature does not have 65 bytes; contract wallets are not supported"
            }
            Self::SignatureRecoveryId => "the last byte of the signature is neither 27 nor 28",
            Self::SignatureMalleable => "the s of the signature is not in the lower half",
            Self::SignatureInvalid => "the signature is not one of any account",
            Self::SignerMismatch => "the signature is not the payer's for this authorization",
        }
    }
}

/// The transfer that an authorization permits. These values find it on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthorizedTransfer {
    pub network: Network,
    pub asset: Address,
    pub from: Address,
    pub to: Address,
    pub value: AtomicAmount,
    pub nonce: Nonce,
    /// Unix seconds; a block of this time or later cannot contain the transfer.
    pub valid_before: u64,
}

/// A transfer whose authorization was verified; only [`verify`] makes one.
///
/// It says nothing about the balance of the payer, nor whether the authorization has been used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedAuthorization {
    transfer: AuthorizedTransfer,
}

impl VerifiedAuthorization {
    /// Returns the transfer that the authorization permits.
    #[must_use]
    pub const fn transfer(&self) -> &AuthorizedTransfer {
        &self.transfer
    }
}

/// Verifies a payment against the requirements that were quoted for its order, at a time.
///
/// `quoted` comes from where the quote is stored, never from the payload.
pub fn verify(
    quoted: &PaymentRequirements,
    payload: &PaymentPayload,
    now: Timestamp,
) -> Result<VerifiedAuthorization, Rejection> {
    check_accepted(quoted, &payload.accepted)?;
    let (name, version) = quoted.domain().ok_or(Rejection::MissingDomain)?;
    let signed = &payload.payload;
    let authorization = &signed.authorization;
    if authorization.value != quoted.amount {
        return Err(Rejection::AuthorizationValueMismatch);
    }
    if authorization.to != quoted.pay_to {
        return Err(Rejection::AuthorizationRecipientMismatch);
    }
    check_window(authorization, quoted.max_timeout_seconds, now)?;
    let domain = Domain { name, version, network: quoted.network, token: quoted.asset };
    if signer(authorization, &signed.signature, &domain)? != authorization.from {
        return Err(Rejection::SignerMismatch);
    }
    let transfer = AuthorizedTransfer {
        network: quoted.network,
        asset: quoted.asset,
        from: authorization.from,
        to: authorization.to,
        value: authorization.value,
        nonce: authorization.nonce,
        valid_before: authorization.valid_before,
    };
    Ok(VerifiedAuthorization { transfer })
}

fn check_accepted(
    quoted: &PaymentRequirements,
    accepted: &PaymentRequirements,
) -> Result<(), Rejection> {
    // The rest of the quote equals `accepted` in the end, so that its scheme is this one too.
    if accepted.scheme != SCHEME_EXACT {
        return Err(Rejection::UnsupportedScheme);
    }
    if accepted.network != quoted.network {
        return Err(Rejection::NetworkMismatch);
    }
    if accepted.asset != quoted.asset {
        return Err(Rejection::AssetMismatch);
    }
    if accepted.amount != quoted.amount {
        return Err(Rejection::AmountMismatch);
    }
    if accepted.pay_to != quoted.pay_to {
        return Err(Rejection::RecipientMismatch);
    }
    if accepted != quoted {
        return Err(Rejection::AcceptedMismatch);
    }
    Ok(())
}

fn check_window(
    authorization: &Authorization,
    max_timeout_seconds: u32,
    now: Timestamp,
) -> Result<(), Rejection> {
    let now = u64::try_from(now.unix_seconds()).unwrap_or(0);
    if authorization.valid_after > now {
        return Err(Rejection::AuthorizationNotYetValid);
    }
    if authorization.valid_before < now + EXPIRY_MARGIN_SECONDS {
        return Err(Rejection::AuthorizationExpired);
    }
    if authorization.valid_before > now + u64::from(max_timeout_seconds) + CLOCK_ALLOWANCE_SECONDS {
        return Err(Rejection::AuthorizationValidTooLong);
    }
    Ok(())
}

/// Returns the account whose signature it is. The rules are those of the token contract: it accepts one form of each
/// signature.
fn signer(
    authorization: &Authorization,
    signature: &Signature,
    domain: &Domain<'_>,
) -> Result<Address, Rejection> {
    let bytes: &[u8; SIGNATURE_BYTES] =
        signature.bytes().try_into().map_err(|_| Rejection::SignatureLength)?;
    let is_odd = match bytes[SIGNATURE_BYTES - 1] {
        27 => false,
        28 => true,
        _ => return Err(Rejection::SignatureRecoveryId),
    };
    let signature = RecoverableSignature::from_bytes_and_parity(bytes, is_odd);
    if signature.normalize_s().is_some() {
        return Err(Rejection::SignatureMalleable);
    }
    let hash = signing_hash(authorization, domain);
    let signer = signature.recover_address_from_prehash(&hash);
    let signer = signer.map_err(|_| Rejection::SignatureInvalid)?;
    Ok(Address::new(signer.into_array()))
}

#[cfg(test)]
mod tests;
