"""The whole purchase of docs/contract/mcp.md#recommended-flow with the official Python client and a browser: search, merchant
profile, cart, preview, approval by a person, checkout, payment by a person, order. Then two checkouts with a client that supports elicitation.

    purchase.py URL [FOLDER]

With FOLDER, screenshots of the pages are saved there and the pages are checked with axe."""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import httpx2
from mcp import Client
from mcp.types import ElicitResult
from mcp.client.streamable_http import streamable_http_client

SITE = sys.argv[1].rstrip("/")
SCREENSHOTS = Path(sys.argv[2]) if len(sys.argv) > 2 else None
BROWSER = Path(__file__).parent / "browser.mjs"


class Rejected(Exception):
    """The server rejected a call; the message is its error."""


def log(step, result):
    print(f"  {step:<28} {result}", flush=True)


def browse(*arguments):
    done = subprocess.run(["node", BROWSER, *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Rejected(f"the browser failed: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def capture(url, name):
    if SCREENSHOTS:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        log("screenshots and axe", browse("capture", url, str(SCREENSHOTS), name))


def sandbox_key():
    request = urllib.request.Request(f"{SITE}/api/v1/sandbox/key", method="POST", data=b"{}")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["data"]["api_key"]
    except urllib.error.HTTPError as error:
        sys.exit(f"purchase: no sandbox key: {error.read().decode()}")


def caller(client):
    async def call(tool, **arguments):
        answer = await client.call_tool(tool, arguments)
        if answer.is_error:
            raise Rejected(f"{tool}: {answer.content[0].text}")
        return answer.structured_content

    return call


async def fill_cart(call, quantity=2):
    """Searches for a product and creates a cart with it that is ready for checkout."""
    found = await call("search_products", query="coffee mug", in_stock_only=True, limit=5)
    product = found["data"][0]
    log("search_products", f"{product['name']}, {product['price']} {product['currency']}")
    profile = await call("get_merchant_profile")
    log("get_merchant_profile", f"{profile['name']}, trust {profile['trust_score']} ({profile['verification_level']})")
    item = {"product_id": product["id"], "quantity": quantity}
    variants = (await call("get_product_variants", product_id=product["id"]))["variants"]
    if variants:
        variant = next(variant for variant in variants if variant["stock_status"] in ("in_stock", "low_stock"))
        item["variant_id"] = variant["id"]
        log("get_product_variants", variant["name"])
    cart = await call("create_cart", items=[item], destination={
        "country": profile["country"], "postal_code": "62701", "city": "Springfield", "street": "1 Example Street"})
    cart_id = cart["cart_id"]
    option_id = cart["shipping_options"][0]["id"]
    cart = await call("select_shipping_option", cart_id=cart_id, shipping_option_id=option_id)
    log("create_cart", f"{cart['item_count']} items, {cart['totals']['total']} {cart['currency']}")
    return cart_id


async def buy(client):
    call = caller(client)
    cart_id = await fill_cart(call)
    preview = await call("preview_checkout", cart_id=cart_id)
    log("preview_checkout", f"ready: {preview['ready_for_checkout']}")
    requested = await call("request_human_confirmation", cart_id=cart_id)
    confirmation_id = requested["confirmation_id"]
    log("request_human_confirmation", requested["status"])
    capture(requested["confirm_url"], "approval")
    log("a person approves", browse("press", requested["confirm_url"], "Approve purchase"))
    confirmation = await call("get_confirmation_status", confirmation_id=confirmation_id)
    log("get_confirmation_status", f"{confirmation['status']} ({confirmation['level']})")
    session = await call("complete_checkout", cart_id=cart_id, confirmation={"confirmation_id": confirmation_id})
    log("complete_checkout", f"{session['status']}, confirmed: {session['human_confirmation']['level']}")
    assert session["human_confirmation"]["level"] == "hosted", session
    capture(session["checkout_url"], "payment")
    log("a test card is declined", browse("press", session["checkout_url"], "Pay", "Test card that is declined"))
    log("a person pays", browse("press", session["checkout_url"], "Pay"))
    capture(session["checkout_url"], "paid")
    session = await call("get_checkout", checkout_id=session["checkout_id"])
    assert session["status"] == "completed" and session["order"]["order_id"].startswith("ord_"), session
    log("the order", session["order"]["order_id"])
    order = await call("get_order_status", order_id=session["order"]["order_id"])
    capture(order["permalink_url"], "order")


async def buy_without_address(client):
    """The shown calls and nothing else: the person enters the address on the payment page."""
    call = caller(client)
    found = await call("search_products", query="coffee mug", in_stock_only=True, limit=5)
    product = found["data"][0]["id"]
    item = {"product_id": product, "quantity": 1}
    variants = (await call("get_product_variants", product_id=product))["variants"]
    if variants:
        item["variant_id"] = next(v["id"] for v in variants if v["stock_status"] in ("in_stock", "low_stock"))
    cart = await call("create_cart", items=[item])
    preview = await call("preview_checkout", cart_id=cart["cart_id"])
    log("preview_checkout", f"about {preview['totals']['total']} {preview['currency']}, open: {', '.join(preview['open'])}")
    session = await call("complete_checkout", cart_id=cart["cart_id"])
    page = session["checkout_url"]
    capture(page, "address")
    country = (await call("get_merchant_profile"))["country"]
    log("a person enters the address", browse(
        "enter", page, "Show the final total", "Name=Ada Example", "Street and number=1 Example Street",
        "Postal code=62701", "City=Springfield", f"Country, as two letters={country}", "Email=ada@example.com"))
    capture(page, "final-total")
    log("a person pays", browse("press", page, "Pay"))
    session = await call("get_checkout", checkout_id=session["checkout_id"])
    assert session["status"] == "completed" and session["human_confirmation"]["scope"] == "total", session
    log("the order", f"{session['order']['order_id']}, {session['totals']['total']} {session['currency']}")


async def buy_with_elicitation(connect):
    """The same with a client that supports elicitation: a rejection, then an approval."""
    messages = []

    def person(approve):
        async def answer(context, params):
            messages.append(params.message)
            return ElicitResult(action="accept", content={"approve": approve})

        return answer

    async with connect(elicitation_callback=person(False)) as client:
        call = caller(client)
        cart_id = await fill_cart(call)
        try:
            await call("complete_checkout", cart_id=cart_id)
        except Rejected as rejection:
            assert "declined" in str(rejection), rejection
        else:
            raise Rejected("the person rejected the purchase, and the checkout was completed")
    log("a person rejects", messages[-1])
    async with connect(elicitation_callback=person(True)) as client:
        call = caller(client)
        # A No stands for the same items; another quantity is another question.
        cart_id = await fill_cart(call, quantity=1)
        session = await call("complete_checkout", cart_id=cart_id)
    assert session["human_confirmation"]["level"] == "elicited", session
    assert len(messages) == 2, messages
    log("a person approves", f"{session['status']}, confirmed: {session['human_confirmation']['level']}")


async def main():
    print(f"A purchase at {SITE}, with the official Python client and a browser:")
    headers = {"X-Agent-Api-Key": sandbox_key()}
    log("POST /sandbox/key", "a sandbox key, valid for one day")
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        def connect(**options):
            return Client(streamable_http_client(f"{SITE}/demo-store/mcp", http_client=http), **options)

        async with connect() as client:
            await buy(client)
        print("With the shown calls alone, without an address:")
        async with connect() as client:
            await buy_without_address(client)
        print("With a client that supports elicitation:")
        await buy_with_elicitation(connect)
    print("Done: searched, approved, paid, ordered.")


try:
    asyncio.run(main())
except* Rejected as group:
    error = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    sys.exit(f"purchase: {error}")
