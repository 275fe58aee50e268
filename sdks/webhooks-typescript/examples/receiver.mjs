// A receiver of webhooks: verifies each request, ignores events it has seen, answers with 204 and prints one line per event.
//
//     WEBHOOK_SECRET=whsec_… node receiver.mjs [PORT]
//
// WEBHOOK_SECRET takes several secrets, separated by commas; spaces around them are ignored. Without an argument the port is PORT of the
// environment, or 4000.

import { createServer } from "node:http";
import process from "node:process";

import { HEADER, VerificationError, verify } from "souk-webhooks";

const MAX_BODY_BYTES = 1 << 20;
const MAX_IDS = 10_000;

const given = (process.env.WEBHOOK_SECRET ?? "").split(",").map((secret) => secret.trim());
const secrets = given.filter((secret) => secret !== "");
if (secrets.length === 0) {
  console.error("WEBHOOK_SECRET is not set");
  process.exit(1);
}
const port = Number(process.argv[2] ?? process.env.PORT ?? 4000);

/**
 * The ids of the latest events, in memory, oldest first. A receiver with a database inserts the id into a table with a unique key, in
 * the transaction that processes the event.
 */
const seen = new Set();

/** Remembers an id. Returns false if it is known. */
function insert(id) {
  if (seen.has(id)) return false;
  seen.add(id);
  if (seen.size > MAX_IDS) seen.delete(seen.values().next().value);
  return true;
}

/** Returns the body as it was received, or undefined if it is too long. */
function bodyOf(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    let bytes = 0;
    request.on("data", (chunk) => {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) resolve(undefined);
      else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

async function receive(request, response) {
  if (request.method !== "POST") return reject(response, 405, "not a POST");
  const body = await bodyOf(request);
  if (body === undefined) return reject(response, 413, "the body is too long");
  let event;
  try {
    event = await verify(secrets, request.headers[HEADER], body);
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return reject(response, 400, error.reason);
  }
  // Long work is done after the response: a sender waits for seconds only.
  if (insert(event.id)) console.log(`${event.kind} ${event.id}`);
  response.writeHead(204).end();
}

function reject(response, status, reason) {
  console.error(`rejected: ${reason}`);
  response.writeHead(status, { connection: "close" }).end();
}

const server = createServer((request, response) => {
  receive(request, response).catch((error) => {
    console.error(`failed: ${error.message}`);
    response.destroy();
  });
});
server.listen(port, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
