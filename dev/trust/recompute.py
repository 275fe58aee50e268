#!/usr/bin/env python3
"""Computes trust scores again, from the published methodology and exported evidence.

    recompute.py METHODOLOGY [EVIDENCE]...

METHODOLOGY is the document of GET /api/v1/trust/methodology. EVIDENCE are exports with one merchant on each line
(docs/contract/trust.md#evidence): of souk trust export, or responses of GET /api/v1/merchant/trust/evidence; by default the
standard input. Pages of a response follow each other, each on its line (curl -w '\\n'), and are joined. Every number comes from the document.
Prints each disagreement and a summary, and exits with 1 if there is a disagreement above 1e-9, or if pages are missing.
"""

import json
import math
import sys
from datetime import date, datetime, timedelta, timezone

TOLERANCE = 1e-9
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def field(record, path):
    """Returns a field by its path, such as `policies.returns`."""
    for name in path.split("."):
        record = record[name]
    return record


def clamp(number, low, high):
    return max(low, min(high, number))


class Methodology:
    """The rules of a published document."""

    def __init__(self, document):
        self.components = document["components"]
        self.scoring = document["scoring"]
        self.epochs = document["epochs"]
        self.window = document["window"]
        self.units = document["units"]
        self.provisional = document["provisional"]

    def score(self, evidence):
        """Returns score, values of the components that apply, and whether the score is provisional."""
        provisional = evidence["delivered_total"] < self.provisional["delivered_orders_below"]
        if evidence["state"]["products"] <= 0:
            return None, {}, provisional
        values, total, weights = {}, [], []
        for name, rule in self.components.items():
            found = self.component(rule, evidence)
            if found is None:
                continue
            value, confidence = found
            values[name] = value
            weights.append(rule["weight"] * confidence)
            total.append(rule["weight"] * confidence * value)
        if math.fsum(weights) <= 0:
            return None, values, provisional
        score = clamp(math.fsum(total) / math.fsum(weights), 0.0, 1.0)
        return round(score, self.scoring["decimals"]), values, provisional

    def component(self, rule, evidence):
        """Returns value and confidence, or None if the component does not apply."""
        measure = rule["measure"]
        if measure["kind"] == "units":
            share, units = self.share(measure, evidence)
            confidence = self.confidence(units)
            return (normalized(rule, share), confidence) if confidence > 0 else None
        if measure["kind"] == "age_hours":
            age = self.age_hours(evidence["epoch"], field(evidence["state"], measure["time"]))
            return (0.0 if age is None else normalized(rule, age)), 1.0
        measured = MEASURES[measure["kind"]](measure, evidence["state"])
        return None if measured is None else (normalized(rule, measured), 1.0)

    def age_hours(self, epoch, time):
        """Returns the hours from a time to the time of the epoch."""
        if time is None:
            return None
        as_of = UNIX_EPOCH + timedelta(seconds=epoch * self.epochs["seconds"])
        return max(0.0, (as_of - datetime.fromisoformat(time)) / timedelta(hours=1))

    def phases(self, day, epoch):
        """Returns how far a day counts at an epoch, and how far it has matured, both 0 to 1."""
        window = self.window
        number = (date.fromisoformat(day) - UNIX_EPOCH.date()).days
        step = epoch - (number + 1) * window["steps_per_day"] + 1 - window["settling_steps"]
        left = window["days"] * window["steps_per_day"] + window["phase_steps"] - step
        matured = step - window["maturity_days"] * window["steps_per_day"]
        return tuple(max(0, min(it, left, window["phase_steps"])) / window["phase_steps"] for it in (step, matured))

    def share(self, measure, evidence):
        """Returns the share of good units, and the number of units."""
        accounts = {}
        for row in evidence["days"]:
            whole = sum(row["counts"][fact] for fact in measure["of"])
            phase, matured = self.phases(row["day"], evidence["epoch"])
            if whole > 0 and phase > 0:
                unit = Unit(measure, row["counts"], whole, phase, matured)
                accounts.setdefault(row["account"], []).append(unit)
        parts = [contribution(measure, units) for units in accounts.values()]
        units = math.fsum(weight for weight, _ in parts)
        return (math.fsum(good for _, good in parts) / units if units > 0 else None), units

    def confidence(self, units):
        low, high = self.units["units_min"], self.units["units_full"]
        return clamp((units - low) / (high - low), 0.0, 1.0)


class Unit:
    """The unit of an account on a day."""

    def __init__(self, measure, counts, whole, phase, matured):
        good = counts[measure["good"]]
        value = min(1.0, good / whole)
        self.weight = phase
        self.is_paid = True
        # What this day gives to unpaid days.
        self.support = 0.0
        if "paid_by" not in measure:
            self.good = phase * value
            return
        paid = counts[measure["paid_by"]]
        if paid == 0:
            self.is_paid, self.good = False, 0.0
            return
        matured = matured if counts[measure["matured_by"]] > 0 else 0.0
        self.good = matured * value + (phase - matured) * min(1.0, good / paid)
        self.support = matured if whole <= paid else 0.0


def contribution(measure, units):
    """Returns the weight of an account's units after its unpaid days and its limit, and the sum of weight times value."""
    # Weights are multiples of a phase: sums of them are exact, and so is the number of units that confidence depends on.
    paid = math.fsum(unit.weight for unit in units if unit.is_paid)
    unpaid = math.fsum(unit.weight for unit in units if not unit.is_paid)
    # The value of unpaid days is 0: their weight alone matters.
    total = paid + min(unpaid, math.fsum(unit.support for unit in units))
    good = math.fsum(unit.good for unit in units)
    limit = measure["account_units_max"]
    return (total, good) if total <= limit else (limit, good * limit / total)


def normalized(rule, measured):
    zero, one = rule["normalization"]["zero_at"], rule["normalization"]["one_at"]
    return clamp((measured - zero) / (one - zero), 0.0, 1.0)


def share_of_state(measure, state):
    whole = field(state, measure["whole"])
    return field(state, measure["part"]) / whole if whole > 0 else None


def filled(measure, state):
    return sum(field(state, path) for path in measure["fields"]) / len(measure["fields"])


def mean(measure, state):
    count = field(state, measure["count"])
    return field(state, measure["sum"]) / measure["divisor"] / count if count > 0 else None


def percentile(measure, state):
    buckets = sorted((bucket["up_to_ms"], bucket["calls"]) for bucket in field(state, measure["histogram"]))
    total = sum(calls for _, calls in buckets)
    if total < measure["calls_min"]:
        return None
    reached = 0
    for bound, calls in buckets:
        reached += calls
        if reached > 0 and reached * 100 >= total * measure["percent"]:
            return bound
    return None


MEASURES = {"share": share_of_state, "filled": filled, "mean": mean, "percentile": percentile}


def differs(one, other):
    if one is None or other is None:
        return one is not other
    return abs(one - other) > TOLERANCE


def disagreements(methodology, record):
    """Returns what a record states and the computation does not."""
    score, values, provisional = methodology.score(record["evidence"])
    found = []
    if differs(record["score"], score):
        found.append(f"score {record['score']}, computed {score}")
    if record.get("provisional", provisional) != provisional:
        found.append(f"provisional {record['provisional']}, computed {provisional}")
    stated = record.get("components", values)
    for name in sorted(stated.keys() | values.keys()):
        if differs(stated.get(name), values.get(name)):
            found.append(f"{name} {stated.get(name)}, computed {values.get(name)}")
    return found


class Pages:
    """The pages of one merchant, joined. All but the last one have `next_cursor`."""

    def __init__(self, first):
        self.record = first
        self.next_cursor = first.get("next_cursor")

    def add(self, page):
        """Adds the days of the next page. Returns whether it is the next page: everything else is equal in all pages."""
        if without_days(page) != without_days(self.record):
            return False
        self.record["evidence"]["days"] += page["evidence"]["days"]
        self.next_cursor = page.get("next_cursor")
        return True


def without_days(record):
    """Returns what all pages of a record have in common."""
    shared = {name: value for name, value in record.items() if name not in ("next_cursor", "evidence")}
    state = {name: value for name, value in record["evidence"].items() if name != "days"}
    return shared, state


def joined(lines):
    """Returns the records in these lines: the number of the first line, the record, and whether it has all its pages."""
    pages, first = None, 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = json.loads(line)
        # A response of GET /api/v1/merchant/trust/evidence has an envelope.
        record = record.get("data", record)
        if pages is None or not pages.add(record):
            if pages is not None:
                yield first, pages.record, False
            pages, first = Pages(record), number
        if pages.next_cursor is None:
            yield first, pages.record, True
            pages = None
    if pages is not None:
        yield first, pages.record, False


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as document:
        methodology = Methodology(json.load(document))
    checked, wrong = 0, 0
    for name in arguments[1:] or ["-"]:
        lines = sys.stdin if name == "-" else open(name, encoding="utf-8")
        with lines:
            for number, record, is_complete in joined(lines):
                found = disagreements(methodology, record) if is_complete else ["pages are missing, or the evidence has changed"]
                checked += 1
                wrong += bool(found)
                for text in found:
                    print(f"{name}:{number}: {record.get('merchant_slug', '?')}: {text}")
    print(f"{checked} merchants, {wrong} with a disagreement above {TOLERANCE:g}")
    # Without a merchant nothing was compared.
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
