#!/usr/bin/env bash
# dev/strangers/openapi.sh: a validator that is not ours reads the API description of the server at SOUK_URL.
set -euo pipefail

description=$(mktemp --suffix=.json)
trap 'rm -f "$description"' EXIT

curl --fail --silent --show-error --max-time 10 --output "$description" \
    "${SOUK_URL:?the address of a running server}/api/v1/openapi.json"
findings=$(openapi-spec-validator --schema 3.0 "$description" 2>&1) || {
    echo "${findings%%$'\n'*}" >&2 # the rest is the whole meta-schema
    exit 1
}
echo "openapi: valid"
