//! What an agent is asked to pay in tokens: the quote of a session, as it was sent.

use database::{Reading, Work};
use primitives::{CheckoutId, Currency, MerchantId, Money};
use x402::{AtomicAmount, PaymentRequirements};

use crate::{PaymentError, table};

/// Decimal places of USDC on every network.
const TOKEN_DECIMALS: u32 = 6;

/// Returns the amount of USDC for a total, in its smallest unit: USDC as it is, US dollars 1:1, euros at a rate in smallest units of USDC
/// for one euro, rounded up to the next unit. `None` if the currency cannot be paid, or if there is nothing to pay.
#[must_use]
pub fn token_amount(total: Money, eur_rate_micros: Option<i64>) -> Option<AtomicAmount> {
    let units = u128::try_from(total.minor()).ok().filter(|units| *units > 0)?;
    let per_unit = |decimals: u32| 10_u128.checked_pow(decimals);
    let currency = total.currency();
    let units = match currency {
        Currency::Usdc => units,
        Currency::USD => {
            units.checked_mul(per_unit(TOKEN_DECIMALS.checked_sub(currency.decimals())?)?)?
        }
        Currency::EUR => {
            let rate = u128::try_from(eur_rate_micros?).ok()?;
            units.checked_mul(rate)?.div_ceil(per_unit(currency.decimals())?)
        }
        Currency::Iso(_) => return None,
    };
    (units > 0).then(|| AtomicAmount::new(units))
}

/// Stores the quote of a session's terms, and returns the one that counts. A quote that was sent is kept, also at another rate, unless
/// it names another account or token than the store has now.
pub async fn quote_x402(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
    quote_hash: [u8; 32],
    new: PaymentRequirements,
) -> Result<PaymentRequirements, PaymentError> {
    let found = table::x402::find_quote(work.sql(), merchant, checkout, quote_hash).await?;
    let is_kept = |found: &PaymentRequirements| {
        (&found.pay_to, &found.asset, &found.network) == (&new.pay_to, &new.asset, &new.network)
    };
    if let Some(found) = found.filter(is_kept) {
        return Ok(found);
    }
    table::x402::put_quote(work, merchant, checkout, quote_hash, &new).await?;
    Ok(new)
}

/// Returns the quote of a session's terms, if one was sent.
pub async fn find_x402_quote(
    reading: &Reading,
    merchant: MerchantId,
    checkout: CheckoutId,
    quote_hash: [u8; 32],
) -> Result<Option<PaymentRequirements>, PaymentError> {
    let find = async |sql: &mut database::Snapshot| {
        table::x402::find_quote(sql, merchant, checkout, quote_hash).await
    };
    reading.run(find).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(minor: i64, currency: Currency, rate: Option<i64>) -> Option<u128> {
        token_amount(Money::new(minor, currency), rate).map(AtomicAmount::units)
    }

    #[test]
    fn dollars_are_quoted_one_to_one_and_tokens_as_they_are() {
        assert_eq!(units(29_90, Currency::USD, None), Some(29_900_000));
        assert_eq!(units(1, Currency::USD, Some(5)), Some(10_000), "the rate is that of euros");
        assert_eq!(units(1_250_000, Currency::Usdc, None), Some(1_250_000));
        assert_eq!(units(i64::MAX, Currency::USD, None), Some(92_233_720_368_547_758_070_000));
    }

    #[test]
    fn euros_need_a_rate_and_are_rounded_up() {
        assert_eq!(units(29_90, Currency::EUR, None), None);
        assert_eq!(units(29_90, Currency::EUR, Some(1_163_457)), Some(34_787_365));
        assert_eq!(units(1, Currency::EUR, Some(1)), Some(1));
        let most = 850_705_917_302_346_158_473_969_077_842_325_013;
        assert_eq!(units(i64::MAX, Currency::EUR, Some(i64::MAX)), Some(most));
        assert_eq!(units(100, Currency::EUR, Some(-1)), None);
    }

    #[test]
    fn other_currencies_and_nothing_cannot_be_paid() {
        assert_eq!(units(100, "GBP".parse().unwrap(), Some(1_000_000)), None);
        assert_eq!(units(0, Currency::USD, None), None);
        assert_eq!(units(-1, Currency::Usdc, None), None);
    }
}
