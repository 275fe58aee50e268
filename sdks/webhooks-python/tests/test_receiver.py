"""The receiver in examples/, as a process."""

import hashlib
import hmac
import http.client
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECRETS = ("whsec_b25l", "whsec_dHdv")
BODY = b'{"event":"order.created","id":"evt_1"}'


def signed(secret, body):
    now = int(time.time())
    signature = hmac.new(secret.encode(), f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={now},v1={signature}"


class Receiver(unittest.TestCase):
    def start(self, secrets):
        environment = {**os.environ, "WEBHOOK_SECRET": secrets, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(ROOT / "examples/receiver.py"), "0"]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def post(self, port, body, header):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("POST", "/", body, {"X-Webhook-Signature": header})
            return connection.getresponse().status
        finally:
            connection.close()

    def test_each_event_is_verified_and_printed_once(self):
        # As they are often copied: with spaces and a comma at the end.
        process = self.start(f" {SECRETS[0]} , {SECRETS[1]}, ")
        port = int(process.stderr.readline().rsplit(":", 1)[1])
        for secret in SECRETS:
            self.assertEqual(self.post(port, BODY, signed(secret, BODY)), 204)
        self.assertEqual(self.post(port, BODY + b" ", signed(SECRETS[0], BODY)), 400)
        other = BODY.replace(b"evt_1", b"evt_2")
        self.assertEqual(self.post(port, other, signed(SECRETS[0], other)), 204)
        printed = [process.stdout.readline().strip() for _ in range(2)]
        self.assertEqual(printed, ["order.created evt_1", "order.created evt_2"])

    def test_without_a_secret_it_does_not_start(self):
        process = self.start(" , ")
        self.assertNotEqual(process.wait(timeout=10), 0)
        self.assertIn("WEBHOOK_SECRET", process.stderr.read())


if __name__ == "__main__":
    unittest.main()
