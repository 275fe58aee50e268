"""The whole way of spec §4.3, with the official Python client and a browser: search, the merchant's profile, a cart, a preview,
a person's approval, checkout, a person's payment, the order. Then twice up to checkout, with a client that asks its person itself.

    purchase.py URL [FOLDER]

With a folder, pictures of both pages go there and axe judges them."""

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
PICTURES = Path(sys.argv[2]) if len(sys.argv) > 2 else None
BROWSER = Path(__file__).parent / "browser.mjs"


class Refused(Exception):
    """The server said no, and why."""


def say(what, found):
    print(f"  {what:<28} {found}", flush=True)


def browse(*arguments):
    done = subprocess.run(["node", BROWSER, *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Refused(f"the browser failed: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def look(url, name):
    if PICTURES:
        PICTURES.mkdir(parents=True, exist_ok=True)
        say("pictures and axe", browse("look", url, str(PICTURES), name))


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
            raise Refused(f"{tool}: {answer.content[0].text}")
        return answer.structured_content

    return call


async def fill_cart(call):
    """Finds something and puts two of it into a cart that is ready to be bought."""
    found = await call("search_products", query="coffee mug", in_stock_only=True, limit=5)
    product = found["data"][0]
    say("search_products", f"{product['name']}, {product['price']} {product['currency']}")
    profile = await call("get_merchant_profile")
    say("get_merchant_profile", f"{profile['name']}, trust {profile['trust_score']} ({profile['verification_level']})")
    item = {"product_id": product["id"], "quantity": 2}
    forms = (await call("get_product_variants", product_id=product["id"]))["variants"]
    if forms:
        form = next(form for form in forms if form["stock_status"] in ("in_stock", "low_stock"))
        item["variant_id"] = form["id"]
        say("get_product_variants", form["name"])
    cart = await call("create_cart", items=[item], ship_to={
        "country": profile["country"], "postal_code": "62701", "city": "Springfield", "street": "1 Example Street"})
    cart_id = cart["cart_id"]
    way = cart["shipping_options"][0]["id"]
    cart = await call("select_shipping_option", cart_id=cart_id, option_id=way)
    say("create_cart", f"{cart['item_count']} items, {cart['totals']['total']} {cart['currency']}")
    return cart_id


async def buy(client):
    call = caller(client)
    cart_id = await fill_cart(call)
    preview = await call("preview_checkout", cart_id=cart_id)
    say("preview_checkout", f"ready: {preview['ready_for_checkout']}")
    asked = await call("request_human_confirmation", cart_id=cart_id)
    say("request_human_confirmation", asked["status"])
    look(asked["confirm_url"], "approval")
    say("a person reads and presses", browse("press", asked["confirm_url"], "Yes, I want this"))
    answered = await call("get_confirmation_status", confirmation_id=asked["confirmation_id"])
    say("get_confirmation_status", f"{answered['status']} ({answered['level']})")
    session = await call("complete_checkout", cart_id=cart_id, confirmation={"confirmation_id": asked["confirmation_id"]})
    say("complete_checkout", f"{session['status']}, confirmed: {session['human_confirmation']['level']}")
    assert session["human_confirmation"]["level"] == "hosted", session
    look(session["checkout_url"], "payment")
    say("a test card is refused", browse("press", session["checkout_url"], "Pay", "Test card that is refused"))
    say("a person pays", browse("press", session["checkout_url"], "Pay"))
    look(session["checkout_url"], "paid")
    ended = await call("get_checkout", checkout_id=session["checkout_id"])
    assert ended["status"] == "completed" and ended["order"]["order_id"].startswith("ord_"), ended
    say("the order", ended["order"]["order_id"])


async def buy_in_chat(connect):
    """The same for a client that can ask its person itself: a no, then a yes."""
    asked = []

    def person(approve):
        async def answer(context, params):
            asked.append(params.message)
            return ElicitResult(action="accept", content={"approve": approve})

        return answer

    async with connect(elicitation_callback=person(False)) as client:
        call = caller(client)
        cart_id = await fill_cart(call)
        try:
            await call("complete_checkout", cart_id=cart_id)
        except Refused as refusal:
            assert "rejected_by_person" in str(refusal), refusal
        else:
            raise Refused("a person said no, and it was checked out all the same")
    say("a person says no in the chat", asked[-1])
    async with connect(elicitation_callback=person(True)) as client:
        call = caller(client)
        cart_id = await fill_cart(call)
        session = await call("complete_checkout", cart_id=cart_id)
    assert session["human_confirmation"]["level"] == "elicited", session
    assert len(asked) == 2, asked
    say("a person says yes in the chat", f"{session['status']}, confirmed: {session['human_confirmation']['level']}")


async def main():
    print(f"A purchase at {SITE}, with the official Python client and a browser:")
    headers = {"X-Agent-Api-Key": sandbox_key()}
    say("POST /sandbox/key", "a key for a day, for nothing real")
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        def connect(**options):
            return Client(streamable_http_client(f"{SITE}/demo-store/mcp", http_client=http), **options)

        async with connect() as client:
            await buy(client)
        print("And by a client that can ask its person itself:")
        await buy_in_chat(connect)
    print("Done: searched, approved, paid, ordered.")


try:
    asyncio.run(main())
except* Refused as group:
    error = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    sys.exit(f"purchase: {error}")
