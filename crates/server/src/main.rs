//! `souk`, the one binary.

use std::process::ExitCode;

use clap::Parser;

// A request makes hundreds of small allocations on several threads: a quarter less CPU for a call than
// with the C library's own (docs/decisions/0019).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match server::run(server::Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!("{failure}");
            ExitCode::FAILURE
        }
    }
}
