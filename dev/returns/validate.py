"""Validates the JSON list on standard input, entry by entry, against a JSON schema.

    validate.py SCHEMA"""

import json
import sys

from jsonschema import FormatChecker, validators

schema = json.load(open(sys.argv[1], encoding="utf-8"))
validator = validators.validator_for(schema)(schema, format_checker=FormatChecker())
errors = [f"[{at}]{error.json_path[1:]}: {error.message}" for at, entry in enumerate(json.load(sys.stdin)) for error in validator.iter_errors(entry)]
sys.exit("\n".join(errors[:20]) if errors else 0)
