#![doc = include_str!("../README.md")]

mod all_stores;
mod directory;
mod error;
mod policies;
mod put_settings;
mod record;
mod register;
mod resolve;
mod settings;
mod standing;
mod store;
mod table;

pub use all_stores::{all_stores, stores_of};
pub use directory::{DirectoryQuery, StorePage, directory};
pub use error::StoreError;
pub use policies::{Policies, PolicyRecord};
pub use put_settings::{
    SettingsError, active_promotions, put_settings, settings, settings_now, store_and_settings_now,
};
pub use record::{
    EndpointsRecord, IdentityRecord, StoreRecord, StoreSummary, SupportRecord, TrustRecord,
};
pub use register::{
    record_sync, register, set_catalog_summary, set_identity, set_policies, set_standing,
};
pub use resolve::{StoreCache, store, store_now};
pub use settings::{
    Benefit, CheckoutUrl, ConfirmationPolicy, CurrentSettings, GtinSource, InvalidSetting,
    Promotion, Settings, SettingsRecord, ShippingRate, ShippingZone, TaxRate,
};
pub use standing::{AGENT_THRESHOLD, Band, SUSPENSION_THRESHOLD, Standing};
pub use store::{Identity, IdentityStatus, NewStore, Store};
