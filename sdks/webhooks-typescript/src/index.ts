/**
 * Verifies the webhooks of Souk.
 *
 *     import { HEADER, verify } from "souk-webhooks";
 *
 *     const event = await verify(secret, request.headers.get(HEADER), await request.arrayBuffer());
 *
 * The signature covers the bytes of the body: a body that was parsed and serialized again does not match. This file uses only Web
 * Crypto, has no dependencies and can be copied into a project.
 */

/** The name of the header, in lower case as in `IncomingMessage.headers` of Node. */
export const HEADER = "x-webhook-signature";
export const DEFAULT_TOLERANCE_SECONDS = 300;

const MAX_HEADER_BYTES = 4096;
const MAX_SIGNATURES = 10;
const TIMESTAMP = /^[0-9]{1,15}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;
const ASCII = /^[\x00-\x7f]*$/;
const HMAC = { name: "HMAC", hash: "SHA-256" };

const MESSAGES = {
  missing_secret: "no secret is configured, or one of the secrets is empty",
  missing_header: "the request has no X-Webhook-Signature header",
  malformed_header: "the X-Webhook-Signature header is malformed",
  missing_timestamp: "the X-Webhook-Signature header has no timestamp (t)",
  missing_signature: "the X-Webhook-Signature header has no signature (v1)",
  outside_tolerance: "the timestamp differs from the current time by more than the tolerance",
  no_match: "no signature matches the body",
  invalid_body: "the signature matches, but the body is not an event",
} as const;

/** Why a request is rejected. */
export type Reason = keyof typeof MESSAGES;

/** All reasons. */
export const REASONS = Object.keys(MESSAGES) as readonly Reason[];

/** The request is not a valid webhook; `reason` says why. */
export class VerificationError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(MESSAGES[reason]);
    this.name = "VerificationError";
    this.reason = reason;
  }
}

/** A verified event. A receiver processes each `id` once, because an event can be delivered more than once. */
export interface WebhookEvent {
  readonly id: string;
  readonly kind: string;
  /** The whole body. */
  readonly data: Record<string, unknown>;
}

export interface Options {
  /** The largest difference between the timestamp and the current time, in seconds. */
  readonly tolerance?: number | undefined;
  /** The Unix time in seconds; by default the current time. */
  readonly now?: number | undefined;
}

/** The secret of the endpoint as it was shown (`whsec_…`), or several of them, any of which may match. */
export type Secrets = string | readonly string[];

/** The value of X-Webhook-Signature, in any of the forms in which servers return a header. */
export type Header = string | readonly string[] | null | undefined;

/** The body as it was received. A string is encoded as UTF-8. */
export type Body = string | ArrayBuffer | ArrayBufferView;

/** Verifies the signature of a request and returns its event, or throws a `VerificationError`. */
export async function verify(secrets: Secrets, header: Header, body: Body, options: Options = {}): Promise<WebhookEvent> {
  const bytes = bytesOf(body);
  await verifySignature(secrets, header, bytes, options);
  return parseEvent(bytes);
}

/** Verifies the signature like `verify`, without reading the body. */
export async function verifySignature(secrets: Secrets, header: Header, body: Body, options: Options = {}): Promise<void> {
  const bytes = bytesOf(body);
  const keys = await Promise.all(keysOf(secrets).map(importKey));
  const { timestamp, signatures } = parseHeader(header);
  const now = options.now ?? Math.floor(Date.now() / 1000);
  const tolerance = options.tolerance ?? DEFAULT_TOLERANCE_SECONDS;
  // Written so that a tolerance or time that is not a number (NaN) is rejected.
  if (!(Math.abs(now - Number(timestamp)) <= tolerance)) throw new VerificationError("outside_tolerance");
  const signed = concatenate(new TextEncoder().encode(`${timestamp}.`), bytes);
  let matches = false;
  for (const key of keys) {
    for (const signature of signatures) {
      // Web Crypto compares in constant time. Only lowercase hexadecimal digits of the full length can match.
      if (SIGNATURE.test(signature) && (await crypto.subtle.verify(HMAC, key, decodeHex(signature), signed))) matches = true;
    }
  }
  if (!matches) throw new VerificationError("no_match");
}

function keysOf(secrets: Secrets): readonly string[] {
  const list = typeof secrets === "string" ? [secrets] : (secrets ?? []);
  // With an empty key, everybody can compute the signature; an unset secret would become one.
  if (list.length === 0 || !list.every((secret) => typeof secret === "string" && secret !== "")) {
    throw new VerificationError("missing_secret");
  }
  return list;
}

function importKey(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), HMAC, false, ["verify"]);
}

/** Returns the timestamp, as it is written, and the values of v1. */
function parseHeader(header: Header): { timestamp: string; signatures: string[] } {
  const text = typeof header === "string" ? header : (header ?? []).join(",");
  if (trim(text) === "") throw new VerificationError("missing_header");
  if (text.length > MAX_HEADER_BYTES || !ASCII.test(text)) throw new VerificationError("malformed_header");
  let timestamp: string | undefined;
  const signatures: string[] = [];
  for (const item of text.split(",").map(trim)) {
    if (item === "") continue;
    const equals = item.indexOf("=");
    if (equals < 0) throw new VerificationError("malformed_header");
    const name = item.slice(0, equals);
    const value = item.slice(equals + 1);
    if (name === "t") {
      if (timestamp !== undefined || !TIMESTAMP.test(value)) throw new VerificationError("malformed_header");
      timestamp = value;
    } else if (name === "v1") {
      signatures.push(value);
    }
  }
  if (signatures.length > MAX_SIGNATURES) throw new VerificationError("malformed_header");
  if (timestamp === undefined) throw new VerificationError("missing_timestamp");
  if (signatures.length === 0) throw new VerificationError("missing_signature");
  return { timestamp, signatures };
}

/** Removes spaces and tabs, and no other white space, from both ends. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

function bytesOf(body: Body): Uint8Array<ArrayBufferLike> {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  // Not `instanceof`: a test runner may have an ArrayBuffer of its own.
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);
  throw new TypeError("body must be the bytes or the text that was received, not a parsed object");
}

function concatenate(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(left.length + right.length);
  whole.set(left);
  whole.set(right, left.length);
  return whole;
}

function decodeHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(text.slice(2 * index, 2 * index + 2), 16);
  }
  return bytes;
}

function parseEvent(body: Uint8Array): WebhookEvent {
  let data: unknown;
  try {
    data = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new VerificationError("invalid_body");
  }
  if (typeof data !== "object" || data === null) throw new VerificationError("invalid_body");
  const { id, event } = data as Record<string, unknown>;
  if (typeof id !== "string" || typeof event !== "string") throw new VerificationError("invalid_body");
  return { id, kind: event, data: data as Record<string, unknown> };
}
