#![doc = include_str!("../README.md")]

mod directory;
mod error;
mod put_settings;
mod record;
mod register;
mod resolve;
mod roster;
mod settings;
mod standing;
mod store;
mod table;

pub use directory::{DirectoryQuery, StorePage, directory};
pub use error::StoreError;
pub use put_settings::{SettingsError, put_settings, running_promotions, settings, settings_now};
pub use record::{
    EndpointsRecord, IdentityRecord, PolicyRecord, StoreRecord, StoreSummary, SupportRecord,
    TrustRecord,
};
pub use register::{
    describe_catalog, note_sync, register, set_identity, set_policies, set_standing,
};
pub use resolve::{StoreCache, store, store_now};
pub use roster::{roster, roster_of};
pub use settings::{
    Benefit, CheckoutUrl, ConfirmationPolicy, CurrentSettings, GtinSource, Promotion, Settings,
    SettingsFault, ShippingRate, ShippingZone, TaxRate,
};
pub use standing::{AGENT_THRESHOLD, Band, SUSPENSION_THRESHOLD, Standing};
pub use store::{Identity, IdentityStatus, NewStore, Policies, Store};
