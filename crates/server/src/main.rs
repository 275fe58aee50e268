//! The `souk` binary.

use std::process::ExitCode;

// A request makes hundreds of small allocations on several threads; jemalloc needs a quarter less CPU
// per call than the allocator of the C library (docs/decisions/0019).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match Box::pin(server::run(server::Cli::from_process())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
