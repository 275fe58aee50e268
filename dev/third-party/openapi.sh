#!/usr/bin/env bash
# dev/third-party/openapi.sh: validates the OpenAPI document of the server at SOUK_URL with a third-party validator.
set -euo pipefail

description=$(mktemp --suffix=.json)
trap 'rm -f "$description"' EXIT

curl --fail --silent --show-error --max-time 10 --output "$description" \
    "${SOUK_URL:?set it to the URL of a running server}/api/v1/openapi.json"
findings=$(openapi-spec-validator --schema 3.0 "$description" 2>&1) || {
    echo "${findings%%$'\n'*}" >&2 # the other lines are the meta-schema
    exit 1
}
echo "openapi: valid"
