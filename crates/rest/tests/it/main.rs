//! The door as callers see it, through its router.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod document;
mod door;
mod errors;
mod health;
mod merchant;
mod stores;
