// The receiver in examples/, as a process. Runs on the built package.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const EXAMPLE = fileURLToPath(new URL("../examples/receiver.mjs", import.meta.url));
const SECRETS = ["whsec_b25l", "whsec_dHdv"];
const BODY = '{"event":"order.created","id":"evt_1"}';

function signed(secret, body) {
  const now = Math.floor(Date.now() / 1000);
  return `t=${now},v1=${createHmac("sha256", secret).update(`${now}.${body}`).digest("hex")}`;
}

function start(context, secrets) {
  const env = { ...process.env, WEBHOOK_SECRET: secrets };
  const receiver = spawn(process.execPath, [EXAMPLE, "0"], { env, stdio: ["ignore", "pipe", "pipe"] });
  context.after(() => receiver.kill());
  return receiver;
}

test("each event is verified and printed once", async (context) => {
  // As they are often copied: with spaces and a comma at the end.
  const receiver = start(context, ` ${SECRETS[0]} , ${SECRETS[1]}, `);
  const printed = [];
  createInterface({ input: receiver.stdout }).on("line", (line) => printed.push(line));
  const [listening] = await once(createInterface({ input: receiver.stderr }), "line");
  const url = listening.replace("listening on ", "");
  const post = async (body, header) => {
    const headers = { "x-webhook-signature": header, connection: "close" };
    return (await fetch(url, { method: "POST", body, headers })).status;
  };
  for (const secret of SECRETS) assert.equal(await post(BODY, signed(secret, BODY)), 204);
  assert.equal(await post(`${BODY} `, signed(SECRETS[0], BODY)), 400);
  const other = BODY.replace("evt_1", "evt_2");
  assert.equal(await post(other, signed(SECRETS[0], other)), 204);
  while (printed.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(printed, ["order.created evt_1", "order.created evt_2"]);
});

test("without a secret it does not start", async (context) => {
  const [code] = await once(start(context, " , "), "exit");
  assert.equal(code, 1);
});
