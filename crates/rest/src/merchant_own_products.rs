//! A merchant's own products: what is stored, and what agents see of it.

use std::sync::Arc;

use axum::extract::State;
use catalog::{
    Defect, HiddenReason, OwnProductStatus, OwnProductSummary, OwnProductsFilter, ProductCursor,
    ProductDraft, ProductRecord, StockStatus,
};
use database::Reading;
use identity::StoreScope;
use merchants::Store;
use primitives::{ErrorCode, PageRequest, ProductId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::envelope::CursorEnvelope;
use crate::merchant_products::ProductNotListed;
use crate::request::{ExternalId, InvalidField};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Path, Query, Rest, RestState, Routes, StoreCaller,
};

const ACCESS: Access = Access::Store(StoreScope::Catalog);

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/products", ACCESS, list)
        .operation_id("listOwnProducts")
        .tag("merchant")
        .summary("List your products")
        .description(
            "Returns the products of the store in any state, in the order of `external_id`. `hidden` says why agents do \
             not see a product. Send `meta.next_cursor` as `cursor` for the next page, until it is omitted: a call examines at \
             most 200,000 products, with `status=failing` 10,000, so that a page can have fewer products than `limit`, or none.",
        )
        .query::<ListParameters>()
        .response::<CursorEnvelope<OwnProductRecord>>(200);
    let one = Endpoint::get("/merchant/products/{external_id}", ACCESS, one)
        .operation_id("getOwnProduct")
        .tag("merchant")
        .summary("Get one of your products")
        .description(
            "Returns `stored`, the product in the form in which it is sent, and `listed`, the record that agents get.",
        )
        .path::<ExternalId>()
        .response::<Envelope<OwnProductResult>>(200)
        .errors(&[ErrorCode::ProductNotFound]);
    Routes::new().with(list).with(one)
}

/// Which products are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Only products that agents see, that they do not see, or that have defects.
    status: Option<OwnProductStatus>,
    /// Only products that changed at this time or later, RFC 3339. A retirement is a change.
    changed_since: Option<Timestamp>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = ProductCursor::LENGTH_MAX))]
    cursor: Option<String>,
    /// Products per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// Why agents do not see a product.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct HiddenRecord {
    /// The reason.
    reason: HiddenReason,
    /// The same in a sentence, and what to do.
    message: &'static str,
}

impl From<HiddenReason> for HiddenRecord {
    fn from(reason: HiddenReason) -> Self {
        Self { reason, message: reason.message() }
    }
}

/// A product of the store.
#[derive(Debug, Serialize, JsonSchema)]
struct OwnProductRecord {
    /// ID of the product, as agents use it.
    product_id: ProductId,
    /// The merchant's own identifier.
    external_id: String,
    /// SKU.
    sku: String,
    /// Name.
    name: String,
    /// Whether agents see the product.
    #[schemars(extend("enum" = ["listed", "hidden"]))]
    status: OwnProductStatus,
    /// Why agents do not see the product; omitted if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<HiddenRecord>,
    /// Defects of the data, as in `GET /merchant/quality`.
    defects: Vec<Defect>,
    /// Path of the category.
    category: String,
    /// Price now; of a product with variants the lowest.
    price: f64,
    /// Currency of the price.
    currency: String,
    /// Stock status as stored.
    stock_status: StockStatus,
    /// Units as stored, those held by checkouts included; omitted if none were stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    stock_quantity: Option<i64>,
    /// Number of variants.
    variants: i64,
    /// When the product last changed.
    updated_at: Timestamp,
    /// When the product was retired; omitted if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    retired_at: Option<Timestamp>,
}

impl OwnProductRecord {
    fn of(product: OwnProductSummary, store: &Store) -> Self {
        let hidden = product.hidden(store);
        Self {
            product_id: product.id,
            external_id: product.external_id,
            sku: product.sku,
            name: product.name,
            status: OwnProductStatus::of(hidden),
            hidden: hidden.map(HiddenRecord::from),
            defects: product.defects,
            category: product.category,
            price: product.price.to_decimal(),
            currency: product.price.currency().to_string(),
            stock_status: product.stock_status,
            stock_quantity: product.stock_quantity.map(i64::from),
            variants: product.variants,
            updated_at: product.updated_at,
            retired_at: product.retired_at,
        }
    }
}

/// A product as it is stored, and as agents see it.
#[derive(Debug, Serialize, JsonSchema)]
struct OwnProductResult {
    /// ID of the product, as agents use it.
    product_id: ProductId,
    /// The merchant's own identifier.
    external_id: String,
    /// Whether agents see the product.
    #[schemars(extend("enum" = ["listed", "hidden"]))]
    status: OwnProductStatus,
    /// Why agents do not see the product; omitted if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<HiddenRecord>,
    /// The product as it is stored, in the form of `PUT /merchant/products/{external_id}`. Price and stock of a product
    /// with variants are those of its variants.
    stored: ProductDraft,
    /// The product record that agents get now; null if they do not see the product.
    listed: Option<ProductRecord>,
    /// When the product last changed.
    updated_at: Timestamp,
    /// When the product was retired; omitted if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    retired_at: Option<Timestamp>,
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<OwnProductRecord>, ErrorResponse> {
    let cursor = parameters.cursor.map(|cursor| cursor.parse::<ProductCursor>()).transpose();
    let cursor = cursor.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let filter =
        OwnProductsFilter { status: parameters.status, changed_since: parameters.changed_since };
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let store = &caller.store;
    let page =
        catalog::own_products(&reading, store, filter, cursor.as_ref(), request.limit()).await?;
    let meta = request.meta(page.total).estimated(page.total_is_estimate);
    let records =
        page.products.into_iter().map(|product| OwnProductRecord::of(product, store)).collect();
    Ok(CursorEnvelope::new(records, meta, page.next))
}

async fn one(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(ExternalId(external_id)): Path<ExternalId>,
) -> Result<Envelope<OwnProductResult>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let own = match catalog::own_product(&reading, &caller.store, &external_id).await {
        Err(catalog::CatalogError::ProductNotFound) => return Err(ProductNotListed.into()),
        found => found?,
    };
    let (stored, hidden) = (own.stored, own.listed.as_ref().err().copied());
    Ok(Envelope::new(OwnProductResult {
        product_id: stored.product.id,
        external_id,
        status: OwnProductStatus::of(hidden),
        hidden: hidden.map(HiddenRecord::from),
        stored: stored.draft(),
        listed: own.listed.ok().map(|product| product.record(&caller.store, &rest.site_url)),
        updated_at: stored.product.updated_at,
        retired_at: stored.retired_at,
    }))
}
