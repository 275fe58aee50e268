// A test double of PayPal: access tokens, orders with capture, refunds, the hosted page, signed webhooks. No money moves.
//
//     paypal-double.mjs [--port PORT] [--webhook URL] [--client-id ID] [--client-secret SECRET] [--webhook-id ID]
//
// Prints its address as JSON. Faults are set by POST /control/faults, see double.mjs. Further controls: GET authority (the authority of
// the certificates, PEM), POST certificate (which certificate signs), POST revoke-tokens, POST settle and settle-refund.

import { createHash, randomBytes, sign as signRsa } from "node:crypto";
import * as zlib from "node:zlib";

import { authority } from "./certificates.mjs";
import { Double, Keys, hostedPage, json, options, redirect } from "./double.mjs";

const settings = options(["port", "webhook", "client-id", "client-secret", "webhook-id"]);
const CLIENT_ID = settings["client-id"] ?? "client-double";
const CLIENT_SECRET = settings["client-secret"] ?? "secret-double";
const WEBHOOK_ID = settings["webhook-id"] ?? "9XL90610J3647323C";
const NAME = "messageverificationcerts.sandbox.paypal.com";

const ours = authority("Authority of a test double");
// Issued when they are first used: making keys takes a while.
const issued = new Map();
const issuers = {
  valid: () => ours.issue(NAME),
  expired: () => ours.issue(NAME, { days: -1 }),
  other_name: () => ours.issue("other.paypal.example"),
  other_authority: () => authority("Another authority of a test double").issue(NAME),
};
function certificate(name) {
  if (!issued.has(name) && Object.hasOwn(issuers, name)) issued.set(name, issuers[name]());
  return issued.get(name);
}
let signing = "valid";

const tokens = new Set();
const orders = new Map();
const captures = new Map();
const refunds = new Map();
const keys = new Keys();

const id = () => randomBytes(9).toString("hex").toUpperCase().slice(0, 17);
const error = (status, name, issue) => json(status, { name, message: "of the test double", debug_id: "d0", details: issue ? [{ issue, description: "of the test double" }] : [] });
const unprocessable = (issue) => error(422, "UNPROCESSABLE_ENTITY", issue);
const refused = (issue) => ({ ...unprocessable(issue), unkept: true });
const missing = () => error(404, "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID");

const ZERO_DECIMALS = ["HUF", "JPY", "TWD"];
const units = ({ value }) => Math.round(Number(value) * 100);
const sum = (amounts) => amounts.reduce((total, amount) => total + units(amount), 0);

/** Returns the issue of an amount, or undefined. */
function amountIssue(amount) {
  if (!/^\d+(\.\d{1,2})?$/.test(amount?.value ?? "")) return "DECIMAL_PRECISION";
  if (ZERO_DECIMALS.includes(amount.currency_code) && amount.value.includes(".")) return "DECIMALS_NOT_SUPPORTED";
  return units(amount) > 0 ? undefined : "CANNOT_BE_ZERO_OR_NEGATIVE";
}

function operation({ method, path }) {
  if (path === "/v1/oauth2/token") return "token";
  if (path.startsWith("/v1/notifications/certs/")) return "certificate";
  if (method === "POST" && path === "/v2/checkout/orders") return "create";
  if (method === "POST" && /^\/v2\/checkout\/orders\/\w+\/capture$/.test(path)) return "capture";
  if (method === "GET" && path.startsWith("/v2/checkout/orders/")) return "fetch";
  if (method === "POST" && /^\/v2\/payments\/captures\/\w+\/refund$/.test(path)) return "refund";
  if (method === "GET" && path.startsWith("/v2/payments/refunds/")) return "fetch_refund";
  return undefined;
}

async function handle(call) {
  const last = call.path.split("/").at(-1);
  if (call.path === "/checkoutnow") return page(call);
  if (call.operation === "token") return token(call);
  if (call.operation === "certificate") {
    const found = certificate(last.replace("CERT-", ""));
    return found ? { status: 200, headers: { "content-type": "text/plain" }, body: found.pem } : missing();
  }
  if (!tokens.has(call.headers.authorization)) return json(401, { error: "invalid_token", error_description: "Token signature verification failed" });
  switch (call.operation) {
    case "create":
      return idempotent(call, create);
    case "capture":
      return idempotent(call, () => capture(orders.get(call.path.split("/")[4])));
    case "fetch":
      return orders.has(last) ? json(200, order(orders.get(last))) : missing();
    case "refund":
      return idempotent(call, (body) => refund(captures.get(call.path.split("/")[4]), body));
    case "fetch_refund":
      return refunds.has(last) ? json(200, shown(refunds.get(last))) : missing();
    default:
      return undefined;
  }
}

function token(call) {
  const expected = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString("base64")}`;
  if (call.headers.authorization !== expected) return json(401, { error: "invalid_client", error_description: "Client Authentication failed" });
  if (call.text !== "grant_type=client_credentials") return json(400, { error: "unsupported_grant_type" });
  const text = `A21AA${randomBytes(24).toString("base64url")}`;
  tokens.add(`Bearer ${text}`);
  return json(200, { scope: "", access_token: text, token_type: "Bearer", app_id: "APP-1", expires_in: 32_400, nonce: "n" });
}

function idempotent(call, work) {
  if (call.headers["content-type"] !== "application/json") return error(415, "UNSUPPORTED_MEDIA_TYPE");
  if (call.headers.prefer !== "return=representation") return error(400, "INVALID_REQUEST", "MISSING_REQUIRED_PARAMETER");
  const key = call.headers["paypal-request-id"];
  const conflict = () => unprocessable("DUPLICATE_REQUEST_ID");
  return keys.once(key && `${call.operation} ${key}`, `${call.path} ${call.text}`, conflict, () => work(JSON.parse(call.text)));
}

function create(body) {
  const [unit] = body.purchase_units ?? [];
  const issue = amountIssue(unit?.amount);
  if (body.intent !== "CAPTURE" || issue) return refused(issue ?? "INVALID_PARAMETER_VALUE");
  const context = body.payment_source?.paypal?.experience_context;
  const made = { id: id(), status: "PAYER_ACTION_REQUIRED", unit, context, captures: [] };
  orders.set(made.id, made);
  return json(201, order(made));
}

/** Returns an order as PayPal shows it. */
function order(made) {
  const links = [{ href: `${double.address}/v2/checkout/orders/${made.id}`, rel: "self", method: "GET" }];
  if (made.status === "PAYER_ACTION_REQUIRED") links.push({ href: `${double.address}/checkoutnow?token=${made.id}`, rel: "payer-action", method: "GET" });
  const payments = made.captures.length && { payments: { captures: made.captures, refunds: refundsOf(made).map(shown) } };
  return { id: made.id, intent: "CAPTURE", status: made.status, purchase_units: [{ reference_id: "default", ...made.unit, ...payments }], links };
}

const refundsOf = (made) => [...refunds.values()].filter((it) => made.captures.some((capture) => capture.id === it.capture));
const shown = ({ capture, ...refund }) => ({ ...refund, links: [{ rel: "up", href: `${double.address}/v2/payments/captures/${capture}`, method: "GET" }] });

function capture(made) {
  if (!made) return missing();
  if (made.captures.some((it) => it.status !== "DECLINED")) return unprocessable("ORDER_ALREADY_CAPTURED");
  if (made.status !== "APPROVED") return refused("ORDER_NOT_APPROVED");
  const { invoice_id, custom_id, amount } = made.unit;
  const isPaid = [...captures.values()].some((it) => it.invoice_id === invoice_id && it.status === "COMPLETED");
  if (isPaid) return unprocessable("DUPLICATE_INVOICE_ID");
  if (double.payments === "decline") {
    // The buyer may choose another instrument.
    made.status = "PAYER_ACTION_REQUIRED";
    return unprocessable("INSTRUMENT_DECLINED");
  }
  const isDelayed = double.payments === "process";
  const taken = { id: id(), status: isDelayed ? "PENDING" : "COMPLETED", amount, invoice_id, custom_id, final_capture: true };
  taken.supplementary_data = { related_ids: { order_id: made.id } };
  if (!isDelayed) taken.seller_receivable_breakdown = breakdown(amount);
  captures.set(taken.id, taken);
  made.captures.push(taken);
  made.status = "COMPLETED";
  emit("CHECKOUT.ORDER.COMPLETED", "checkout-order", order(made));
  emit(`PAYMENT.CAPTURE.${taken.status}`, "capture", taken);
  return json(201, order(made));
}

const breakdown = (amount) => {
  const fee = ZERO_DECIMALS.includes(amount.currency_code) ? "40" : (Number(amount.value) * 0.0349 + 0.49).toFixed(2);
  return { gross_amount: amount, paypal_fee: { currency_code: amount.currency_code, value: fee } };
};

function refund(taken, body) {
  if (!taken) return missing();
  const issue = amountIssue(body.amount);
  if (issue) return refused(issue);
  const made = orders.get(taken.supplementary_data.related_ids.order_id);
  const counted = refundsOf(made).filter((it) => it.capture === taken.id && it.status !== "FAILED");
  const left = units(taken.amount) - sum(counted.map((it) => it.amount));
  if (body.amount.currency_code !== taken.amount.currency_code) return unprocessable("REFUND_CAPTURE_CURRENCY_MISMATCH");
  if (taken.status === "PENDING") return unprocessable("PENDING_CAPTURE");
  if (left === 0) return unprocessable("CAPTURE_FULLY_REFUNDED");
  if (units(body.amount) > left) return unprocessable("REFUND_AMOUNT_EXCEEDED");
  const status = { succeed: "COMPLETED", pend: "PENDING", fail: "FAILED" }[double.refunds];
  const entry = { id: id(), status, amount: body.amount, custom_id: body.custom_id, capture: taken.id };
  refunds.set(entry.id, entry);
  settled(taken);
  if (status === "COMPLETED") emit("PAYMENT.CAPTURE.REFUNDED", "refund", shown(entry));
  else emit(`PAYMENT.REFUND.${status}`, "refund", shown(entry));
  return json(201, shown(entry));
}

/** Sets the status of a capture by its refunds. */
function settled(taken) {
  const completed = [...refunds.values()].filter((it) => it.capture === taken.id && it.status === "COMPLETED");
  const total = sum(completed.map((it) => it.amount));
  if (total > 0) taken.status = total === units(taken.amount) ? "REFUNDED" : "PARTIALLY_REFUNDED";
}

function page(call) {
  const made = orders.get(call.query.get("token"));
  if (!made) return missing();
  const isOpen = made.status === "PAYER_ACTION_REQUIRED";
  const { amount, description } = made.unit;
  const shownPage = hostedPage({ processor: "PayPal", description, amount: `${amount.value} ${amount.currency_code}`, isOpen });
  if (call.method !== "POST" || !isOpen) return shownPage;
  if (new URLSearchParams(call.text).get("action") !== "pay") return redirect(made.context.cancel_url);
  made.status = "APPROVED";
  emit("CHECKOUT.ORDER.APPROVED", "checkout-order", order(made));
  return redirect(`${made.context.return_url}?token=${made.id}&PayerID=PAYER1`);
}

function control(method, path, body) {
  if (method === "GET" && path === "/control/authority") return { status: 200, headers: { "content-type": "text/plain" }, body: ours.pem };
  if (method !== "POST") return undefined;
  const done = json(200, { ok: true });
  switch (path) {
    case "/control/certificate":
      signing = body.name;
      return done;
    case "/control/revoke-tokens":
      tokens.clear();
      return done;
    case "/control/settle": {
      const [taken] = orders.get(body.reference)?.captures ?? [];
      if (taken?.status !== "PENDING") return json(409, { error: "not pending" });
      taken.status = body.outcome === "succeed" ? "COMPLETED" : "DECLINED";
      if (taken.status === "COMPLETED") taken.seller_receivable_breakdown = breakdown(taken.amount);
      emit(`PAYMENT.CAPTURE.${taken.status}`, "capture", taken);
      return done;
    }
    case "/control/settle-refund": {
      const entry = refunds.get(body.reference);
      if (entry?.status !== "PENDING") return json(409, { error: "not pending" });
      entry.status = body.outcome === "succeed" ? "COMPLETED" : "FAILED";
      settled(captures.get(entry.capture));
      emit(entry.status === "COMPLETED" ? "PAYMENT.CAPTURE.REFUNDED" : "PAYMENT.REFUND.FAILED", "refund", shown(entry));
      return done;
    }
    default:
      return undefined;
  }
}

function emit(event_type, resource_type, resource) {
  const created = new Date().toISOString();
  const event = { id: `WH-${id()}-${id()}`, event_version: "1.0", create_time: created, resource_type, resource_version: "2.0", event_type, summary: "of the test double" };
  double.emit({ ...event, resource: structuredClone(resource), links: [] });
}

function sign(event) {
  const body = JSON.stringify(event);
  const transmission = createHash("sha256").update(randomBytes(16)).digest("hex").slice(0, 36);
  const time = new Date().toISOString().replace(/\.\d+/, "");
  const message = `${transmission}|${time}|${WEBHOOK_ID}|${checksum(Buffer.from(body))}`;
  const signature = signRsa("sha256", Buffer.from(message), certificate(signing).key).toString("base64");
  const headers = {
    "paypal-transmission-id": transmission,
    "paypal-transmission-time": time,
    "paypal-transmission-sig": signature,
    "paypal-cert-url": `${double.address}/v1/notifications/certs/CERT-${signing}`,
    "paypal-auth-algo": "SHA256withRSA",
  };
  return { headers, body };
}

/** CRC-32, which node:zlib has from version 20.15 on. */
function checksum(bytes) {
  if (zlib.crc32) return zlib.crc32(bytes);
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
}

const state = () => ({ orders: [...orders.values()], captures: [...captures.values()], refunds: [...refunds.values()] });

const double = new Double("paypal", { operation, handle, control, sign, state });
await double.listen(settings);
