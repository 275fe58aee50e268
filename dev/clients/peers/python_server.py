"""get_product_details written with the official Python SDK, for comparison in the benchmark."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

import asyncpg
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

PORT = int(os.environ["PORT"])
SITE_URL = f"http://127.0.0.1:{PORT}"
DIGITS = {"USDC": 6}  # All other currencies have two.

PRODUCT = """
    SELECT p.merchant_id, p.product_id, p.name, p.description, p.price_minor, p.list_price_minor, p.currency,
           p.stock_status, p.stock_quantity, p.sku, p.brand, p.gtin, p.mpn, p.url, p.condition,
           p.rating_hundredths, p.rating_count, p.attributes, p.images, p.policies, p.listed_at, p.updated_at,
           c.path AS category_path, c.name AS category_name, s.slug, s.currency AS store_currency, t.score,
           o.return_window_days, o.free_shipping_threshold_minor, o.shipping_days_min, o.shipping_days_max,
           o.return_summary, o.shipping_summary, o.privacy_url, o.terms_url, o.warranty_months
    FROM product p
    JOIN category c USING (merchant_id, category_id)
    JOIN store s USING (merchant_id)
    LEFT JOIN store_policy o USING (merchant_id)
    LEFT JOIN standing t USING (merchant_id)
    WHERE p.product_id = $1 AND p.retired_at IS NULL
"""

VARIANTS = """
    SELECT variant_id, sku, name, options, price_minor, list_price_minor, stock_status, stock_quantity, image, gtin
    FROM variant
    WHERE merchant_id = $1 AND product_id = $2
    ORDER BY place
"""


def absent(value: object) -> bool:
    return value is None


# A field that is omitted if it is None.
OMITTED = Field(default=None, exclude_if=absent)
Text = Annotated[str | None, OMITTED]
Whole = Annotated[int | None, OMITTED]
Amount = Annotated[float | None, OMITTED]


class Merchant(BaseModel):
    slug: str
    trust_score: float | None
    verification_level: str | None


class Policies(BaseModel):
    return_window_days: Whole
    free_shipping_threshold: Amount
    shipping_estimate_days: Text
    return_summary: Text
    shipping_summary: Text
    privacy_url: Text
    terms_url: Text
    warranty_months: Whole


class Category(BaseModel):
    path: str
    name: str


class Rating(BaseModel):
    average: float
    count: int
    source: str


class Image(BaseModel):
    url: str
    alt: str


class Variant(BaseModel):
    id: str
    sku: str
    name: str
    options: dict[str, str]
    price: float
    list_price: Amount
    stock_status: str
    available_quantity: Whole
    image: Text
    gtin: Text


class Product(BaseModel):
    id: str
    name: str
    description: str
    price: float
    currency: str
    stock_status: str
    merchant: Merchant
    policies: Policies
    sku: str
    brand: str
    gtin: Text
    mpn: Text
    url: Text
    category: Category
    condition: str
    list_price: Amount
    available_quantity: Whole
    rating: Annotated[Rating | None, OMITTED]
    attributes: dict[str, str]
    images: list[Image]
    variants: list[Variant]
    listed_at: datetime
    updated_at: datetime


@dataclass
class App:
    pool: asyncpg.Pool


async def prepare(connection: asyncpg.Connection) -> None:
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)


@asynccontextmanager
async def lifespan(_: MCPServer) -> AsyncIterator[App]:
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], init=prepare) as pool:
        yield App(pool)


mcp = MCPServer("store", version="1.0.0", lifespan=lifespan, log_level="WARNING")


def amount(minor: int | None, currency: str) -> float | None:
    return None if minor is None else minor / 10 ** DIGITS.get(currency, 2)


def level(score: float | None) -> str | None:
    if score is None:
        return None
    steps = ((0.95, "ELITE"), (0.85, "VERIFIED"), (0.7, "STANDARD"), (0.5, "CAUTION"))
    return next((name for least, name in steps if score >= least), "RESTRICTED")


def policies_of(row: asyncpg.Record) -> Policies:
    own = row["policies"]
    least, most = own.get("shipping_days") or (row["shipping_days_min"], row["shipping_days_max"])
    return Policies(
        return_window_days=own.get("return_window_days", row["return_window_days"]),
        free_shipping_threshold=amount(row["free_shipping_threshold_minor"], row["store_currency"]),
        shipping_estimate_days=None if least is None else f"{least}-{most}",
        return_summary=row["return_summary"],
        shipping_summary=row["shipping_summary"],
        privacy_url=row["privacy_url"],
        terms_url=row["terms_url"],
        warranty_months=own.get("warranty_months", row["warranty_months"]),
    )


def variant_of(row: asyncpg.Record, currency: str) -> Variant:
    return Variant(
        id=f"var_{row['variant_id'].hex}",
        sku=row["sku"],
        name=row["name"],
        options=row["options"],
        price=amount(row["price_minor"], currency),
        list_price=amount(row["list_price_minor"], currency),
        stock_status=row["stock_status"],
        available_quantity=row["stock_quantity"],
        image=row["image"],
        gtin=row["gtin"],
    )


def image_of(image: dict[str, str]) -> Image:
    base = SITE_URL if image["url"].startswith("/") else ""
    return Image(url=base + image["url"], alt=image["alt"])


def rating_of(row: asyncpg.Record) -> Rating | None:
    if row["rating_hundredths"] is None:
        return None
    return Rating(average=row["rating_hundredths"] / 100, count=row["rating_count"] or 0, source="merchant")


@mcp.tool(title="Product details")
async def get_product_details(product_id: str, ctx: Context[App]) -> Product:
    """Get everything this store says about one product."""
    try:
        key = UUID(hex=product_id.removeprefix("prod_"))
    except ValueError:
        raise ToolError("product_id must be prod_ and 32 hexadecimal digits") from None

    async with ctx.request_context.lifespan_context.pool.acquire() as connection:
        row = await connection.fetchrow(PRODUCT, key)
        if row is None:
            raise ToolError(f"no product {product_id}")
        variants = await connection.fetch(VARIANTS, row["merchant_id"], key)

    currency = row["currency"]
    return Product(
        id=f"prod_{row['product_id'].hex}",
        name=row["name"],
        description=row["description"],
        price=amount(row["price_minor"], currency),
        currency=currency,
        stock_status=row["stock_status"],
        merchant=Merchant(slug=row["slug"], trust_score=row["score"], verification_level=level(row["score"])),
        policies=policies_of(row),
        sku=row["sku"],
        brand=row["brand"],
        gtin=row["gtin"],
        mpn=row["mpn"],
        url=row["url"],
        category=Category(path=row["category_path"], name=row["category_name"]),
        condition=row["condition"],
        list_price=amount(row["list_price_minor"], currency),
        available_quantity=row["stock_quantity"],
        rating=rating_of(row),
        attributes=row["attributes"],
        images=[image_of(image) for image in row["images"]],
        variants=[variant_of(variant, currency) for variant in variants],
        listed_at=row["listed_at"],
        updated_at=row["updated_at"],
    )


if __name__ == "__main__":
    app = mcp.streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
