"""Verifies the webhooks of Souk.

    from souk_webhooks import VerificationError, verify

    event = verify(secret, request.headers.get("X-Webhook-Signature"), request_body)

`request_body` is the body as it was received, in bytes. The signature covers these bytes: a body that was parsed and serialized
again does not match. This file has no dependencies and can be copied into a project."""

from __future__ import annotations

import enum
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, NoReturn, Sequence, Union

__all__ = ["DEFAULT_TOLERANCE_SECONDS", "HEADER", "Event", "Reason", "VerificationError", "verify", "verify_signature"]

HEADER = "X-Webhook-Signature"
DEFAULT_TOLERANCE_SECONDS = 300

_MAX_HEADER_BYTES = 4096
_MAX_SIGNATURES = 10
_MAX_TIMESTAMP_DIGITS = 15

Body = Union[bytes, bytearray, memoryview]


class Reason(str, enum.Enum):
    """Why a request is rejected."""

    MISSING_SECRET = "missing_secret"
    MISSING_HEADER = "missing_header"
    MALFORMED_HEADER = "malformed_header"
    MISSING_TIMESTAMP = "missing_timestamp"
    MISSING_SIGNATURE = "missing_signature"
    OUTSIDE_TOLERANCE = "outside_tolerance"
    NO_MATCH = "no_match"
    INVALID_BODY = "invalid_body"


_MESSAGES = {
    Reason.MISSING_SECRET: "no secret is configured, or one of the secrets is empty",
    Reason.MISSING_HEADER: "the request has no X-Webhook-Signature header",
    Reason.MALFORMED_HEADER: "the X-Webhook-Signature header is malformed",
    Reason.MISSING_TIMESTAMP: "the X-Webhook-Signature header has no timestamp (t)",
    Reason.MISSING_SIGNATURE: "the X-Webhook-Signature header has no signature (v1)",
    Reason.OUTSIDE_TOLERANCE: "the timestamp differs from the current time by more than the tolerance",
    Reason.NO_MATCH: "no signature matches the body",
    Reason.INVALID_BODY: "the signature matches, but the body is not an event",
}


class VerificationError(Exception):
    """The request is not a valid webhook; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(_MESSAGES[reason])
        self.reason = reason

    def __reduce__(self) -> tuple[type[VerificationError], tuple[Reason]]:
        return (type(self), (self.reason,))


@dataclass(frozen=True)
class Event:
    """A verified event. A receiver processes each `id` once, because an event can be delivered more than once."""

    id: str
    kind: str
    data: dict[str, Any]
    """The whole body."""


def verify(
    secrets: str | Sequence[str],
    header: str | None,
    body: Body,
    *,
    tolerance: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> Event:
    """Verifies the signature of a request and returns its event, or raises `VerificationError`.

    `secrets` is the secret of the endpoint as it was shown (`whsec_…`), or several of them, any of which may match. `header` is the
    value of X-Webhook-Signature, `body` the body as received. `tolerance` is in seconds; `now` is the Unix time in seconds, by
    default the current time."""
    verify_signature(secrets, header, body, tolerance=tolerance, now=now)
    return _parse_event(bytes(body))


def verify_signature(
    secrets: str | Sequence[str],
    header: str | None,
    body: Body,
    *,
    tolerance: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> None:
    """Verifies the signature like `verify`, without reading the body."""
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError(f"body must be the bytes that were received, not {type(body).__name__}")
    keys = _keys(secrets)
    timestamp, signatures = _parse_header(header)
    now = int(time.time()) if now is None else now
    # Written so that a tolerance or time that is not a number (NaN) is rejected.
    if not abs(now - int(timestamp)) <= tolerance:
        raise VerificationError(Reason.OUTSIDE_TOLERANCE)
    signed = timestamp.encode("ascii") + b"." + bytes(body)
    matches = False
    for key in keys:
        expected = hmac.new(key, signed, hashlib.sha256).hexdigest()
        for signature in signatures:
            matches |= hmac.compare_digest(expected, signature)
    if not matches:
        raise VerificationError(Reason.NO_MATCH)


def _keys(secrets: str | Sequence[str]) -> list[bytes]:
    secrets = [secrets] if isinstance(secrets, str) else secrets
    # With an empty key, everybody can compute the signature.
    if not secrets or not all(secrets):
        raise VerificationError(Reason.MISSING_SECRET)
    return [secret.encode("utf-8") for secret in secrets]


def _parse_header(header: str | None) -> tuple[str, list[str]]:
    """Returns the timestamp, as it is written, and the values of v1."""
    if header is None or not header.strip(" \t"):
        raise VerificationError(Reason.MISSING_HEADER)
    if len(header) > _MAX_HEADER_BYTES or not header.isascii():
        _malformed()
    timestamp: str | None = None
    signatures: list[str] = []
    for item in header.split(","):
        item = item.strip(" \t")
        if not item:
            continue
        name, equals, value = item.partition("=")
        if not equals:
            _malformed()
        if name == "t":
            if timestamp is not None or not _is_timestamp(value):
                _malformed()
            timestamp = value
        elif name == "v1":
            signatures.append(value)
    if len(signatures) > _MAX_SIGNATURES:
        _malformed()
    if timestamp is None:
        raise VerificationError(Reason.MISSING_TIMESTAMP)
    if not signatures:
        raise VerificationError(Reason.MISSING_SIGNATURE)
    return timestamp, signatures


def _is_timestamp(text: str) -> bool:
    """Whether an ASCII text is a timestamp. Beyond ASCII, `isdigit` is true for digits of other scripts."""
    return len(text) <= _MAX_TIMESTAMP_DIGITS and text.isdigit()


def _malformed() -> NoReturn:
    raise VerificationError(Reason.MALFORMED_HEADER)


def _parse_event(body: bytes) -> Event:
    try:
        data = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise VerificationError(Reason.INVALID_BODY) from None
    if not isinstance(data, dict):
        raise VerificationError(Reason.INVALID_BODY)
    identifier, kind = data.get("id"), data.get("event")
    if not isinstance(identifier, str) or not isinstance(kind, str):
        raise VerificationError(Reason.INVALID_BODY)
    return Event(identifier, kind, data)


def _reject_constant(name: str) -> NoReturn:
    """NaN and the infinities are not JSON."""
    raise ValueError(name)
