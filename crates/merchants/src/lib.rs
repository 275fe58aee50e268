#![doc = include_str!("../README.md")]

mod administer;
mod all_stores;
mod directory;
mod error;
mod notice;
mod own_store;
mod policies;
mod purge_notices;
mod put_settings;
mod record;
mod register;
mod resolve;
mod settings;
mod standing;
mod store;
mod store_status;
mod table;

pub use administer::{
    Administration, VerificationResult, allow_host, allowed_hosts, create_store, disallow_host,
    record_decision, record_payment_status, record_quota, record_release, set_status,
    verify_identity,
};
pub use all_stores::{StoresRead, all_stores, stores_of};
pub use directory::{DirectoryQuery, StorePage, directory};
pub use error::StoreError;
pub use notice::{
    Notice, NoticeCursor, NoticeKind, NoticePage, NoticeRecord, notices, post_notice,
};
pub use own_store::{StoreProfile, lock_profile, put_profile, set_own_status};
pub use policies::{Policies, PolicyRecord};
pub use purge_notices::PurgeNotices;
pub use put_settings::{
    Editor, SettingsChange, SettingsError, active_promotions, lock_settings, put_settings,
    settings, settings_now, store_and_settings_now, touch_settings,
};
pub use record::{
    EndpointsRecord, IdentityRecord, StoreRecord, StoreSummary, SupportRecord, TrustRecord,
};
pub use register::{
    StandingChange, lock_standings, record_sync, register, set_catalog_summary, set_identity,
    set_policies, set_standing, set_standings,
};
pub use resolve::{StoreCache, merchant_of, store, store_now};
pub use settings::{
    Benefit, CheckoutUrl, ConfirmationPolicy, CurrentSettings, GtinSource, HoldLimits,
    InvalidSetting, Promotion, Settings, SettingsRecord, ShippingRate, ShippingZone, TaxRate,
};
pub use standing::{
    AGENT_THRESHOLD, Band, PROVISIONAL_RANK_MAX, SUSPENSION_THRESHOLD, Standing, SuspensionEnd,
};
pub use store::{Identity, IdentityStatus, NewStore, Store, StoreStatus, Unavailability};
