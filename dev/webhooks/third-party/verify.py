"""Verifies the cases of cases.py with the Python packages `stripe` and `standardwebhooks`.

    verify.py CASES

Prints one line for each case and scheme, and fails if a result differs from the expected one."""

import base64
import datetime
import json
import sys
from unittest import mock

import standardwebhooks.webhooks
import stripe


def verify_stripe(case, body):
    try:
        stripe.WebhookSignature.verify_header(body, case["headers"].get("x-webhook-signature"), case["secret"], tolerance=300)
    # A ValueError for a body that is not UTF-8.
    except (stripe.SignatureVerificationError, ValueError) as error:
        return str(error)


def verify_standard(case, body):
    try:
        standardwebhooks.webhooks.Webhook(case["secret"]).verify(body, case["headers"], json_parse=False)
    # A ValueError for a header that it cannot split or decode.
    except (standardwebhooks.webhooks.WebhookVerificationError, ValueError) as error:
        return str(error)


def clock(seconds):
    """Returns a `datetime` whose `now` is fixed."""

    class Fixed(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(seconds, tz)

    return Fixed


def main():
    failed = 0
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    for case in cases:
        body = base64.b64decode(case["bodyBase64"])
        for scheme, verify in (("stripe", verify_stripe), ("standard", verify_standard)):
            time = mock.patch("time.time", return_value=case["receivedAt"])
            date = mock.patch.object(standardwebhooks.webhooks, "datetime", clock(case["receivedAt"]))
            with time, date:
                error = verify(case, body)
            right = (error is None) == case["accepted"][scheme]
            failed += not right
            result = "accepted" if error is None else f"rejected: {error[:72]}"
            print(f"{'ok  ' if right else 'FAIL'} python {scheme:<8} {case['name']}: {result}", flush=True)
    print(f"python: {2 * len(cases) - failed} ok, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
