//! The interface of a token with EIP-3009, and what its payers sign.

use alloy_primitives::{B256, U256};
use alloy_sol_types::{Eip712Domain, SolStruct, sol};

use crate::hexadecimal::Address;
use crate::network::Network;
use crate::payload::Authorization;

sol! {
    struct TransferWithAuthorization {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }

    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
    function balanceOf(address account) external view returns (uint256);

    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    event Transfer(address indexed from, address indexed to, uint256 value);
}

/// The domain that binds a signature to one token on one chain.
pub(crate) struct Domain<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) network: Network,
    pub(crate) token: Address,
}

/// Returns the digest that the payer of an authorization signs (EIP-712).
pub(crate) fn signing_hash(authorization: &Authorization, domain: &Domain<'_>) -> B256 {
    let domain = Eip712Domain::new(
        Some(domain.name.to_owned().into()),
        Some(domain.version.to_owned().into()),
        Some(U256::from(domain.network.chain_id())),
        Some(domain.token.bytes().into()),
        None,
    );
    let message = TransferWithAuthorization {
        from: authorization.from.bytes().into(),
        to: authorization.to.bytes().into(),
        value: U256::from(authorization.value.units()),
        validAfter: U256::from(authorization.valid_after),
        validBefore: U256::from(authorization.valid_before),
        nonce: authorization.nonce.bytes().into(),
    };
    message.eip712_signing_hash(&domain)
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::{SolCall, SolEvent};

    use super::*;

    /// The type hash and the selectors that EIP-3009 states.
    #[test]
    fn the_interface_is_that_of_eip_3009() {
        assert_eq!(
            TransferWithAuthorization::eip712_encode_type(),
            "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,\
             uint256 validBefore,bytes32 nonce)"
        );
        assert_eq!(hex::encode(authorizationStateCall::SELECTOR), "e94a0102");
        assert_eq!(hex::encode(balanceOfCall::SELECTOR), "70a08231");
        let topic = |hash: B256| hex::encode(hash);
        assert_eq!(
            topic(Transfer::SIGNATURE_HASH),
            "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
        );
        assert_eq!(
            topic(AuthorizationUsed::SIGNATURE_HASH),
            "98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
        );
        assert_eq!(
            topic(AuthorizationCanceled::SIGNATURE_HASH),
            "1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
        );
    }
}
