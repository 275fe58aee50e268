//! The wallet of an agent: signs authorizations of EIP-3009.

use crate::START;
use alloy_primitives::{U256, keccak256};
use k256::ecdsa::SigningKey;
use x402::{
    Address, Authorization, Extensions, Nonce, PaymentPayload, PaymentRequirements,
    ProtocolVersion, Signature, SignedAuthorization,
};

const TYPE: &str = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)";
const DOMAIN: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

/// Unix time at which tests start.
pub const START_SECONDS: u64 = START.unsigned_abs() / 1_000_000;

/// The key of an account that has tokens.
#[derive(Debug)]
pub struct Wallet(SigningKey);

impl Wallet {
    /// Returns the wallet of this number.
    #[must_use]
    pub fn new(seed: u8) -> Self {
        Self(SigningKey::from_slice(&[seed; 32]).unwrap())
    }

    /// Returns the account.
    #[must_use]
    pub fn address(&self) -> Address {
        let point = self.0.verifying_key().to_encoded_point(false);
        let hash = keccak256(&point.as_bytes()[1..]);
        Address::new(hash[12..].try_into().unwrap())
    }

    /// Signs what was quoted, with a nonce, as a client does at the start of the test.
    #[must_use]
    pub fn pay(&self, quoted: &PaymentRequirements, nonce: u8) -> PaymentPayload {
        self.pay_at(quoted, nonce, START_SECONDS)
    }

    /// Signs what was quoted, with a nonce, at a Unix time.
    #[must_use]
    pub fn pay_at(&self, quoted: &PaymentRequirements, nonce: u8, now: u64) -> PaymentPayload {
        let authorization = Authorization {
            from: self.address(),
            to: quoted.pay_to,
            value: quoted.amount,
            valid_after: 0,
            valid_before: now + u64::from(quoted.max_timeout_seconds),
            nonce: Nonce::new([nonce; 32]),
        };
        self.sign(quoted, authorization)
    }

    /// Signs an authorization for the token of the quote.
    #[must_use]
    pub fn sign(
        &self,
        quoted: &PaymentRequirements,
        authorization: Authorization,
    ) -> PaymentPayload {
        let hash = digest(quoted, &authorization);
        let (signature, recovery) = self.0.sign_prehash_recoverable(&hash).unwrap();
        let mut bytes = signature.to_bytes().to_vec();
        bytes.push(27 + recovery.to_byte());
        PaymentPayload {
            version: ProtocolVersion,
            resource: None,
            accepted: quoted.clone(),
            payload: SignedAuthorization { signature: Signature::new(bytes), authorization },
            extensions: Extensions::default(),
        }
    }
}

fn digest(quoted: &PaymentRequirements, authorization: &Authorization) -> [u8; 32] {
    let text = |name: &str| keccak256(quoted.extra[name].as_str().unwrap()).0;
    let number = |number: u128| U256::from(number).to_be_bytes::<32>();
    let address = |address: Address| {
        let mut word = [0; 32];
        word[12..].copy_from_slice(&address.bytes());
        word
    };
    let domain = [
        keccak256(DOMAIN).0,
        text("name"),
        text("version"),
        number(quoted.network.chain_id().into()),
        address(quoted.asset),
    ];
    let message = [
        keccak256(TYPE).0,
        address(authorization.from),
        address(authorization.to),
        number(authorization.value.units()),
        number(authorization.valid_after.into()),
        number(authorization.valid_before.into()),
        authorization.nonce.bytes(),
    ];
    let hash = |words: &[[u8; 32]]| keccak256(words.concat()).0;
    keccak256([&[0x19, 0x01][..], &hash(&domain), &hash(&message)].concat()).0
}
