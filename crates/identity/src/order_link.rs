//! Links to the pages of orders. Whoever has the link acts as the buyer.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use primitives::{MerchantId, OrderId};
use subtle::ConstantTimeEq;

use crate::Secret;

/// Makes the links to the pages of orders and verifies their tokens. A token is derived from the server's secret and stored
/// nowhere. A link is for the buyer and the buyer's agent: a merchant who had it could withdraw a dispute against itself.
#[derive(Debug, Clone)]
pub struct OrderLinks {
    /// Derived from the server's secret, so that a token is the MAC of no credential.
    key: Secret,
    site_url: Arc<str>,
}

impl OrderLinks {
    /// Creates the links of the service at `site_url`.
    #[must_use]
    pub fn new(secret: &Secret, site_url: Arc<str>) -> Self {
        Self { key: secret.derived("order pages"), site_url }
    }

    /// Returns the link to the page of an order.
    #[must_use]
    pub fn url(&self, slug: &str, merchant: MerchantId, order: OrderId) -> String {
        format!("{}{}", self.site_url, self.path(slug, merchant, order))
    }

    /// Returns the link without the site.
    #[must_use]
    pub fn path(&self, slug: &str, merchant: MerchantId, order: OrderId) -> String {
        format!("/{slug}/orders/{order}?token={}", self.token(merchant, order))
    }

    /// Returns the token of an order's page.
    #[must_use]
    pub fn token(&self, merchant: MerchantId, order: OrderId) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.key.mac(&format!("order-page:{merchant}:{order}")))
    }

    /// Returns whether a token is the one of an order's page. Takes the same time for every token of the right length.
    #[must_use]
    pub fn is_valid(&self, merchant: MerchantId, order: OrderId, token: &str) -> bool {
        self.token(merchant, order).as_bytes().ct_eq(token.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    fn links(secret: &str) -> OrderLinks {
        OrderLinks::new(&Secret::new(secret).unwrap(), Arc::from("https://souk.example"))
    }

    #[test]
    fn a_token_is_valid_for_one_order_of_one_store_under_one_secret() {
        let ours = links("a secret for tests, of 32 bytes and more");
        let (store, order) = (MerchantId::from_random(1), OrderId::from_random(2));
        let token = ours.token(store, order);
        assert!(ours.is_valid(store, order, &token));
        assert!(!ours.is_valid(MerchantId::from_random(2), order, &token));
        assert!(!ours.is_valid(store, OrderId::from_random(1), &token));
        let others = links("another secret for tests, of 32 bytes");
        assert!(!others.is_valid(store, order, &token));
        let (short, long) = (&token[1..], format!("{token}A"));
        for wrong in ["", "é", short, &long, &token.to_lowercase()] {
            assert!(!ours.is_valid(store, order, wrong), "{wrong}");
        }
    }

    #[test]
    fn a_link_has_a_token_of_256_bits() {
        let links = links("a secret for tests, of 32 bytes and more");
        let (store, order) = (MerchantId::from_random(1), OrderId::from_random(2));
        let url = links.url("kivikiri", store, order);
        let (address, token) = url.split_once("?token=").unwrap();
        assert_eq!(address, format!("https://souk.example/kivikiri/orders/{order}"));
        assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(token).unwrap().len(), 32);
        assert!(!format!("{links:?}").contains(token));
    }

    #[test]
    fn a_token_is_not_the_mac_of_its_text_under_the_secret() {
        let secret = Secret::new("a secret for tests, of 32 bytes and more").unwrap();
        let links = OrderLinks::new(&secret, Arc::from(""));
        let (store, order) = (MerchantId::from_random(1), OrderId::from_random(2));
        let direct = secret.mac(&format!("order-page:{store}:{order}"));
        assert_ne!(links.token(store, order), BASE64_URL_SAFE_NO_PAD.encode(direct));
    }
}
