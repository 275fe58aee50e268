// A test double of Stripe: Checkout Sessions, refunds, the hosted page, signed webhooks. No money moves.
//
//     stripe-double.mjs [--port PORT] [--webhook URL] [--api-key KEY] [--webhook-secret SECRET]
//
// Prints its address as JSON. Faults are set by POST /control/faults, see double.mjs; POST /control/settle ends a payment that is
// processing, POST /control/settle-refund a refund that is pending.

import { createHmac, randomBytes } from "node:crypto";

import { Double, Keys, hostedPage, json, options, redirect } from "./double.mjs";

const settings = options(["port", "webhook", "api-key", "webhook-secret"]);
const API_KEY = settings["api-key"] ?? "sk_test_double";
const WEBHOOK_SECRET = settings["webhook-secret"] ?? "whsec_double";
const API_VERSION = "2026-10-28.endive";

const sessions = new Map();
const intents = new Map();
const refunds = new Map();
const keys = new Keys();

const id = (prefix) => `${prefix}_${randomBytes(12).toString("hex")}`;
const seconds = () => Math.floor(Date.now() / 1000);
const error = (status, type, fields = {}) => json(status, { error: { type, message: "of the test double", ...fields } });
const invalid = (param, fields = {}) => ({ ...error(400, "invalid_request_error", { param, ...fields }), unkept: true });
const missing = () => error(404, "invalid_request_error", { code: "resource_missing" });

function operation({ method, path }) {
  if (method === "POST" && path === "/v1/checkout/sessions") return "create";
  if (method === "POST" && /^\/v1\/checkout\/sessions\/\w+\/expire$/.test(path)) return "expire";
  if (method === "GET" && path.startsWith("/v1/checkout/sessions/")) return "fetch";
  if (method === "POST" && path === "/v1/refunds") return "refund";
  if (method === "GET" && path.startsWith("/v1/refunds/")) return "fetch_refund";
  return undefined;
}

async function handle(call) {
  if (call.path.startsWith("/c/pay/")) return page(call);
  const key = call.headers.authorization;
  if (key !== `Bearer ${API_KEY}`) {
    if (key === "Bearer rk_test_without_permission") return error(403, "invalid_request_error", { code: "more_permissions_required" });
    return error(401, "invalid_request_error", { message: `Invalid API Key provided: ${key}` });
  }
  if (call.headers["stripe-version"] !== API_VERSION) return invalid("Stripe-Version");
  switch (call.operation) {
    case "create":
      return idempotent(call, create);
    case "refund":
      return idempotent(call, refund);
    case "expire":
      return expire(sessions.get(call.path.split("/")[4]));
    case "fetch":
      return fetchSession(call);
    case "fetch_refund": {
      const found = refunds.get(call.path.split("/")[3]);
      return found ? json(200, found) : missing();
    }
    default:
      return undefined;
  }
}

function idempotent(call, work) {
  const conflict = () => error(400, "idempotency_error");
  if (call.headers["content-type"] !== "application/x-www-form-urlencoded") return invalid("content-type");
  return keys.once(call.headers["idempotency-key"], `${call.path}?${call.text}`, conflict, () => work(new URLSearchParams(call.text)));
}

function create(form) {
  const field = (name) => form.get(name);
  const amount = Number(field("line_items[0][price_data][unit_amount]"));
  const expiresAt = Number(field("expires_at"));
  if (field("mode") !== "payment") return invalid("mode");
  if (!Number.isSafeInteger(amount) || amount <= 0) return invalid("amount");
  if (!/^[a-z]{3}$/.test(field("line_items[0][price_data][currency]") ?? "")) return invalid("currency");
  if (!field("line_items[0][price_data][product_data][name]")) return invalid("name");
  if (expiresAt < seconds() + 30 * 60 || expiresAt > seconds() + 24 * 3600) return invalid("expires_at");
  if (amount < 50) return { ...error(400, "invalid_request_error", { code: "amount_too_small", param: "amount" }), unkept: true };
  const session = {
    id: id("cs_test"),
    object: "checkout.session",
    amount_total: amount,
    currency: field("line_items[0][price_data][currency]"),
    cancel_url: field("cancel_url"),
    client_reference_id: field("client_reference_id"),
    created: seconds(),
    expires_at: expiresAt,
    livemode: false,
    metadata: { key: field("metadata[key]") },
    mode: "payment",
    payment_intent: null,
    payment_method_types: field("payment_method_types[0]") ? ["card"] : ["card", "sepa_debit"],
    payment_status: "unpaid",
    status: "open",
    success_url: field("success_url"),
    url: null,
  };
  session.url = `${double.address}/c/pay/${session.id}#fidkdWxOYHwnPyd1blpxYHZxWjA0`;
  session.description = field("line_items[0][price_data][product_data][name]");
  sessions.set(session.id, session);
  return json(200, { ...session });
}

function fetchSession(call) {
  const session = sessions.get(call.path.split("/")[4]);
  if (!session) return missing();
  const intent = intents.get(session.payment_intent);
  const isExpanded = call.query.getAll("expand[]").includes("payment_intent.latest_charge.balance_transaction");
  return json(200, { ...session, payment_intent: intent && isExpanded ? intent : session.payment_intent });
}

function expire(session) {
  if (!session) return missing();
  if (session.status !== "open") return error(400, "invalid_request_error", { message: "Only open sessions can be expired" });
  Object.assign(session, { status: "expired", url: null });
  emit("checkout.session.expired", session);
  return json(200, { ...session });
}

function page(call) {
  const session = sessions.get(call.path.split("/")[3]);
  if (!session) return missing();
  const isOpen = session.status === "open" && session.expires_at > seconds();
  if (call.method !== "POST") {
    const { description } = session;
    return hostedPage({ processor: "Stripe", description, amount: `${session.amount_total} ${session.currency}`, isOpen });
  }
  if (!isOpen) return hostedPage({ processor: "Stripe", description: "", amount: "", isOpen });
  if (new URLSearchParams(call.text).get("action") !== "pay") return redirect(session.cancel_url);
  // A declined card leaves the page open for another one.
  if (double.payments === "decline") return hostedPage({ processor: "Stripe", description: "Your card was declined.", amount: "", isOpen });
  pay(session);
  return redirect(session.success_url);
}

function pay(session) {
  const isDelayed = double.payments === "process";
  const intent = { id: id("pi"), object: "payment_intent", amount: session.amount_total, amount_received: 0, currency: session.currency, status: "processing", latest_charge: null };
  intents.set(intent.id, intent);
  Object.assign(session, { status: "complete", payment_intent: intent.id, url: null });
  if (!isDelayed) succeed(session, intent);
  emit("checkout.session.completed", session);
  if (!isDelayed) emit("payment_intent.succeeded", intent);
}

function succeed(session, intent) {
  const fee = Math.round(intent.amount * 0.029) + 30;
  const balance = { id: id("txn"), object: "balance_transaction", fee, currency: intent.currency };
  const charge = { id: id("ch"), object: "charge", payment_intent: intent.id, amount_refunded: 0, refunded: false, currency: intent.currency, balance_transaction: balance };
  Object.assign(intent, { status: "succeeded", amount_received: intent.amount, latest_charge: charge });
  session.payment_status = "paid";
}

function refund(form) {
  const intent = intents.get(form.get("payment_intent"));
  const charge = intent?.latest_charge;
  const amount = Number(form.get("amount"));
  if (!charge) return missing();
  if (charge.amount_refunded === intent.amount) return error(400, "invalid_request_error", { code: "charge_already_refunded" });
  if (amount > intent.amount - charge.amount_refunded) return error(400, "invalid_request_error", { param: "amount", message: "Refund amount is greater than unrefunded amount on charge" });
  const status = { succeed: "succeeded", pend: "pending", fail: "failed" }[double.refunds];
  const made = { id: id("re"), object: "refund", amount, currency: intent.currency, payment_intent: intent.id, status, metadata: { key: form.get("metadata[key]") } };
  refunds.set(made.id, made);
  if (status !== "failed") charge.amount_refunded += amount;
  charge.refunded = charge.amount_refunded === intent.amount;
  emit("refund.created", made);
  if (status !== "failed") emit("charge.refunded", charge);
  return json(200, { ...made });
}

function control(method, path, body) {
  if (method !== "POST") return undefined;
  if (path === "/control/settle") {
    const session = sessions.get(body.reference);
    const intent = intents.get(session?.payment_intent);
    if (intent?.status !== "processing") return json(409, { error: "not processing" });
    if (body.outcome === "succeed") succeed(session, intent);
    else intent.status = "requires_payment_method";
    emit(`checkout.session.async_payment_${body.outcome === "succeed" ? "succeeded" : "failed"}`, session);
    return json(200, { ok: true });
  }
  if (path === "/control/settle-refund") {
    const made = refunds.get(body.reference);
    if (made?.status !== "pending") return json(409, { error: "not pending" });
    made.status = body.outcome === "succeed" ? "succeeded" : "failed";
    const charge = intents.get(made.payment_intent).latest_charge;
    if (made.status === "failed") charge.amount_refunded -= made.amount;
    emit(made.status === "failed" ? "refund.failed" : "refund.updated", made);
    return json(200, { ok: true });
  }
  return undefined;
}

function emit(type, object) {
  double.emit({ id: id("evt"), object: "event", api_version: API_VERSION, created: seconds(), livemode: false, type, data: { object: structuredClone(object) } });
}

function sign(event) {
  const body = JSON.stringify(event, null, 2);
  const timestamp = seconds();
  const signature = createHmac("sha256", WEBHOOK_SECRET).update(`${timestamp}.${body}`).digest("hex");
  return { headers: { "stripe-signature": `t=${timestamp},v1=${signature},v0=${"0".repeat(64)}` }, body };
}

const state = () => ({ sessions: [...sessions.values()], intents: [...intents.values()], refunds: [...refunds.values()] });

const double = new Double("stripe", { operation, handle, control, sign, state });
await double.listen(settings);
