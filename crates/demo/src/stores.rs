//! The stores, one file each.

mod demo_store;
mod gizmogulch;
mod kestrel_rain;
mod kivikiri;
mod low_lantern_audio;
mod marrow_lane;
mod olaria_salgueira;
mod orelys;
mod orto_lucido;
mod puddlewick_toys;
mod skarvdal;
mod spaak_en_zoon;
mod tuulikki_candles;
mod velvetine_outlet;
mod wiederlicht;

use crate::world::{Identity, Store};

/// The demo store first, then the others from the most to the least trusted.
pub(crate) fn all() -> Vec<Store> {
    vec![
        demo_store::store(),
        olaria_salgueira::store(),
        kestrel_rain::store(),
        skarvdal::store(),
        puddlewick_toys::store(),
        orelys::store(),
        marrow_lane::store(),
        orto_lucido::store(),
        wiederlicht::store(),
        kivikiri::store(),
        spaak_en_zoon::store(),
        low_lantern_audio::store(),
        gizmogulch::store(),
        velvetine_outlet::store(),
        tuulikki_candles::store(),
    ]
}

const fn verified(level: &'static str, method: &'static str, days_ago: u32) -> Identity {
    Identity {
        status: "verified",
        level: Some(level),
        method: Some(method),
        verified_days_ago: Some(days_ago),
    }
}

const fn not_verified(status: &'static str) -> Identity {
    Identity { status, level: None, method: None, verified_days_ago: None }
}
