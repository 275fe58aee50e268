"""An order from its purchase to the refund of a return: order, shipment, delivered, return, refund. The agent is the official
Python client, the merchant calls the REST interface.

    returns.py URL

The keys are SOUK_AGENT_KEY and SOUK_STORE_KEY; without an agent key one is created for SOUK_ACCOUNT and SOUK_PASSWORD."""

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

SITE = sys.argv[1].rstrip("/")
STORE = "olaria-salgueira"


class Rejected(Exception):
    """The server rejected a call; the message is its error."""


def log(step, result):
    print(f"  {step:<36} {result}", flush=True)


def rest(method, path, token, body=None):
    """Calls the REST interface and returns `data`."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{SITE}/api/v1{path}", method=method, data=data)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Rejected(f"{method} {path}: {error.read().decode()}") from None


def merchant(method, path, body=None):
    return rest(method, f"/merchant{path}", os.environ["SOUK_STORE_KEY"], body)["data"]


def agent_key():
    if "SOUK_AGENT_KEY" in os.environ:
        return os.environ["SOUK_AGENT_KEY"]
    account = {"email": os.environ["SOUK_ACCOUNT"], "password": os.environ["SOUK_PASSWORD"]}
    token = rest("POST", "/auth/login", None, account)["token"]
    scopes = ["agent:read", "agent:cart", "agent:checkout", "agent:orders"]
    return rest("POST", "/agent-keys", token, {"scopes": scopes})["data"]["api_key"]


def caller(client):
    async def call(tool, **arguments):
        answer = await client.call_tool(tool, arguments)
        if answer.is_error:
            raise Rejected(f"{tool}: {answer.content[0].text}")
        return answer.structured_content

    return call


async def buy(call):
    """Buys two units of a product, and returns the order."""
    found = await call("search_products", query="mug", in_stock_only=True, limit=5)
    product = found["data"][0]
    item = {"product_id": product["id"], "quantity": 2}
    variants = (await call("get_product_variants", product_id=product["id"]))["variants"]
    if variants:
        item["variant_id"] = next(it["id"] for it in variants if it["stock_status"] in ("in_stock", "low_stock"))
    country = (await call("get_merchant_profile"))["country"]
    cart = await call("create_cart", items=[item], destination={
        "country": country, "postal_code": "2460-001", "city": "Alcobaça", "street": "1 Example Street"})
    log("create_cart", f"2 × {product['name']}, {cart['totals']['total']} {cart['currency']}")
    session = await call("complete_checkout", cart_id=cart["cart_id"])
    log("complete_checkout", session["status"])
    paid = merchant("POST", f"/checkouts/{session['checkout_id']}/complete", {"reference": session["checkout_id"]})
    order_id = paid["order"]["order_id"]
    log("the merchant reports the payment", order_id)
    return order_id


async def ship(call, order_id):
    """The merchant ships and delivers the order; the agent follows."""
    path = f"/orders/{order_id}"
    order = merchant("PATCH", path, {"action": "confirm"})
    log("the merchant confirms", order["status"])
    order = merchant("PATCH", path, {"action": "ship", "carrier": "CTT", "tracking_number": "DA123456789PT"})
    log("the merchant ships", order["status"])
    status = await call("get_order_status", order_id=order_id)
    assert status["status"] == "shipped", status
    log("get_order_status", f"{status['status']}, {status['payment_status']}")
    shipped = (await call("onx_get_fulfillments", orderIds=[order_id]))["fulfillments"]
    assert [it["trackingNumbers"] for it in shipped] == [["DA123456789PT"]], shipped
    log("onx_get_fulfillments", f"{shipped[0]['shippingCarrier']} {shipped[0]['trackingNumbers'][0]}, {shipped[0]['status']}")
    order = merchant("PATCH", path, {"action": "deliver"})
    assert order["status"] == "delivered", order
    log("the merchant reports the delivery", f"{order['status']}, returnable until {order['returnable_until']}")


async def send_back(call, order_id):
    """The agent returns one of the two units; the merchant takes it back and refunds it."""
    orders = (await call("onx_get_orders", ids=[order_id]))["orders"]
    line = orders[0]["lineItems"][0]
    log("onx_get_orders", f"{orders[0]['status']}, {line['quantity']} × {line['sku']}, {orders[0]['totalPrice']} {orders[0]['currency']}")
    eligible = await call("check_return_eligibility", order_id=order_id)
    item = eligible["items"][0]
    log("check_return_eligibility", f"{item['returnable_quantity']} units, {item['refund_amount']} {eligible['currency']}, until {eligible['returnable_until']}")
    created = await call("onx_create_return", **{"return": {
        "orderId": order_id, "outcome": "refund",
        "returnLineItems": [{"orderLineItemId": line["id"], "sku": line["sku"], "quantityReturned": 1, "returnReason": "defective"}]}})
    return_id = created["return"]["id"]
    log("onx_create_return", f"{return_id}, {created['return']['status']}")
    path = f"/orders/{order_id}/returns/{return_id}"
    merchant("PATCH", path, {"action": "approve", "instructions": "Send it back in its box."})
    log("the merchant approves", await status_of(call, order_id))
    for action in ("in_transit", "receive", "inspect"):
        merchant("PATCH", path, {"action": action})
        log(f"the merchant: {action}", await status_of(call, order_id))
    merchant("PATCH", path, {"action": "settle"})
    returned = (await call("onx_get_returns", orderIds=[order_id]))["returns"][0]
    assert returned["status"] == "refunded" and returned["refundAmount"] > 0, returned
    log("the merchant refunds", f"{returned['status']}, {returned['refundAmount']}")


async def status_of(call, order_id):
    return (await call("onx_get_returns", orderIds=[order_id]))["returns"][0]["status"]


async def main():
    print(f"An order and its return at {SITE}, with the official Python client:")
    async with httpx2.AsyncClient(headers={"X-Agent-Api-Key": agent_key()}, timeout=30) as http:
        async with Client(streamable_http_client(f"{SITE}/{STORE}/mcp", http_client=http)) as client:
            call = caller(client)
            order_id = await buy(call)
            await ship(call, order_id)
            await send_back(call, order_id)
            order = (await call("onx_get_orders", ids=[order_id]))["orders"][0]
            assert order["paymentStatus"] == "partially_refunded", order
            log("onx_get_orders", f"{order['status']}, {order['paymentStatus']}")
    print("Done: ordered, shipped, delivered, returned, refunded.")


def first_of(error):
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


try:
    asyncio.run(main())
except* Rejected as group:
    sys.exit(f"returns: {first_of(group)}")
