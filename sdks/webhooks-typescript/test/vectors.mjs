// The shared vectors, and what they cannot express. Runs on the built package.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";

import { REASONS, VerificationError, verify, verifySignature } from "souk-webhooks";

const VECTORS = JSON.parse(readFileSync(new URL("../../webhooks-vectors.json", import.meta.url), "utf8"));

const bodyOf = (vector) => new Uint8Array(Buffer.from(vector.body ?? vector.bodyBase64, "body" in vector ? "utf8" : "base64"));

/** Returns the result of a verifier, or the reason of its error. */
async function result(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof VerificationError) return error.reason;
    throw error;
  }
}

const first = VECTORS[0];
const [secret] = first.secrets;
const { header, now } = first;
const body = bodyOf(first);

test("every vector has the expected result", async (context) => {
  assert.ok(VECTORS.length > 100);
  for (const vector of VECTORS) {
    await context.test(vector.name, async () => {
      const found = await result(verify(vector.secrets, vector.header, bodyOf(vector), vector));
      if (vector.expected === "ok") {
        const data = JSON.parse(new TextDecoder().decode(bodyOf(vector)));
        assert.deepEqual(found, { id: vector.id, kind: vector.event, data });
      } else {
        assert.equal(found, vector.expected);
      }
    });
  }
});

test("the signature alone says nothing about the body", async () => {
  for (const vector of VECTORS) {
    const expected = ["ok", "invalid_body"].includes(vector.expected) ? undefined : vector.expected;
    const found = await result(verifySignature(vector.secrets, vector.header, bodyOf(vector), vector));
    assert.equal(found, expected, vector.name);
  }
});

test("every reason has a vector", () => {
  const expected = new Set(VECTORS.map((vector) => vector.expected).filter((reason) => reason !== "ok"));
  assert.deepEqual([...expected].sort(), [...REASONS].sort());
});

test("a body can be given as text", async () => {
  for (const vector of VECTORS.filter((vector) => "body" in vector)) {
    const found = await result(verify(vector.secrets, vector.header, vector.body, vector));
    assert.equal(found.id ?? found, vector.id ?? vector.expected, vector.name);
  }
});

test("a body can be given as any kind of bytes", async () => {
  const padded = Buffer.concat([Buffer.from("{"), body, Buffer.from("}")]);
  const view = padded.subarray(1, -1);
  const buffer = body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength);
  for (const form of [Buffer.from(body), view, new DataView(view.buffer, view.byteOffset, view.byteLength), buffer]) {
    assert.equal((await verify(secret, header, form, { now })).id, first.id);
  }
});

test("a parsed body is a programming error", async () => {
  for (const wrong of [JSON.parse(first.body), null, undefined]) {
    await assert.rejects(verify(secret, header, wrong, { now }), TypeError);
  }
});

test("one secret can be given as a string, and a header as a list", async () => {
  assert.equal((await verify(secret, [header], body, { now })).id, first.id);
  assert.equal(await result(verify(secret, [header, header], body, { now })), "malformed_header");
  assert.equal(await result(verify(secret, [], body, { now })), "missing_header");
  assert.equal(await result(verify(secret, undefined, body, { now })), "missing_header");
});

test("an unset secret is refused", async () => {
  for (const secrets of [undefined, null, [undefined], [secret, undefined]]) {
    assert.equal(await result(verify(secrets, header, body, { now })), "missing_secret");
  }
});

test("the current time is the default", async () => {
  const clock = mock.method(Date, "now", () => (now + 300) * 1000 + 900);
  try {
    assert.equal((await verify(secret, header, body)).id, first.id);
    clock.mock.mockImplementation(() => (now + 301) * 1000);
    assert.equal(await result(verify(secret, header, body)), "outside_tolerance");
  } finally {
    clock.mock.restore();
  }
});

test("a time or tolerance that is not a number is rejected", async () => {
  assert.equal(await result(verify(secret, header, body, { now: Number.NaN })), "outside_tolerance");
  assert.equal(await result(verify(secret, header, body, { now, tolerance: Number.NaN })), "outside_tolerance");
});

test("the body is not read before it is verified", async () => {
  const parse = mock.method(JSON, "parse");
  try {
    assert.equal(await result(verify(secret, header, `${first.body} `, { now })), "no_match");
    assert.equal(parse.mock.callCount(), 0);
  } finally {
    parse.mock.restore();
  }
});

test("signatures are compared by Web Crypto", async () => {
  const compare = mock.method(crypto.subtle, "verify", async () => false);
  try {
    assert.equal(await result(verify(secret, header, body, { now })), "no_match");
    assert.equal(compare.mock.callCount(), 1);
  } finally {
    compare.mock.restore();
  }
});

test("an error has a message without the secret", () => {
  for (const reason of REASONS) {
    const error = new VerificationError(reason);
    assert.equal(error.reason, reason);
    assert.ok(error.message.length > 0 && !error.message.includes("whsec_"));
  }
});
