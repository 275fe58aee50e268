#!/usr/bin/env bash
# dev/clients/conformance.sh [SLUG]: runs the official conformance suite, for both protocol versions, against
# the store of the server at SOUK_URL that has the fixtures of the suite.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./run --install
url=${SOUK_URL:?set it to the URL of a running server}/${1:-conformance}/mcp
# The suite requires a newer Node than Debian has.
suite=(node_modules/.bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js)

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# Prints the failures of each check, then the suite's summary of unexpected ones.
print_failures() { # VERSION LOG
    local checks scenario
    for checks in "$results/$1"/*/checks.json; do
        [[ -e $checks ]] || continue
        scenario=$(basename "$(dirname "$checks")")
        # shellcheck disable=SC2016  # a JavaScript template literal
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
        print_failures "$version" "$log" >&2
        failed=yes
    fi
    echo "conformance $version: $(sed -n 's/^Total: \(.*\)/\1, /p' "$log")$outcome"
done
[[ -z $failed ]]
