"""Turns recorded webhook requests into the cases that verify.py and verify.mjs check: each request as it was received, forms of it that
are valid too, and forms that were tampered with.

    cases.py <REQUESTS >CASES

REQUESTS is a list of {"headers": {…}, "body": "…" or "bodyBase64": "…", "secret": "whsec_…"}, or one of them, with "receivedAt" (Unix time)
if it was not received just now, and with "name" to tell them apart. CASES is a list of {"name", "headers", "bodyBase64", "secret",
"receivedAt", "accepted"}, where "accepted" says for each scheme whether a verifier accepts it: "stripe" for X-Webhook-Signature, "standard"
for the headers of Standard Webhooks."""

import base64
import copy
import dataclasses
import hashlib
import hmac
import json
import re
import sys
import time

X = "x-webhook-signature"
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
TOLERANCE_SECONDS = 300
OTHER_SECRET = "whsec_" + base64.b64encode(b"a secret that Souk has not given").decode()


@dataclasses.dataclass
class Request:
    headers: dict
    body: bytes
    secret: str
    received_at: int

    @classmethod
    def of(cls, recorded):
        headers = {name.lower(): value for name, value in dict(recorded["headers"]).items()}
        encoded = recorded.get("bodyBase64")
        body = recorded["body"].encode() if encoded is None else base64.b64decode(encoded)
        headers = {name: headers[name] for name in (X, ID, TIMESTAMP, SIGNATURE) if name in headers}
        return cls(headers, body, recorded["secret"], recorded.get("receivedAt", int(time.time())))

    def drop(self, *names):
        for name in names:
            self.headers.pop(name, None)

    def replace(self, hexadecimal, encoded):
        """Replaces the signatures of both schemes, by functions of their text."""
        self.headers[X] = re.sub(r"(?<=v1=)[^,]*", lambda match: hexadecimal(match[0]), self.headers[X])
        items = self.headers[SIGNATURE].split(" ")
        self.headers[SIGNATURE] = " ".join("v1," + encoded(item.removeprefix("v1,")) for item in items)

    def flip(self, index):
        """Flips the lowest bit of a byte of every signature."""
        self.replace(lambda text: flipped(bytes.fromhex(text), index).hex(), lambda text: to_base64(flipped(base64.b64decode(text), index)))

    def sign(self, at=None, body=None, x_key=None, standard_key=None):
        """Signs the request again, by default with the right keys."""
        at = self.received_at if at is None else at
        body = self.body if body is None else body
        x_key = self.secret.encode() if x_key is None else x_key
        standard_key = decoded(self.secret) if standard_key is None else standard_key
        self.headers[X] = f"t={at},v1={mac(x_key, f'{at}.'.encode() + body).hex()}"
        self.headers[TIMESTAMP] = str(at)
        self.headers[SIGNATURE] = "v1," + to_base64(mac(standard_key, f"{self.headers[ID]}.{at}.".encode() + body))

    def shift(self, seconds):
        """Changes the timestamps and not the signatures."""
        self.headers[X] = re.sub(r"(?<=t=)\d+", lambda match: str(int(match[0]) + seconds), self.headers[X])
        self.headers[TIMESTAMP] = str(int(self.headers[TIMESTAMP]) + seconds)


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


def decoded(secret):
    return base64.b64decode(secret.removeprefix("whsec_"))


def to_base64(data):
    return base64.b64encode(data).decode()


def flipped(data, index):
    changed = bytearray(data)
    changed[index] ^= 1
    return bytes(changed)


# --- Forms ---------------------------------------------------------------------------------------

ACCEPTED, TAMPERED = [], []


def form(name, stripe, standard):
    """Adds a form. The function changes a copy of the request."""

    def add(function):
        forms = ACCEPTED if stripe and standard else TAMPERED
        forms.append((name, {"stripe": stripe, "standard": standard}, function))
        return function

    return add


def accepted(name):
    return form(name, True, True)


def rejected(name, stripe=False, standard=False):
    return form(name, stripe, standard)


@accepted("as received")
def _(request):
    pass


@accepted("300 seconds old")
def _(request):
    request.sign(at=request.received_at - TOLERANCE_SECONDS)


@accepted("a signature by another secret first")
def _(request):
    request.headers[X] = request.headers[X].replace("v1=", f"v1={'0' * 64},v1=", 1)
    request.headers[SIGNATURE] = f"v1,{to_base64(bytes(32))} {request.headers[SIGNATURE]}"


@accepted("a signature by another secret last")
def _(request):
    request.headers[X] += f",v1={'0' * 64}"
    request.headers[SIGNATURE] += f" v1,{to_base64(bytes(32))}"


@rejected("the first byte of the body changed")
def _(request):
    request.body = flipped(request.body, 0)


@rejected("the last byte of the body changed")
def _(request):
    request.body = flipped(request.body, -1)


@rejected("a digit of the body changed")
def _(request):
    request.body = re.sub(rb"\d", lambda match: flipped(match[0], 0), request.body, count=1)


@rejected("the body truncated by one byte")
def _(request):
    request.body = request.body[:-1]


@rejected("the body truncated to one half")
def _(request):
    request.body = request.body[: len(request.body) // 2]


@rejected("no body")
def _(request):
    request.body = b""


@rejected("a line feed after the body")
def _(request):
    request.body += b"\n"


@rejected("a space inside the body")
def _(request):
    request.body = request.body[:1] + b" " + request.body[1:]


@rejected("the body serialized again")
def _(request):
    request.body = json.dumps(json.loads(request.body), indent=1).encode()


@rejected("the id inside the body swapped")
def _(request):
    event = json.loads(request.body)
    request.body = request.body.replace(event["id"].encode(), b"evt_00000000000000000000000000000000")


@rejected("the body of another event")
def _(request):
    request.body = b'{"id":"evt_00000000000000000000000000000000","event":"order.created"}'


@rejected("the signature of another body")
def _(request):
    request.sign(body=b"{}")


@rejected("the timestamp one second later")
def _(request):
    request.shift(1)


@rejected("the timestamp one second earlier")
def _(request):
    request.shift(-1)


@rejected("no timestamp")
def _(request):
    request.headers[X] = re.sub(r"t=\d+,", "", request.headers[X])
    request.drop(TIMESTAMP)


@rejected("a timestamp that is not a number")
def _(request):
    request.headers[X] = re.sub(r"t=\d+", "t=now", request.headers[X])
    request.headers[TIMESTAMP] = "now"


@rejected("301 seconds old, signed again")
def _(request):
    request.sign(at=request.received_at - TOLERANCE_SECONDS - 1)


@rejected("a day old, signed again")
def _(request):
    request.sign(at=request.received_at - 86_400)


# Stripe's verifiers reject old timestamps only; those of this repository reject both directions.
@rejected("301 seconds ahead, signed again", stripe=True)
def _(request):
    request.sign(at=request.received_at + TOLERANCE_SECONDS + 1)


@rejected("a bit in the first byte of the signature flipped")
def _(request):
    request.flip(0)


@rejected("a bit in the last byte of the signature flipped")
def _(request):
    request.flip(-1)


@rejected("a truncated signature")
def _(request):
    request.replace(lambda text: text[:-8], lambda text: text[:-8])


@rejected("an empty signature")
def _(request):
    request.replace(lambda _: "", lambda _: "")


@rejected("a signature in the other letter case")
def _(request):
    request.replace(str.upper, str.swapcase)


@rejected("a signature in the encoding of the other scheme")
def _(request):
    request.replace(lambda text: to_base64(bytes.fromhex(text)), lambda text: base64.b64decode(text).hex())


@rejected("a signature under another version")
def _(request):
    request.headers[X] = request.headers[X].replace("v1=", "v0=")
    request.headers[SIGNATURE] = request.headers[SIGNATURE].replace("v1,", "v0,")


@rejected("a signature by another secret")
def _(request):
    request.sign(x_key=OTHER_SECRET.encode(), standard_key=decoded(OTHER_SECRET))


@rejected("a signature by the key of the other scheme")
def _(request):
    request.sign(x_key=decoded(request.secret), standard_key=request.secret.encode())


@rejected("a receiver with another secret")
def _(request):
    request.secret = OTHER_SECRET


@rejected("no signature headers")
def _(request):
    request.drop(X, SIGNATURE)


@rejected("a header that is not a signature")
def _(request):
    request.headers[X] = request.headers[SIGNATURE] = "Bearer,whsec"


@rejected("the webhook-id swapped", stripe=True)
def _(request):
    request.headers[ID] = "evt_00000000000000000000000000000000"


@rejected("no webhook-id", stripe=True)
def _(request):
    request.drop(ID)


@rejected("X-Webhook-Signature alone tampered with", standard=True)
def _(request):
    request.headers[X] = re.sub(r"v1=[^,]*", f"v1={'0' * 64}", request.headers[X])


@rejected("webhook-signature alone tampered with", stripe=True)
def _(request):
    request.headers[SIGNATURE] = "v1," + to_base64(bytes(32))


def cases_of(recorded, prefix):
    missing = [name for name in (X, ID, TIMESTAMP, SIGNATURE) if name not in recorded.headers]
    if missing:
        sys.exit(f"{prefix}the recorded request has no {', '.join(missing)}")
    for name, expected, change in ACCEPTED + TAMPERED:
        request = copy.deepcopy(recorded)
        change(request)
        if name != ACCEPTED[0][0] and request == recorded:
            sys.exit(f"{prefix}not a changed request: {name}")
        yield {
            "name": prefix + name,
            "headers": request.headers,
            "bodyBase64": to_base64(request.body),
            "secret": request.secret,
            "receivedAt": request.received_at,
            "accepted": expected,
        }


def main():
    requests = json.load(sys.stdin)
    cases = []
    for recorded in requests if isinstance(requests, list) else [requests]:
        prefix = f"{recorded['name']}: " if "name" in recorded else ""
        cases.extend(cases_of(Request.of(recorded), prefix))
    if not cases:
        sys.exit("no recorded requests")
    json.dump(cases, sys.stdout)


if __name__ == "__main__":
    main()
