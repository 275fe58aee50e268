// The npm package `stripe` as the oracle of webhook signatures, for the tests of crates/processors.
//
//     oracle.mjs sign BODY SECRET TIMESTAMP      prints a header made by the package
//     oracle.mjs verify BODY SECRET HEADER TIME  exits with 0 if the package accepts the header at that time

import process from "node:process";

import Stripe from "stripe";

const { webhooks } = new Stripe("sk_test_unused");
const [verb, payload, secret, text, time] = process.argv.slice(2);
if (verb === "sign") {
  process.stdout.write(webhooks.generateTestHeaderString({ payload, secret, timestamp: Number(text) }));
} else {
  const receivedAt = Number(time) * 1000;
  try {
    webhooks.constructEvent(payload, text, secret, undefined, undefined, receivedAt);
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) throw error;
    process.stdout.write("rejected");
    process.exit(1);
  }
}
