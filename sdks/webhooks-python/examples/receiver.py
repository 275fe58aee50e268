"""A receiver of webhooks: verifies each request, ignores events it has seen, answers with 204 and prints one line per event.

    WEBHOOK_SECRET=whsec_… python3 receiver.py [PORT]

WEBHOOK_SECRET takes several secrets, separated by commas; spaces around them are ignored. Without an argument the port is PORT of the environment, or 4000."""

import os
import sys
import threading
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from souk_webhooks import HEADER, VerificationError, verify

MAX_BODY_BYTES = 1 << 20
MAX_IDS = 10_000


class Seen:
    """The ids of the latest events, in memory. A receiver with a database inserts the id into a table with a unique key, in the
    transaction that processes the event."""

    def __init__(self):
        self._ids = OrderedDict()

    def insert(self, id):
        """Remembers an id. Returns False if it is known."""
        if id in self._ids:
            return False
        self._ids[id] = None
        if len(self._ids) > MAX_IDS:
            self._ids.popitem(last=False)
        return True


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10  # seconds without data, after which a connection is closed
    secrets = []
    seen = Seen()
    lock = threading.Lock()

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return self.reject(411, "no content length")
        if len(length) > 9 or int(length) > MAX_BODY_BYTES:
            return self.reject(413, "the body is too long")
        body = self.rfile.read(int(length))
        try:
            event = verify(self.secrets, self.headers.get(HEADER), body)
        except VerificationError as error:
            return self.reject(400, error.reason.value)
        # Long work is done after the response: a sender waits for seconds only.
        with self.lock:
            if self.seen.insert(event.id):
                print(event.kind, event.id, flush=True)
        self.send_response(204)
        self.end_headers()

    def reject(self, status, reason):
        print(f"rejected: {reason}", file=sys.stderr, flush=True)
        self.close_connection = True  # the body may not have been read
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        """Writes no access log."""


def main():
    secrets = (secret.strip() for secret in os.environ.get("WEBHOOK_SECRET", "").split(","))
    Receiver.secrets = [secret for secret in secrets if secret]
    if not Receiver.secrets:
        sys.exit("WEBHOOK_SECRET is not set")
    port = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PORT", "4000"))
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
