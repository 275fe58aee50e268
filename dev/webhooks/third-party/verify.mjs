// Verifies the cases of cases.py with the npm packages `stripe` and `standardwebhooks`.
//
//     verify.mjs CASES FOLDER
//
// FOLDER contains the node_modules of the packages. Prints one line for each case and scheme, and fails if a result differs from the
// expected one.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";

const [cases, folder] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const Stripe = require("stripe");
const { Webhook, WebhookVerificationError } = require("standardwebhooks");

const stripe = new Stripe("sk_test_unused");

const schemes = {
  stripe({ headers, secret }, body) {
    stripe.webhooks.constructEvent(body, headers["x-webhook-signature"], secret);
  },
  standard({ headers, secret }, body) {
    new Webhook(secret).verify(body, headers);
  },
};

// `stripe` throws an Error without a class of its own for a signature that is empty.
const isRejection = (error) =>
  error instanceof Stripe.errors.StripeSignatureVerificationError || error instanceof WebhookVerificationError || error.constructor === Error;

let passed = 0;
let failed = 0;
for (const example of JSON.parse(readFileSync(cases, "utf8"))) {
  Date.now = () => example.receivedAt * 1000;
  for (const [scheme, verify] of Object.entries(schemes)) {
    let result = "accepted";
    try {
      verify(example, Buffer.from(example.bodyBase64, "base64"));
    } catch (error) {
      if (!isRejection(error)) throw error;
      result = `rejected: ${error.message.slice(0, 72)}`;
    }
    const right = (result === "accepted") === example.accepted[scheme];
    if (right) passed += 1;
    else failed += 1;
    console.log(`${right ? "ok  " : "FAIL"} node   ${scheme.padEnd(8)} ${example.name}: ${result}`);
  }
}
console.log(`node: ${passed} ok, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
