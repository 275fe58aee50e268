#!/usr/bin/env python3
"""Writes webhooks-vectors.json, the test vectors of the webhook verifiers in this directory.

    webhooks-vectors.py           writes the file
    webhooks-vectors.py --check   fails if the file is out of date

The signatures are computed here, with `hmac` of the standard library, and not with one of the verifiers. README.md describes the
fields."""

import base64
import hashlib
import hmac
import json
import sys
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")

NOW = 1_800_000_000
SECRET = "whsec_" + base64.b64encode(b"souk-webhooks-test-secret-no-001").decode()
NEXT_SECRET = "whsec_" + base64.b64encode(b"souk-webhooks-test-secret-no-002").decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"souk-webhooks-test-secret-no-003").decode()

ID = "evt_0199e3a1c5d27b64a8f01c2d3e4f5a6b"
BODY = (
    '{"id":"%s","event":"order.created","timestamp":"2027-01-15T08:00:00.000Z","orderId":"ord_0199e3a1c5d07f10b6a2c3d4e5f60718",'
    '"merchantSlug":"demo-store","totalAmount":59.80,"currency":"EUR","status":"pending","sequence":1}' % ID
)
UNICODE_BODY = (
    '{"id":"%s","event":"order.updated","note":"Grüße aus Köln – 東京, à la carte, e\u0301, \U0001f9fa, \\u00e9, \u2028"}' % ID
)
MAX_HEADER_BYTES = 4096
MAX_SIGNATURES = 10


def sign(secret, timestamp, body):
    """Returns the value of v1. The secret is a string, or the bytes of a wrong key."""
    key = secret.encode() if isinstance(secret, str) else secret
    body = body.encode() if isinstance(body, str) else body
    return hmac.new(key, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def header(timestamp=NOW, body=BODY, secret=SECRET):
    return f"t={timestamp},v1={sign(secret, timestamp, body)}"


def vector(name, value, expected="ok", body=BODY, secrets=(SECRET,), now=NOW, tolerance=None):
    """Returns a vector; `value` is the value of the header, or None."""
    fields = {"name": name, "secrets": list(secrets), "header": value}
    if isinstance(body, str):
        fields["body"] = body
    else:
        fields["bodyBase64"] = base64.b64encode(body).decode()
    fields["now"] = now
    if tolerance is not None:
        fields["tolerance"] = tolerance
    fields["expected"] = expected
    if expected == "ok":
        event = json.loads(body)
        fields["id"], fields["event"] = event["id"], event["event"]
    return fields


def accepted():
    right = sign(SECRET, NOW, BODY)
    following = sign(NEXT_SECRET, NOW, BODY)
    other = sign(OTHER_SECRET, NOW, BODY)
    both = f"t={NOW},v1={right},v1={following}"
    items = f"t={NOW},v1={right}"
    filler = "v0=" + "0" * (MAX_HEADER_BYTES - len(items) - len(",v0="))
    yield vector("one signature", header())
    yield vector("a body beyond ASCII", header(body=UNICODE_BODY), body=UNICODE_BODY)
    yield vector("an unknown event kind", header(body='{"id":"evt_1","event":"a.b"}'), body='{"id":"evt_1","event":"a.b"}')
    yield vector("rotation: the receiver has the old secret", both)
    yield vector("rotation: the receiver has the new secret", both, secrets=[NEXT_SECRET])
    yield vector("rotation: the receiver has both secrets", both, secrets=[SECRET, NEXT_SECRET])
    yield vector("two secrets, the first matches", header(), secrets=[SECRET, NEXT_SECRET])
    yield vector("two secrets, the second matches", header(), secrets=[NEXT_SECRET, SECRET])
    yield vector("two signatures, the first matches", f"t={NOW},v1={right},v1={other}")
    yield vector("two signatures, the second matches", f"t={NOW},v1={other},v1={right}")
    yield vector("an empty signature before the right one", f"t={NOW},v1=,v1={right}")
    yield vector("the most signatures, the last matches", f"t={NOW}" + f",v1={other}" * (MAX_SIGNATURES - 1) + f",v1={right}")
    yield vector("signature before timestamp", f"v1={right},t={NOW}")
    yield vector("timestamp between signatures", f"v1={other},t={NOW},v1={right}")
    yield vector("unknown items", f"v0={other},t={NOW},v2=a=b,v1={right},T=1,x=")
    yield vector("spaces and tabs around items", f" t={NOW} , \tv1={right}\t")
    yield vector("empty items", f",t={NOW},,v1={right},")
    yield vector("the longest header", f"{items},{filler}")


def tolerated():
    outside = "outside_tolerance"
    yield vector("300 seconds old", header(NOW - 300))
    yield vector("301 seconds old", header(NOW - 301), outside)
    yield vector("300 seconds ahead", header(NOW + 300))
    yield vector("301 seconds ahead", header(NOW + 301), outside)
    yield vector("tolerance of 10 seconds, 10 seconds old", header(NOW - 10), tolerance=10)
    yield vector("tolerance of 10 seconds, 11 seconds old", header(NOW - 11), outside, tolerance=10)
    yield vector("tolerance of 10 seconds, 10 seconds ahead", header(NOW + 10), tolerance=10)
    yield vector("tolerance of 10 seconds, 11 seconds ahead", header(NOW + 11), outside, tolerance=10)
    yield vector("tolerance of an hour, 3600 seconds old", header(NOW - 3600), tolerance=3600)
    yield vector("tolerance of 0 seconds, same second", header(), tolerance=0)
    yield vector("tolerance of 0 seconds, one second old", header(NOW - 1), outside, tolerance=0)
    yield vector("timestamp 0", header(0), outside)
    yield vector("timestamp in milliseconds", header(NOW * 1000), outside)
    yield vector("the largest timestamp", header(999_999_999_999_999), outside)
    yield vector("an old timestamp with a wrong signature", header(NOW - 301, secret=OTHER_SECRET), outside)


def incomplete():
    right = sign(SECRET, NOW, BODY)
    yield vector("no header", None, "missing_header")
    yield vector("an empty header", "", "missing_header")
    yield vector("a header of spaces", " \t ", "missing_header")
    yield vector("only commas", ",,", "missing_timestamp")
    yield vector("no timestamp", f"v1={right}", "missing_timestamp")
    yield vector("the name of the timestamp in upper case", f"T={NOW},v1={right}", "missing_timestamp")
    yield vector("a space before the equals sign", f"t ={NOW},v1={right}", "missing_timestamp")
    yield vector("no signature", f"t={NOW}", "missing_signature")
    yield vector("only v0", f"t={NOW},v0={right}", "missing_signature")
    yield vector("only v11", f"t={NOW},v11={right}", "missing_signature")
    yield vector("the name of the signature in upper case", f"t={NOW},V1={right}", "missing_signature")
    yield vector("an old timestamp without a signature", f"t={NOW - 301}", "missing_signature")
    yield vector("no secret", header(), "missing_secret", secrets=[])
    yield vector("an empty secret", header(secret=""), "missing_secret", secrets=[""])
    yield vector("an empty secret after a right one", header(), "missing_secret", secrets=[SECRET, ""])


def malformed():
    right = sign(SECRET, NOW, BODY)
    reason = "malformed_header"
    timestamps = {
        "an empty timestamp": "",
        "a negative timestamp": f"-{NOW}",
        "a timestamp with a plus sign": f"+{NOW}",
        "a timestamp with a fraction": f"{NOW}.0",
        "a timestamp with an exponent": "18e8",
        "a hexadecimal timestamp": hex(NOW),
        "a timestamp with underscores": f"{NOW:_}",
        "a timestamp with a space": f" {NOW}",
        "a timestamp with a line feed": f"{NOW}\n",
        "a timestamp of letters": "now",
        "a timestamp of 16 digits": "1" * 16,
        "a timestamp of 100 digits": "9" * 100,
        "a timestamp of Arabic digits": "".join(chr(0x660 + int(digit)) for digit in str(NOW)),
        "a timestamp of full-width digits": "".join(chr(0xFF10 + int(digit)) for digit in str(NOW)),
    }
    for name, text in timestamps.items():
        yield vector(name, header(text), reason)
    yield vector("the timestamp twice", f"t={NOW},t={NOW},v1={right}", reason)
    yield vector("a fresh timestamp before the signed one", f"t={NOW},t={NOW - 3600},v1={sign(SECRET, NOW - 3600, BODY)}", reason)
    yield vector("a fresh timestamp after the signed one", f"t={NOW - 3600},t={NOW},v1={sign(SECRET, NOW - 3600, BODY)}", reason)
    yield vector("two headers in one", f"{header()}, {header()}", reason)
    yield vector("an item without an equals sign", f"t={NOW},v1={right},v2", reason)
    yield vector("items separated by semicolons", f"t={NOW};v1={right}", reason)
    yield vector("only a signature, without a name", right, reason)
    yield vector("a character beyond ASCII", f"t={NOW},v1={right},x=é", reason)
    yield vector("too many signatures, the first matches", f"t={NOW},v1={right}" + f",v1={'0' * 64}" * MAX_SIGNATURES, reason)
    items = f"t={NOW},v1={right}"
    yield vector("a header that is too long", f"{items},v0=" + "0" * (MAX_HEADER_BYTES - len(items) - 3), reason)


def unmatched():
    right = sign(SECRET, NOW, BODY)
    flipped = right[:-1] + format(int(right[-1], 16) ^ 1, "x")
    signatures = {
        "a changed digit of the signature": flipped,
        "a truncated signature": right[:-1],
        "half of the signature": right[:32],
        "a longer signature": right + "0",
        "the signature twice in one item": right + right,
        "an upper-case signature": right.upper(),
        "a quoted signature": f'"{right}"',
        "a signature with a space before it": f" {right}",
        "a signature with a line feed": f"{right}\n",
        "a signature with the prefix 0x": f"0x{right}",
        "a signature in base64": base64.b64encode(bytes.fromhex(right)).decode(),
        "an empty signature": "",
        "a signature that is not hexadecimal": "z" * 64,
        "a signature of zeros": "0" * 64,
        "a signature by a wrong secret": sign(OTHER_SECRET, NOW, BODY),
        "a signature by the secret without its prefix": sign(SECRET.removeprefix("whsec_"), NOW, BODY),
        "a signature by the decoded secret": sign(base64.b64decode(SECRET.removeprefix("whsec_")), NOW, BODY),
        "a signature of the body alone": hmac.new(SECRET.encode(), BODY.encode(), hashlib.sha256).hexdigest(),
        "a signature by a hash without a key": hashlib.sha256(f"{NOW}.{BODY}".encode()).hexdigest(),
        "a signature by HMAC-SHA-512, truncated": hmac.new(SECRET.encode(), f"{NOW}.{BODY}".encode(), "sha512").hexdigest()[:64],
    }
    for name, signature in signatures.items():
        yield vector(name, f"t={NOW},v1={signature}", "no_match")
    yield vector("a signature of another timestamp", f"t={NOW},v1={sign(SECRET, NOW - 1, BODY)}", "no_match")
    yield vector("a timestamp with leading zeros", f"t=00{NOW},v1={right}", "no_match")
    yield vector("two signatures by other secrets", f"t={NOW},v1={flipped},v1={sign(OTHER_SECRET, NOW, BODY)}", "no_match")
    yield vector("two secrets, none matches", header(), "no_match", secrets=[NEXT_SECRET, OTHER_SECRET])
    yield vector("a receiver with the prefix left out", header(), "no_match", secrets=[SECRET.removeprefix("whsec_")])
    yield vector("a receiver with a line feed after the secret", header(), "no_match", secrets=[SECRET + "\n"])
    # The signature of "180000000.0.{…": the boundary between timestamp and body is part of what is signed.
    yield vector("a part of the body moved into the timestamp", f"t={NOW},v1={sign(SECRET, str(NOW)[:-1], '0.' + BODY)}", "no_match")

    bodies = {
        "one byte of the body changed": BODY.replace("59.80", "59.81"),
        "a line feed after the body": BODY + "\n",
        "a space before the body": " " + BODY,
        "the body serialized again": json.dumps(json.loads(BODY)),
        "the body serialized again, without spaces": json.dumps(json.loads(BODY), separators=(",", ":")),
        "the keys of the body in another order": json.dumps(json.loads(BODY), separators=(",", ":"), sort_keys=True),
        "a truncated body": BODY[:-1],
        "no body": "",
        "a byte order mark before the body": "\ufeff" + BODY,
    }
    for name, body in bodies.items():
        yield vector(name, header(), "no_match", body=body)
    unicode = header(body=UNICODE_BODY)
    composed = UNICODE_BODY.replace("e\u0301", "\u00e9")
    yield vector("a body in another Unicode form", unicode, "no_match", body=composed)
    yield vector("a body with characters escaped", unicode, "no_match", body=UNICODE_BODY.replace("ö", "\\u00f6"))
    yield vector("a body in Latin-1", header(body='{"id":"é"}'), "no_match", body='{"id":"é"}'.encode("latin-1"))
    broken = b'{"id":"evt_1","event":"a.b","x":"\xff"}'
    yield vector("a byte replaced by the replacement character", header(body=broken), "no_match", body=broken.decode(errors="replace"))


def signed_but_invalid():
    """The signature is right, and the body is not an event."""
    bodies = {
        "an empty body, signed": "",
        "a body that is not UTF-8, signed": b'{"id":"evt_1","event":"a.b","x":"\xff"}',
        "a body in UTF-16, signed": '{"id":"evt_1","event":"a.b"}'.encode("utf-16-le"),
        "a byte order mark, signed": '\ufeff{"id":"evt_1","event":"a.b"}',
        "a text, signed": "evt_1",
        "a truncated object, signed": BODY[:-1],
        "NaN, signed": '{"id":"evt_1","event":"a.b","x":NaN}',
        "an array, signed": f"[{BODY}]",
        "null, signed": "null",
        "an object without id, signed": '{"event":"order.created"}',
        "an object without event, signed": '{"id":"evt_1"}',
        "an id that is a number, signed": '{"id":1,"event":"order.created"}',
        "an event that is null, signed": '{"id":"evt_1","event":null}',
        "3000 open brackets, signed": "[" * 3000,
    }
    for name, body in bodies.items():
        yield vector(name, header(body=body), "invalid_body", body=body)


def text():
    groups = [accepted, tolerated, incomplete, malformed, unmatched, signed_but_invalid]
    vectors = [vector for group in groups for vector in group()]
    names = [vector["name"] for vector in vectors]
    assert len(names) == len(set(names)), "two vectors with one name"
    return json.dumps(vectors, indent=2) + "\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("usage: webhooks-vectors.py [--check]")
    if not arguments:
        FILE.write_text(text())
    elif not FILE.exists() or FILE.read_text() != text():
        sys.exit(f"{FILE.name} is out of date: run {Path(__file__).name}")


if __name__ == "__main__":
    main(sys.argv[1:])
