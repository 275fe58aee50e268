"""A stock MCP client against a store: what the README shows, and what an error looks like."""

import asyncio
import json
import sys

from mcp import Client


async def main(url: str) -> None:
    async with Client(url) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"search_products", "get_product_details", "browse_categories", "get_merchant_profile"} <= tools, tools

        found = await client.call_tool("search_products", {"query": "pour over", "limit": 3})
        assert found.structured_content["meta"]["total"] > 0, found

        categories = await client.call_tool("browse_categories", {"depth": 1})
        assert not categories.is_error, categories
        assert categories.structured_content["total"] > 3

        product_id = "prod_076c313f7c63513c9eb9f8f3fff08813"
        product = await client.call_tool("get_product_details", {"product_id": product_id})
        assert not product.is_error, product
        assert product.structured_content["id"] == product_id
        assert product.structured_content["price"] > 0

        profile = await client.call_tool("get_merchant_profile", {})
        assert profile.structured_content["verification_level"] == "VERIFIED"

        missing = await client.call_tool("get_product_details", {"product_id": "prod_" + "0" * 32})
        assert missing.is_error
        envelope = json.loads(missing.content[0].text)
        assert envelope["error"] == "product_not_found", envelope
        assert envelope["details"]["request_id"]

    print("python client: connected, 4 tools listed and called, 1 error understood")


asyncio.run(main(sys.argv[1]))
