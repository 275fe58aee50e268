"""Writes the table of docs/frameworks.md from the output of `just prove frameworks`.

    just prove frameworks | tee result; python3 dev/frameworks/table.py <result"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/frameworks.md"
BEGIN, END = "<!-- results:begin -->\n", "<!-- results:end -->\n"
STEPS = ["connect", "convert", "read", "empty-arguments", "unknown-product", "write-without-key", "limit", "after-limit",
         "sandbox-key", "wrong-key", "purchase", "elicitation"]


def main():
    rows = [row for line in sys.stdin if (row := row_of(line.strip()))]
    if not rows:
        sys.exit("table: no result in the input")
    head = ["Client", "Versions", *(step.replace("-", " ") for step in STEPS), "Calls in requests"]
    lines = [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2])


def row_of(line):
    """Returns the cells of a client, or None for another line."""
    passed = re.match(r"ok +frameworks/(\S+)  (.+?); (connect .+); (\d+) tool calls in (\d+) requests \(", line)
    if passed:
        name, versions, results, calls, requests = passed.groups()
        cells = [re.search(rf"(?:^|, ){step} (ok|n/a)(?: \(([^)]*)\))?", results) for step in STEPS]
        return [f"`{name}`", versions, *(cell_text(*cell.groups()) for cell in cells), f"{calls} in {requests}"]
    failed = re.match(r"FAIL frameworks/([^:]+): (.+?): (.+) \(seed", line)
    if failed:
        name, versions, why = failed.groups()
        wrong = {step for step in STEPS if re.search(rf"(?:^|; ){step}: ", why)}
        return [f"`{name}`", versions, *("**fails**" if step in wrong else "ok" for step in STEPS), "–"]
    absent = re.match(r"ok +frameworks/(\S+)  NOT COUNTED", line)
    return [f"`{absent[1]}`", "cannot be installed", *["–"] * len(STEPS), "–"] if absent else None


def cell_text(result, note):
    return f"{result}: {note}" if note else result


main()
