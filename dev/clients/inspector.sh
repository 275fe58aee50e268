#!/usr/bin/env bash
# dev/clients/inspector.sh: the MCP Inspector, from its command line: lists the tools of the store at SOUK_URL,
# judges their schemas, and calls one. Needs what dev/clients/run --all installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
url=${SOUK_URL:?the address of a running server}/demo-store/mcp

home=$(mktemp -d) # It keeps notes in the home directory.
trap 'rm -rf "$home"' EXIT
inspect() {
    HOME=$home node_modules/.bin/node node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js \
        --cli "$url" --transport http "$@"
}
read_json() { # EXPRESSION FILE: what the expression makes of the JSON in the file, which it calls `it`
    node -p "const it = JSON.parse(fs.readFileSync(process.argv[1])); $1" "$2"
}

# With --strict it fails if a schema is one that some clients cannot take.
inspect --method tools/list --strict >"$home/tools" 2>"$home/verdict" || { cat "$home/verdict" >&2; exit 1; }
listed=$(read_json 'it.tools.map(({ name }) => name).sort().join()' "$home/tools")
known=$(read_json '[...Object.keys(it.tools), ...it.keyed].sort().join()' examples.json)
[[ $listed == "$known" ]] || { echo "listed are $listed; in examples.json are $known" >&2; exit 1; }

inspect --method tools/call --tool-name search_products --tool-arg query=coffee limit=2 >"$home/found"
found=$(read_json 'it.isError ? 0 : it.structuredContent.data.length' "$home/found")
[[ $found == 2 ]] || { cat "$home/found" >&2; exit 1; }

if grep -q '^Warning: ' "$home/verdict"; then cat "$home/verdict" >&2; exit 1; fi

echo "inspector: $(read_json 'it.tools.length' "$home/tools") tools, no warning about their schemas, 1 tool called"
