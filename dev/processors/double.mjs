// What both test doubles have in common: the server, the fault switches, the deliveries of webhooks, the hosted page.
//
// A double is a process that behaves like the API of a payment processor, as far as the tests of crates/processors need it. It moves no
// money, is bound to 127.0.0.1, and says what it is on every page and in the header `x-test-double`.

import { createServer } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const BODY_MAX_BYTES = 1_000_000;
const LABEL = "TEST DOUBLE: no money moves";

/** Reads `--name value` pairs from the command line. */
export function options(known) {
  const values = {};
  const rest = process.argv.slice(2);
  for (let index = 0; index < rest.length; index += 2) {
    const name = rest[index].replace(/^--/, "");
    if (!known.includes(name) || rest[index + 1] === undefined) {
      process.stderr.write(`usage: ${known.map((it) => `[--${it} VALUE]`).join(" ")}\n`);
      process.exit(2);
    }
    values[name] = rest[index + 1];
  }
  return values;
}

/** An answer with a JSON body. */
export const json = (status, body, headers = {}) => ({ status, body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } });

const html = (status, title, content) => ({
  status,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><p><strong>${LABEL}</strong></p><h1>${title}</h1>${content}</body></html>`,
});

const escape = (text) => String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The page on which a buyer pays. It works without JavaScript. */
export function hostedPage({ processor, description, amount, isOpen }) {
  const title = `${processor} payment page (test double)`;
  const form = isOpen
    ? '<form method="post"><button name="action" value="pay">Pay</button> <button name="action" value="cancel">Cancel</button></form>'
    : "<p>This payment is not open.</p>";
  return html(200, title, `<p>${escape(description)}</p><p>${escape(amount)}</p>${form}`);
}

export const redirect = (location) => ({ status: 303, headers: { location }, body: "" });

export class Double {
  /**
   * @param {string} name of the processor
   * @param {object} behavior `handle(request)` answers a request or returns undefined; `sign(event, url)` returns the headers and
   *   body of a webhook; `control(path, body)` answers further control requests
   */
  constructor(name, behavior) {
    this.name = name;
    this.behavior = behavior;
    // One entry for each fault: { operation, fault, times, milliseconds }.
    this.faults = [];
    // `outcome` of the next payments and refunds.
    this.payments = "succeed";
    this.refunds = "succeed";
    // mode: deliver, duplicate, reverse (two at a time, in the wrong order), lose.
    this.webhooks = { url: null, mode: "deliver", held: [], queue: Promise.resolve() };
    // Every request to the API, for tests that count them.
    this.requests = [];
  }

  async listen({ port = "0", webhook }) {
    this.webhooks.url = webhook ?? null;
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error) => {
        process.stderr.write(`${error.stack}\n`);
        response.destroy();
      });
    });
    await new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(Number(port), "127.0.0.1", resolve);
    });
    this.address = `http://127.0.0.1:${server.address().port}`;
    process.stdout.write(`${JSON.stringify({ double: this.name, address: this.address })}\n`);
    // Whoever started the double keeps its standard input open; a test that dies leaves no process behind.
    process.stdin.on("end", () => process.exit(0)).resume();
  }

  async #serve(request, response) {
    const chunks = [];
    let size = 0;
    for await (const chunk of request) {
      size += chunk.length;
      if (size > BODY_MAX_BYTES) return response.destroy();
      chunks.push(chunk);
    }
    const url = new URL(request.url, this.address);
    const call = { method: request.method, path: url.pathname, query: url.searchParams, headers: request.headers, text: Buffer.concat(chunks).toString() };
    if (call.path.startsWith("/control/")) return this.#send(response, await this.#control(call));
    call.operation = this.behavior.operation(call);
    if (call.operation) {
      const key = call.headers["idempotency-key"] ?? call.headers["paypal-request-id"] ?? null;
      this.requests.push({ operation: call.operation, key });
    }
    const fault = this.#fault(call.operation);
    if (fault?.fault === "drop_request") return response.destroy();
    if (fault?.fault === "status_500") return this.#send(response, json(500, { error: { type: "api_error", message: "broken" }, name: "INTERNAL_SERVER_ERROR" }));
    if (fault?.fault === "status_429") {
      return this.#send(response, json(429, { error: { type: "invalid_request_error", code: "rate_limit" }, name: "RATE_LIMIT_REACHED" }, { "retry-after": "7" }));
    }
    if (fault?.fault === "status_403_html") return this.#send(response, html(403, "Blocked", "<p>by something in between</p>"));
    const answer = (await this.behavior.handle(call)) ?? json(404, { error: { type: "invalid_request_error", message: "Unrecognized request URL" }, name: "NOT_FOUND" });
    // The work is done; what follows is about the answer.
    if (fault?.fault === "drop_answer") return response.destroy();
    if (fault?.fault === "delay") await sleep(fault.milliseconds);
    if (fault?.fault === "status_500_after") return this.#send(response, json(500, { error: { type: "api_error" }, name: "INTERNAL_SERVER_ERROR" }));
    if (fault?.fault === "malformed") return this.#send(response, { ...answer, body: answer.body.slice(0, answer.body.length / 2) });
    if (fault?.fault === "oversized") return this.#send(response, { ...answer, body: answer.body + " ".repeat(600_000) });
    if (fault?.fault === "cut_body") {
      response.writeHead(answer.status, { ...answer.headers, "content-length": String(Buffer.byteLength(answer.body)) });
      response.write(answer.body.slice(0, 10));
      await sleep(20);
      return response.destroy();
    }
    return this.#send(response, answer);
  }

  #fault(operation) {
    const index = this.faults.findIndex((it) => operation && (it.operation === operation || it.operation === "any"));
    if (index < 0) return undefined;
    const fault = this.faults[index];
    fault.times -= 1;
    if (fault.times <= 0) this.faults.splice(index, 1);
    return fault;
  }

  #send(response, { status, headers = {}, body = "" }) {
    response.writeHead(status, { ...headers, "x-test-double": this.name, "content-length": String(Buffer.byteLength(body)) });
    response.end(body);
  }

  async #control({ method, path, text }) {
    const body = text ? JSON.parse(text) : {};
    const done = json(200, { ok: true });
    switch (`${method} ${path}`) {
      case "POST /control/faults":
        this.faults.push({ times: 1, milliseconds: 0, ...body });
        return done;
      case "POST /control/outcomes":
        // payments: succeed, decline, process; refunds: succeed, pend, fail.
        this.payments = body.payments ?? this.payments;
        this.refunds = body.refunds ?? this.refunds;
        return done;
      case "POST /control/webhooks":
        this.webhooks.url = body.url ?? this.webhooks.url;
        this.webhooks.mode = body.mode ?? this.webhooks.mode;
        return done;
      case "GET /control/state":
        return json(200, { requests: this.requests, ...this.behavior.state() });
      default:
        return (await this.behavior.control?.(method, path, body)) ?? json(404, { error: "no such control" });
    }
  }

  /** Sends a webhook, after the answer of the request that caused it, in order. */
  emit(event) {
    const { webhooks } = this;
    if (!webhooks.url || webhooks.mode === "lose") return;
    let events = [event];
    if (webhooks.mode === "duplicate") events = [event, event];
    if (webhooks.mode === "reverse") {
      webhooks.held.unshift(event);
      if (webhooks.held.length < 2) return;
      events = webhooks.held;
      webhooks.held = [];
    }
    for (const each of events) webhooks.queue = webhooks.queue.then(() => this.#deliver(each, webhooks.url));
  }

  async #deliver(event, url) {
    await sleep(5);
    const { headers, body } = await this.behavior.sign(event);
    try {
      await fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/json", "x-test-double": this.name }, body });
    } catch (error) {
      process.stderr.write(`webhook not delivered: ${error.cause?.code ?? error.message}\n`);
    }
  }
}

/** Answers of earlier requests by their idempotency key. */
export class Keys {
  constructor() {
    this.answers = new Map();
  }

  /** Runs the work once for a key. `conflict` answers a request with the same key and other parameters. */
  async once(key, parameters, conflict, work) {
    if (!key) return work();
    const known = this.answers.get(key);
    if (known) return known.parameters === parameters ? await known.answer : conflict();
    const entry = { parameters };
    entry.answer = Promise.resolve().then(work);
    this.answers.set(key, entry);
    const answer = await entry.answer;
    // What was refused before anything was done is not kept.
    if (answer.unkept) this.answers.delete(key);
    return answer;
  }
}
