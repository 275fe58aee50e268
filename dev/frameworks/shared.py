"""The session of every Python client: what an agent does at the demo store, and the refusals it meets.

A client script calls `run` with a function that connects. Each step is reported to the proof when it begins, has a time limit,
and records every tool call with what a model would see of its result. The proof decides what passes."""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import re
import sys
import time
import urllib.request

URL = os.environ["STORE_URL"]
STEPS_URL = os.environ["STEPS_URL"]
CALL_SECONDS = 20
CONNECT_SECONDS = 60
WRONG_KEY = "agnt_test_0000000000000000000000000000000000000000000000000000"
UNKNOWN_PRODUCT = "prod_00000000000000000000000000000000"
READ = ("get_merchant_profile", {})


class Tools:
    """The tools of a session, as the framework gives them to a model."""

    def __init__(self, names, call, convert=None):
        self.names = list(names)  # as listed
        self.call = call  # async (name, arguments) -> what the model sees: text, or anything that JSON can express
        self.convert = convert or (lambda: {"converted": len(self.names)})


def run(packages, connect, elicitation=None, without_key=None):
    """`connect(url, headers, approve)` is an async context manager that returns `Tools`; `approve` is None or a function that
    counts a request for approval and returns the answer of the person. `elicitation` and `without_key` say why the framework
    has no callback for elicitation, or cannot send the header with the key."""
    report = {"versions": {name: importlib.metadata.version(name) for name in packages}, "steps": {}}
    steps = Steps(report["steps"])
    asyncio.run(whole_session(steps, connect, elicitation, without_key))
    sys.stdout.flush()
    print("\nREPORT " + json.dumps(report), flush=True)
    os._exit(0)  # Some frameworks leave threads behind that never end.


class Steps:
    def __init__(self, report):
        self.report = report
        self.current = None

    def begin(self, name):
        request = urllib.request.Request(f"{STEPS_URL}/{name}", method="POST", data=b"")
        urllib.request.urlopen(request, timeout=30).read()
        self.current = self.report[name] = {"calls": []}

    def skip(self, name, reason):
        self.report[name] = {"not_applicable": reason}

    async def call(self, tools, name, arguments):
        """Calls a tool and returns the text that the model sees: the result, or the error that the framework raises."""
        began, ended, text = time.monotonic(), "returned", ""
        try:
            text = as_text(await asyncio.wait_for(tools.call(name, arguments), CALL_SECONDS))
        except (asyncio.TimeoutError, TimeoutError):
            ended = "timed out"
        except BaseException as error:
            ended, text = "raised", error_text(error)
        seconds = round(time.monotonic() - began, 2)
        self.current["calls"].append({"tool": name, "ended": ended, "text": text, "seconds": seconds})
        return text


@contextlib.asynccontextmanager
async def in_thread(manager):
    """Uses the context manager of a framework without async."""
    value = await asyncio.to_thread(manager.__enter__)
    try:
        yield value
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


def as_text(value):
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    plain = lambda it: it.model_dump(mode="json") if hasattr(it, "model_dump") else str(it)
    return json.dumps(value, default=plain, ensure_ascii=False)


def error_text(error):
    parts = [f"{type(error).__name__}: {error}"]
    parts += [error_text(inner) for inner in getattr(error, "exceptions", [])]
    return "; ".join(parts)


def find(pattern, text):
    """Returns the first match in a text in which quotes may be escaped more than once."""
    found = re.search(pattern, text.replace("\\", ""))
    return found.group(1) if found else ""


async def whole_session(steps, connect, elicitation, without_key):
    key = product = ""
    steps.begin("connect")
    async with opened(steps, connect, {}) as tools:
        if tools:
            product, key = await anonymous(steps, tools)
    for step in ("wrong-key", "purchase", "elicitation"):
        if without_key:
            steps.skip(step, without_key)
    if without_key:
        return
    steps.begin("wrong-key")
    async with opened(steps, connect, {"X-Agent-Api-Key": WRONG_KEY}) as tools:
        for _ in range(2 if tools else 0):
            await steps.call(tools, *READ)
    headers = {"X-Agent-Api-Key": key}
    steps.begin("purchase")
    async with opened(steps, connect, headers) as tools:
        if tools:
            await purchase(steps, tools, product)
    if elicitation:
        return steps.skip("elicitation", elicitation)
    steps.begin("elicitation")
    steps.current["approvals"] = 0

    def approve():
        steps.current["approvals"] += 1
        return {"approve": True}

    async with opened(steps, connect, headers, approve) as tools:
        if tools:
            cart = await steps.call(tools, "create_cart", {"items": [{"product_id": product, "quantity": 2}]})
            await steps.call(tools, "complete_checkout", {"cart_id": find(r"\b(cart_[0-9a-f]{32})", cart)})


class opened:
    """A session; None if the framework could not connect. Errors while it is closed are recorded and do not end the others."""

    def __init__(self, steps, connect, headers, approve=None):
        self.steps, self.manager = steps, connect(URL, headers, approve)

    async def __aenter__(self):
        try:
            # Without a task of its own: many frameworks require that a session is closed by the task that opened it.
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self.manager.__aenter__()
        except BaseException as error:
            self.steps.current["connect_error"] = error_text(error) or type(error).__name__
            self.manager = None

    async def __aexit__(self, *_):
        if self.manager:
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    await self.manager.__aexit__(None, None, None)
            except BaseException as error:
                self.steps.current["close_error"] = error_text(error)


async def anonymous(steps, tools):
    steps.current["tools"] = len(tools.names)
    steps.begin("convert")
    try:
        steps.current |= tools.convert()
    except Exception as error:
        steps.current["errors"] = [error_text(error)]
    steps.begin("read")
    found = await steps.call(tools, "search_products", {"query": "coffee", "in_stock_only": True, "limit": 3})
    product = os.environ.get("PRODUCT_ID") or find(r"\b(prod_[0-9a-f]{32})", found)
    await steps.call(tools, "get_product_details", {"product_id": product})
    steps.begin("empty-arguments")  # Strict modes make every argument required: a model leaves one out with an empty text.
    await steps.call(tools, "get_product_details", {"product_id": product, "sku": "", "gtin": "", "url": ""})
    steps.begin("unknown-product")
    await steps.call(tools, "get_product_details", {"product_id": UNKNOWN_PRODUCT})
    await steps.call(tools, *READ)
    steps.begin("write-without-key")
    await steps.call(tools, "create_cart", {"items": [{"product_id": product, "quantity": 1}]})
    await steps.call(tools, *READ)
    steps.begin("limit")  # The proof uses up the quota of the address.
    await steps.call(tools, *READ)
    steps.begin("after-limit")
    await steps.call(tools, *READ)
    steps.begin("sandbox-key")
    created = await steps.call(tools, "create_sandbox_key", {})
    return product, find(r"\b(agnt_[0-9A-Za-z_]{20,})", created)


async def purchase(steps, tools, product):
    cart = await steps.call(tools, "create_cart", {"items": [{"product_id": product, "quantity": 1}]})
    cart_id = find(r"\b(cart_[0-9a-f]{32})", cart)
    await steps.call(tools, "preview_checkout", {"cart_id": cart_id})
    asked = await steps.call(tools, "request_human_confirmation", {"cart_id": cart_id})
    confirmation_id = find(r"\b(cnf_[0-9a-f]{32})", asked)
    await steps.call(tools, "get_confirmation_status", {"confirmation_id": confirmation_id})
    await steps.call(tools, "complete_checkout", {"cart_id": cart_id})
