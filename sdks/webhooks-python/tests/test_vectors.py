"""The shared vectors, and what they cannot express."""

import base64
import json
import pickle
import time
import unittest
from pathlib import Path
from unittest import mock

import souk_webhooks
from souk_webhooks import Reason, VerificationError, verify, verify_signature

VECTORS = json.loads((Path(__file__).parents[2] / "webhooks-vectors.json").read_text())


def body_of(vector):
    if "body" in vector:
        return vector["body"].encode()
    return base64.b64decode(vector["bodyBase64"])


def options_of(vector):
    return {name: vector[name] for name in ("now", "tolerance") if name in vector}


def result(function, *arguments, **options):
    """Returns the result of a verifier, or the reason of its error."""
    try:
        return function(*arguments, **options)
    except VerificationError as error:
        return error.reason.value


class Vectors(unittest.TestCase):
    def test_every_vector_has_the_expected_result(self):
        self.assertGreater(len(VECTORS), 100)
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                found = result(verify, vector["secrets"], vector["header"], body_of(vector), **options_of(vector))
                if vector["expected"] == "ok":
                    self.assertEqual((found.id, found.kind), (vector["id"], vector["event"]))
                    self.assertEqual(found.data, json.loads(body_of(vector)))
                else:
                    self.assertEqual(found, vector["expected"])

    def test_the_signature_alone_says_nothing_about_the_body(self):
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                expected = vector["expected"]
                expected = None if expected in ("ok", "invalid_body") else expected
                found = result(verify_signature, vector["secrets"], vector["header"], body_of(vector), **options_of(vector))
                self.assertEqual(found, expected)

    def test_every_reason_has_a_vector(self):
        expected = {vector["expected"] for vector in VECTORS} - {"ok"}
        self.assertEqual(expected, {reason.value for reason in Reason})


class Interface(unittest.TestCase):
    def setUp(self):
        self.vector = VECTORS[0]
        self.arguments = (self.vector["secrets"][0], self.vector["header"], body_of(self.vector))

    def test_one_secret_can_be_given_as_a_string(self):
        self.assertEqual(verify(*self.arguments, now=self.vector["now"]).id, self.vector["id"])

    def test_every_type_of_bytes_is_accepted(self):
        secret, header, body = self.arguments
        for form in (bytearray(body), memoryview(body)):
            self.assertEqual(verify(secret, header, form, now=self.vector["now"]).id, self.vector["id"])

    def test_a_decoded_body_is_a_programming_error(self):
        secret, header, body = self.arguments
        for wrong in (body.decode(), json.loads(body), None):
            with self.assertRaises(TypeError):
                verify(secret, header, wrong, now=self.vector["now"])

    def test_the_current_time_is_the_default(self):
        with mock.patch.object(time, "time", return_value=self.vector["now"] + 300.9):
            self.assertEqual(verify(*self.arguments).id, self.vector["id"])
        with mock.patch.object(time, "time", return_value=self.vector["now"] + 301.0):
            self.assertEqual(result(verify, *self.arguments), "outside_tolerance")

    def test_a_time_or_tolerance_that_is_not_a_number_is_rejected(self):
        nan = float("nan")
        self.assertEqual(result(verify, *self.arguments, now=nan), "outside_tolerance")
        self.assertEqual(result(verify, *self.arguments, now=self.vector["now"], tolerance=nan), "outside_tolerance")

    def test_the_body_is_not_read_before_it_is_verified(self):
        secret, header, body = self.arguments
        with mock.patch.object(souk_webhooks.json, "loads") as loads:
            result(verify, secret, header, body + b" ", now=self.vector["now"])
            loads.assert_not_called()

    def test_signatures_are_compared_in_constant_time(self):
        with mock.patch.object(souk_webhooks.hmac, "compare_digest", return_value=False) as compare:
            self.assertEqual(result(verify, *self.arguments, now=self.vector["now"]), "no_match")
            compare.assert_called_once()

    def test_an_unset_secret_is_refused(self):
        _, header, body = self.arguments
        for secrets in (None, [None], ""):
            self.assertEqual(result(verify, secrets, header, body, now=self.vector["now"]), "missing_secret")

    def test_an_error_has_a_message_without_the_secret_and_can_be_pickled(self):
        for reason in Reason:
            error = pickle.loads(pickle.dumps(VerificationError(reason)))
            self.assertEqual(error.reason, reason)
            self.assertNotIn("whsec_", str(error))


if __name__ == "__main__":
    unittest.main()
