#!/usr/bin/env bash
# dev/clients/inspector.sh: runs the command line of the MCP Inspector: lists the tools of the store at SOUK_URL,
# validates their schemas, and calls one. Requires the dependencies that dev/clients/run --all installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
url=${SOUK_URL:?set it to the URL of a running server}/demo-store/mcp

home=$(mktemp -d) # The Inspector writes to the home directory.
trap 'rm -rf "$home"' EXIT
inspect() {
    HOME=$home node_modules/.bin/node node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js \
        --cli "$url" --transport http "$@"
}
read_json() { # EXPRESSION FILE: evaluates a JavaScript expression with the JSON of the file as `it`
    node -p "const it = JSON.parse(fs.readFileSync(process.argv[1])); $1" "$2"
}

# With --strict it fails if some clients do not support a schema.
inspect --method tools/list --strict >"$home/tools" 2>"$home/warnings" || { cat "$home/warnings" >&2; exit 1; }
listed=$(read_json 'it.tools.map(({ name }) => name).sort().join()' "$home/tools")
known=$(read_json '[...Object.keys(it.tools), ...it.keyed].sort().join()' examples.json)
[[ $listed == "$known" ]] || { echo "tools/list returns $listed; examples.json has $known" >&2; exit 1; }

inspect --method tools/call --tool-name search_products --tool-arg query=coffee limit=2 >"$home/found"
found=$(read_json 'it.isError ? 0 : it.structuredContent.data.length' "$home/found")
[[ $found == 2 ]] || { cat "$home/found" >&2; exit 1; }

if grep -q '^Warning: ' "$home/warnings"; then cat "$home/warnings" >&2; exit 1; fi

echo "inspector: $(read_json 'it.tools.length' "$home/tools") tools, no schema warnings, 1 tool called"
