"""Runs the code blocks of guides against a server, as a reader would who copies them.

    run.py URL SOURCE...

A SOURCE is a Markdown file, or `llms.txt`, which is read from the server. Every fenced block in `sh`, `python` or `js` is run, in
order, in one bash and one new directory per source; other blocks are not. A block fails if a command fails, also a curl whose
response is an error. `http://127.0.0.1:8080` becomes URL, and `mrch_…` the store key in SOUK_STORE_KEY.

Where a block prints the URL of an approval page, a person approves there: this program sends the form as a browser does."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(sh|python|js)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
APPROVAL = re.compile(r"https?://[^\s\"]+/confirm/[a-z]+_[0-9a-f]+")
# An HTTP error fails the block; every call is counted. The system's curl is the last one on the path.
CURL = """#!/usr/bin/env bash
echo "$*" >>"$GUIDE_CALLS"
exec "$REAL_CURL" --fail-with-body "$@"
"""
SECONDS_MAX = 180


def read(source, url):
    if source == "llms.txt":
        with urllib.request.urlopen(f"{url}/llms.txt", timeout=10) as response:
            return response.read().decode()
    return Path(source).read_text(encoding="utf-8")


def script(text, url, folder):
    """Returns the blocks as one bash script, and their number."""
    lines = ["set -euo pipefail"]
    blocks = FENCE.findall(text)
    for number, (language, code) in enumerate(blocks, 1):
        code = code.replace("http://127.0.0.1:8080", url)
        code = code.replace("mrch_…", os.environ.get("SOUK_STORE_KEY", "mrch_…"))
        lines.append(f"echo '--- block {number}'")
        if language == "sh":
            lines.append(code)
            continue
        suffix = "py" if language == "python" else "mjs"
        file = folder / f"block-{number}.{suffix}"
        file.write_text(code, encoding="utf-8")
        lines.append(f"{'python3' if language == 'python' else 'node'} {file}")
    return "\n".join(lines), len(blocks)


def approve(page, url):
    with urllib.request.urlopen(page, timeout=10) as response:
        html = response.read().decode()
    form = {name: re.search(f'name="{name}" value="([^"]*)"', html)[1] for name in ("form_token", "quote_hash")}
    form["decision"] = "approve"
    headers = {"Origin": url, "Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0"}
    request = urllib.request.Request(page, urllib.parse.urlencode(form).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200, response.status


def run(source, url):
    with tempfile.TemporaryDirectory(prefix="souk-guide-") as temporary:
        folder = Path(temporary)
        (folder / "bin").mkdir()
        curl = folder / "bin" / "curl"
        curl.write_text(CURL)
        curl.chmod(0o755)
        calls = folder / "calls"
        calls.touch()
        # Imports of JavaScript blocks are resolved beside the block.
        (folder / "node_modules").symlink_to(ROOT / "dev" / "clients" / "node_modules")
        text, blocks = script(read(source, url), url, folder)
        if not blocks:
            sys.exit(f"guides: {source} has no blocks to run")
        real = subprocess.run(["bash", "-c", "type -P curl"], capture_output=True, text=True, check=True).stdout.strip()
        environment = os.environ | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "REAL_CURL": real, "GUIDE_CALLS": str(calls), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            ["bash", "-c", text], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        timer = threading.Timer(SECONDS_MAX, process.kill)
        timer.start()
        output = []
        for line in process.stdout:
            output.append(line)
            if page := APPROVAL.search(line):
                approve(page[0], url)
        status = process.wait()
        timer.cancel()
        printed = "".join(output)
        if status:
            sys.exit(f"{printed}\nguides: {source} failed with status {status}")
        if os.environ.get("SOUK_GUIDES_SHOW"):
            print(printed)
        # A loop that polls is one kind of call.
        kinds = len(set(calls.read_text().splitlines()))
        confirmed = printed.count('"confirmed": "hosted"')
        name = Path(source).name
        print(f"{name}: {blocks} blocks, {kinds} curl calls" + (f", {confirmed} approved purchases" if confirmed else ""))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for argument in sys.argv[2:]:
        run(argument, sys.argv[1].rstrip("/"))
