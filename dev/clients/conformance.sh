#!/usr/bin/env bash
# dev/clients/conformance.sh [SLUG]: the official conformance suite, in both versions of the protocol, against
# the store of the server at SOUK_URL that has what the suite asks for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./run --install
url=${SOUK_URL:?the address of a running server}/${1:-conformance}/mcp
# The suite needs a newer Node than Debian has.
suite=(node_modules/.bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js)

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# What went wrong, check by check; then what of it nobody expected, in the suite's words.
complain() { # VERSION LOG
    local checks scenario
    for checks in "$results/$1"/*/checks.json; do
        [[ -e $checks ]] || continue
        scenario=$(basename "$(dirname "$checks")")
        # shellcheck disable=SC2016  # these are JavaScript's
        node -e 'for (const { id, status, errorMessage } of JSON.parse(fs.readFileSync(process.argv[2])))
            if (["FAILURE", "WARNING"].includes(status))
                console.log(`${process.argv[1]}: ${id}: ${(errorMessage ?? status).slice(0, 300)}`);' \
            "${scenario%-20*}" "$checks"
    done
    if grep -q '^Total: ' "$2"; then sed '1,/^Total: /d; s/\x1b\[[0-9;]*m//g' "$2"; else tail -n 20 "$2"; fi
}

failed=''
for version in 2025-11-25 2026-07-28; do
    log=$results/$version.log
    outcome='as expected'
    "${suite[@]}" server --url "$url" --suite all --spec-version "$version" --output-dir "$results/$version" \
        --expected-failures expected-failures.yaml >"$log" 2>&1 || outcome='not as expected'
    if [[ $outcome != 'as expected' ]]; then
        complain "$version" "$log" >&2
        failed=yes
    fi
    echo "conformance $version: $(sed -n 's/^Total: \(.*\)/\1, /p' "$log")$outcome"
done
[[ -z $failed ]]
