#!/usr/bin/env bash
# The official Python MCP client, stock: connects, lists the tools, calls them, and reads an error.
set -euo pipefail
exec python3 "$(dirname "$0")/python_client.py" "$SOUK_URL/demo-store/mcp"
