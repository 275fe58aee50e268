//! Bounds the memory of request bodies over all requests of the process.
//!
//! A body is buffered and parsed as a whole, and parsed JSON takes up to a hundred times the memory of its text. Nearly all
//! bodies are small and pass freely. A body that has not ended needs memory for its beginning, of which each network has a
//! share. Others wait for memory, which they hold until the request is answered: a body above
//! 64 KiB for its text, once its sender is authenticated, and every body for what it takes once it is parsed, when all of
//! it has arrived. A slow body so holds its text at most, and no more than the share of its sender; one that arrives too
//! slowly is aborted. A body that would take too much by itself is refused.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures::future::BoxFuture;
use futures::stream::try_unfold;
use futures::{FutureExt, StreamExt};
use schema::ParsedSize;
use tokio::time::Instant;

use super::body_owner::BodyOwner;
use super::memory_budget::{MemoryBudget, MemoryPermit};
use super::upload::{AbortReason, Aborted};

/// A body of this declared length is not measured: parsed, it takes at most 115 times as much.
pub(super) const UNMEASURED_BYTES: u64 = 1024;
/// A body that takes no more than this once it is parsed passes without waiting.
const FREE_BYTES: usize = 128 * 1024;
/// A body that has not ended after so many bytes needs memory for its beginning.
const UNRESERVED_BYTES: usize = 1024;
/// Memory of the beginnings of bodies that have not ended.
const BEGINNING_BYTES: usize = 32 * 1024 * 1024;
/// A longer body waits for memory for its text.
const SMALL_BYTES: usize = 64 * 1024;
const SMALL_BYTES_U64: u64 = 64 * 1024;
/// Memory of the texts of bodies.
const TEXT_BYTES: usize = 16 * 1024 * 1024;
const LARGE_TEXT_BYTES: usize = 64 * 1024 * 1024;
/// Memory of bodies once they are parsed: of one that takes the most at a time, because parsing it keeps a thread busy for long.
const PARSED_BYTES: usize = 6 * 1024 * 1024;
/// Memory of one body, once it is parsed. Forwarded to rmcp, it takes three times as much, which cannot be given back to
/// the system at once.
const PARSED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum time to wait for memory.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum time in which a body of [`SMALL_BYTES`] has to arrive, or a larger one to begin.
const BEGINNING_MAX: Duration = Duration::from_secs(15);
/// Minimum rate at which the rest has to arrive, in bytes per second (docs/contract/limits.md#body-limits).
const RATE_MIN: u32 = 64 * 1024;
const LARGE_RATE_MIN: u32 = 256 * 1024;
/// Time by which the rest may be behind that rate.
const RATE_GRACE: Duration = Duration::from_secs(3);
/// Maximum time in which the rest of a refused body is read and discarded.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// The memory for bodies of a process.
#[derive(Debug, Clone)]
pub(crate) struct BodyMemory {
    beginnings: MemoryBudget,
    texts: MemoryBudget,
    /// For bodies that are larger than those of other requests.
    large_texts: MemoryBudget,
    parsed: MemoryBudget,
    times: Times,
}

/// Times that a body may take.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Until there is memory.
    wait_max: Duration,
    /// Until its beginning has arrived.
    beginning_max: Duration,
    /// By which the rest may be behind the minimum rate.
    grace: Duration,
}

/// Memory that a request holds until this value is dropped.
#[derive(Debug, Default)]
pub(super) struct Reservation(Mutex<Reserved>);

#[derive(Debug, Default)]
struct Reserved {
    text: Option<MemoryPermit>,
    parsed: Option<MemoryPermit>,
}

impl Reservation {
    fn lock(&self) -> MutexGuard<'_, Reserved> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body to measure.
pub(super) struct MeasuredBody {
    pub(super) body: Body,
    pub(super) measure: Measure,
    /// The declared length.
    pub(super) length: Option<u64>,
    /// The largest length that is accepted.
    pub(super) bytes_max: u64,
    /// The network it comes from.
    pub(super) network: BodyOwner,
    pub(super) owner: BoxFuture<'static, BodyOwner>,
}

/// How a body is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Parsed as a whole.
    Parsed,
    /// Parsed item by item, so that a large one takes a few times the memory of its text.
    Items,
}

impl Measure {
    const fn rate_min(self) -> u32 {
        match self {
            Self::Parsed => RATE_MIN,
            Self::Items => LARGE_RATE_MIN,
        }
    }
}

impl BodyMemory {
    /// Creates the memory for bodies of at most these lengths.
    pub(crate) fn new(bytes_max: usize, large_bytes_max: usize) -> Self {
        Self {
            beginnings: MemoryBudget::new(BEGINNING_BYTES, SMALL_BYTES),
            texts: MemoryBudget::new(TEXT_BYTES, bytes_max),
            large_texts: MemoryBudget::new(LARGE_TEXT_BYTES, large_bytes_max),
            parsed: MemoryBudget::new(PARSED_BYTES, PARSED_BYTES_MAX),
            times: Times { wait_max: WAIT_MAX, beginning_max: BEGINNING_MAX, grace: RATE_GRACE },
        }
    }

    /// Returns the body, which is read on only while its memory is reserved.
    pub(super) fn reserve_for(
        &self,
        measured: MeasuredBody,
        reservation: &Arc<Reservation>,
        abort_reason: &Arc<AbortReason>,
    ) -> Body {
        let reserving = ReservingBody {
            body: measured.body.into_data_stream(),
            length: measured.length,
            bytes_max: measured.bytes_max,
            network: measured.network,
            owner: Some(measured.owner),
            known_owner: None,
            beginning: Vec::new(),
            is_small: false,
            size: ParsedSize::default(),
            stage: Stage::Beginning,
            memory: self.clone(),
            measure: measured.measure,
            reservation: Arc::clone(reservation),
            abort_reason: Arc::clone(abort_reason),
        };
        Body::from_stream(try_unfold(reserving, ReservingBody::next_chunk))
    }
}

/// How far a body has been read.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Buffered, until it ends or is not small.
    Beginning,
    /// Passed on as it arrives. Its text is reserved.
    Arriving {
        since: Instant,
        /// Bytes since then.
        bytes: u32,
    },
    Ended,
}

/// A body that waits for memory.
struct ReservingBody {
    body: BodyDataStream,
    length: Option<u64>,
    bytes_max: u64,
    network: BodyOwner,
    /// Awaited when memory is reserved for the first time.
    owner: Option<BoxFuture<'static, BodyOwner>>,
    known_owner: Option<BodyOwner>,
    /// Copied: a chunk would keep the buffer of the connection, which is larger.
    beginning: Vec<u8>,
    /// Whether it has ended within its beginning.
    is_small: bool,
    size: ParsedSize,
    stage: Stage,
    memory: BodyMemory,
    measure: Measure,
    reservation: Arc<Reservation>,
    abort_reason: Arc<AbortReason>,
}

impl ReservingBody {
    /// Returns the next chunk and the rest of the body.
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, axum::BoxError> {
        if let Stage::Beginning = self.stage {
            self.begin().await?;
        }
        if !self.beginning.is_empty() {
            let chunk = Bytes::from(std::mem::take(&mut self.beginning));
            return Ok(Some((chunk, self)));
        }
        let Stage::Arriving { since, bytes } = self.stage else { return Ok(None) };
        let at_rate_min = Duration::from_secs(bytes.into()) / self.measure.rate_min();
        let deadline = since + at_rate_min + self.memory.times.grace;
        let chunk = tokio::time::timeout_at(deadline, self.body.next()).await;
        let Some(chunk) = chunk.map_err(|_| self.abort_reason.set(Aborted::Slow))? else {
            self.stage = Stage::Ended;
            self.reserve_parsed().await?;
            return Ok(None);
        };
        let chunk = chunk?;
        self.measure(&chunk).await?;
        let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        self.stage = Stage::Arriving { since, bytes: bytes.saturating_add(length) };
        Ok(Some((chunk, self)))
    }

    /// Buffers the body until it ends or is known not to be small, and reserves its memory: what it takes once it is parsed,
    /// or that of its text.
    async fn begin(&mut self) -> Result<(), axum::BoxError> {
        let deadline = Instant::now() + self.memory.times.beginning_max;
        let mut beginning = None;
        let is_declared_large = self.length.is_some_and(|bytes| bytes > SMALL_BYTES_U64);
        // Of one that is declared to be larger, no more than a chunk.
        let beginning_max = if is_declared_large { 0 } else { SMALL_BYTES };
        while self.beginning.len() <= beginning_max {
            let chunk = if let Some(chunk) = self.body.next().now_or_never() {
                Ok(chunk)
            } else {
                if beginning.is_none() && self.beginning.len() > UNRESERVED_BYTES {
                    beginning = Some(self.reserve_beginning().await?);
                }
                tokio::time::timeout_at(deadline, self.body.next()).await
            };
            let Some(chunk) = chunk.map_err(|_| self.abort_reason.set(Aborted::Slow))? else {
                (self.stage, self.is_small) = (Stage::Ended, true);
                return self.reserve_parsed().await;
            };
            let chunk = chunk?;
            self.measure(&chunk).await?;
            self.beginning.extend_from_slice(&chunk);
        }
        let permit = tokio::time::timeout(self.memory.times.wait_max, self.take_text()).await;
        let Some(permit) = permit.ok().flatten() else {
            return Err(self.refuse(Aborted::Overloaded).await.into());
        };
        self.reservation.lock().text = Some(permit);
        self.stage = Stage::Arriving { since: Instant::now(), bytes: 0 };
        Ok(())
    }

    /// Reserves memory for the beginning of a body that has not ended, from the share of its network. It does not wait:
    /// meanwhile it would take that memory.
    async fn reserve_beginning(&mut self) -> Result<MemoryPermit, Aborted> {
        let taking = self.memory.beginnings.take(self.network.clone(), SMALL_BYTES_U64);
        let permit = taking.now_or_never();
        match permit.flatten() {
            Some(permit) => Ok(permit),
            None => Err(self.refuse(Aborted::Overloaded).await),
        }
    }

    /// Waits for memory for the text, from the share of the sender.
    async fn take_text(&mut self) -> Option<MemoryPermit> {
        let owner = self.owner().await?;
        let texts = match self.measure {
            Measure::Parsed => &self.memory.texts,
            Measure::Items => &self.memory.large_texts,
        };
        texts.take(owner, self.length.unwrap_or(self.bytes_max)).await
    }

    async fn owner(&mut self) -> Option<BodyOwner> {
        if let Some(owner) = &mut self.owner {
            self.known_owner = Some(owner.await);
            self.owner = None;
        }
        self.known_owner.clone()
    }

    /// Adds a chunk to the size of the body.
    async fn measure(&mut self, chunk: &[u8]) -> Result<(), Aborted> {
        self.size.add(chunk);
        if self.measure == Measure::Parsed && self.size.estimate() > PARSED_BYTES_MAX {
            return Err(self.refuse(Aborted::TooManyValues).await);
        }
        Ok(())
    }

    /// Refuses the body. The rest of it is read and discarded, because a client that is still sending would not see the
    /// response.
    async fn refuse(&mut self, aborted: Aborted) -> Aborted {
        self.beginning = Vec::new();
        *self.reservation.lock() = Reserved::default();
        let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
        let _ = tokio::time::timeout(DRAIN_MAX, rest).await;
        self.abort_reason.set(aborted)
    }

    /// Reserves the memory that a body takes once it is parsed, from the share of the sender.
    async fn reserve_parsed(&mut self) -> Result<(), axum::BoxError> {
        let is_parsed = self.measure == Measure::Parsed || self.is_small;
        let bytes = self.size.estimate().min(PARSED_BYTES_MAX);
        if !is_parsed || bytes <= FREE_BYTES {
            return Ok(());
        }
        let (memory, wait_max) = (self.memory.parsed.clone(), self.memory.times.wait_max);
        let taking = async { memory.take(self.owner().await?, bytes.try_into().ok()?).await };
        let permit = tokio::time::timeout(wait_max, taking).await;
        let Some(permit) = permit.ok().flatten() else {
            return Err(self.refuse(Aborted::Overloaded).await.into());
        };
        self.reservation.lock().parsed = Some(permit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::future;
    use futures::stream::{self, Stream};
    use limits::Caller;
    use primitives::{Id, MerchantId};

    use super::super::body_owner::OwnerKind;
    use super::*;

    const MIB: u64 = 1024 * 1024;
    const GRACE: Duration = Duration::from_millis(300);

    fn memory() -> BodyMemory {
        let wait_max = Duration::from_millis(20);
        let times = Times { wait_max, beginning_max: GRACE, grace: GRACE };
        BodyMemory { times, ..BodyMemory::new(1 << 20, 16 << 20) }
    }

    fn store(number: u128) -> BodyOwner {
        let caller = Some(Caller::store(MerchantId::from_random(number)));
        BodyOwner { caller, kind: OwnerKind::Account }
    }

    /// Reads a body of one store to its end.
    async fn read_stream(
        memory: &BodyMemory,
        measure: Measure,
        chunks: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
        number: u128,
    ) -> (Result<usize, Option<Aborted>>, Arc<Reservation>) {
        read_declared(memory, measure, None, chunks, number).await
    }

    /// Reads a body of a declared length to its end.
    async fn read_declared(
        memory: &BodyMemory,
        measure: Measure,
        length: Option<u64>,
        chunks: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
        number: u128,
    ) -> (Result<usize, Option<Aborted>>, Arc<Reservation>) {
        let (reservation, reason) = (Arc::default(), Arc::default());
        let owner = future::ready(store(number)).boxed();
        let bytes_max = if measure == Measure::Parsed { MIB } else { 16 * MIB };
        let body = Body::from_stream(chunks);
        let network = store(number);
        let measured = MeasuredBody { body, measure, length, bytes_max, network, owner };
        let body = memory.reserve_for(measured, &reservation, &reason);
        let bytes = axum::body::to_bytes(body, usize::MAX).await;
        (bytes.map(|bytes| bytes.len()).map_err(|_| reason.read()), reservation)
    }

    /// Reads a body of the first store to its end.
    async fn read(
        memory: &BodyMemory,
        measure: Measure,
        text: Vec<u8>,
    ) -> (Result<usize, Option<Aborted>>, Arc<Reservation>) {
        let chunks: Vec<_> =
            text.chunks(16 * 1024).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        read_stream(memory, measure, stream::iter(chunks), 1).await
    }

    /// A small body's bytes and then chunks, each after a pause.
    fn paced(
        count: usize,
        bytes: usize,
        pause: Duration,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> {
        let first = stream::iter([Ok(Bytes::from(vec![b' '; SMALL_BYTES + 1]))]);
        first.chain(stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok(Bytes::from(vec![b' '; bytes]))
        }))
    }

    #[tokio::test]
    async fn one_network_has_a_share_of_the_bodies_that_have_not_ended() {
        let memory = memory();
        let unfinished = |number: u128| {
            let beginning = Bytes::from(vec![b' '; UNRESERVED_BYTES + 1]);
            let chunks = stream::iter([Ok(beginning)]).chain(stream::pending());
            Box::pin(read_stream(&memory, Measure::Parsed, chunks, number))
        };
        let mut waiting = Vec::new();
        for _ in 0..BEGINNING_BYTES / SMALL_BYTES / 8 {
            let mut body = unfinished(1);
            assert!(futures::poll!(&mut body).is_pending());
            waiting.push(body);
        }
        assert_eq!(unfinished(1).await.0, Err(Some(Aborted::Overloaded)));
        let mut other = unfinished(2);
        assert!(futures::poll!(&mut other).is_pending(), "another network has its own share");
        drop(waiting);
        assert!(futures::poll!(unfinished(1)).is_pending());
        let (whole, _) = read(&memory, Measure::Parsed, vec![b' '; SMALL_BYTES]).await;
        assert_eq!(whole, Ok(SMALL_BYTES), "a body that has arrived needs none");
    }

    #[tokio::test]
    async fn small_bodies_pass_while_large_ones_wait() {
        let memory = memory();
        let large = || vec![b' '; SMALL_BYTES + 1];
        let (first, held) = read(&memory, Measure::Parsed, large()).await;
        let (second, also_held) = read(&memory, Measure::Parsed, large()).await;
        assert_eq!((first, second), (Ok(SMALL_BYTES + 1), Ok(SMALL_BYTES + 1)));
        let (third, _) = read(&memory, Measure::Parsed, large()).await;
        assert_eq!(third, Err(Some(Aborted::Overloaded)));
        let other = paced(0, 0, Duration::ZERO);
        let (other, _) = read_stream(&memory, Measure::Parsed, other, 2).await;
        assert_eq!(other, Ok(SMALL_BYTES + 1), "another store");
        let (small, _) = read(&memory, Measure::Parsed, vec![b' '; SMALL_BYTES]).await;
        assert_eq!(small, Ok(SMALL_BYTES));
        let (items, _) = read(&memory, Measure::Items, large()).await;
        assert_eq!(items, Ok(SMALL_BYTES + 1), "other memory");
        drop((held, also_held));
        assert_eq!(read(&memory, Measure::Parsed, large()).await.0, Ok(SMALL_BYTES + 1));
    }

    #[tokio::test]
    async fn a_body_that_is_declared_to_be_large_is_not_buffered_before_it_has_memory() {
        let memory = memory();
        let unfinished = || {
            let first = Bytes::from_static(b" ");
            let chunks = stream::iter([Ok(first)]).chain(stream::pending());
            Box::pin(read_declared(&memory, Measure::Parsed, Some(MIB), chunks, 1))
        };
        let both = future::join(unfinished(), unfinished());
        let third = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            unfinished().await.0
        };
        // The first two have the share of the store after one byte each.
        let (_, third) = future::join(both, third).await;
        assert_eq!(third, Err(Some(Aborted::Overloaded)));
    }

    #[tokio::test]
    async fn a_body_is_measured_by_what_it_takes_once_it_is_parsed() {
        let memory = memory();
        let objects = |bytes: usize| br#"{"":0},"#.repeat(bytes / 7);
        let half = || objects(SMALL_BYTES / 2);
        let (first, held) = read(&memory, Measure::Parsed, half()).await;
        assert!(first.is_ok());
        let (second, _) = read(&memory, Measure::Parsed, half()).await;
        assert_eq!(second, Err(Some(Aborted::Overloaded)), "of the same store");
        assert!(read(&memory, Measure::Parsed, objects(1_000)).await.0.is_ok());
        let of_store = async |number| {
            let chunk = stream::iter([Ok(Bytes::from(half()))]);
            read_stream(&memory, Measure::Parsed, chunk, number).await
        };
        assert_eq!(of_store(2).await.0, Err(Some(Aborted::Overloaded)), "no memory is left");
        drop(held);
        assert!(of_store(2).await.0.is_ok());
        let (too_many, _) = read(&memory, Measure::Parsed, objects(1 << 20)).await;
        assert_eq!(too_many, Err(Some(Aborted::TooManyValues)));
        assert!(read(&memory, Measure::Items, objects(1 << 20)).await.0.is_ok());
    }

    #[tokio::test]
    async fn a_long_body_is_measured_once_it_has_arrived() {
        let memory = memory();
        let text = || [br#"{"":0},"#.repeat(4_500), vec![b' '; SMALL_BYTES]].concat();
        let size = ParsedSize::of(&text()).estimate();
        assert!(size > FREE_BYTES && size <= PARSED_BYTES_MAX);
        let count = u128::try_from(PARSED_BYTES / size + 1).unwrap();
        let mut held = Vec::new();
        for number in 0..count {
            let chunk = stream::iter([Ok(Bytes::from(text()))]);
            held.push(read_stream(&memory, Measure::Parsed, chunk, number).await);
        }
        let last = held.pop().unwrap().0;
        assert_eq!(last, Err(Some(Aborted::Overloaded)));
        assert!(held.iter().all(|(read, _)| read.is_ok()));
    }

    #[tokio::test]
    async fn a_body_that_trickles_is_aborted() {
        for measure in [Measure::Parsed, Measure::Items] {
            let started = Instant::now();
            let trickle = paced(1_000, 1, Duration::from_millis(10));
            let (read, _) = read_stream(&memory(), measure, trickle, 1).await;
            assert_eq!(read, Err(Some(Aborted::Slow)));
            assert!(started.elapsed() < GRACE * 10, "{:?}", started.elapsed());
        }
        let never = stream::iter([Ok(Bytes::from_static(b" "))]).chain(stream::pending());
        let (read, _) = read_stream(&memory(), Measure::Items, never, 1).await;
        assert_eq!(read, Err(Some(Aborted::Slow)), "at its beginning");
    }

    #[tokio::test]
    async fn a_body_may_arrive_at_the_minimum_rate() {
        for measure in [Measure::Parsed, Measure::Items] {
            // Twice the rate, because the machine is shared.
            let bytes = usize::try_from(measure.rate_min()).unwrap() / 5;
            let slow = paced(10, bytes, Duration::from_millis(100));
            let (read, _) = read_stream(&memory(), measure, slow, 1).await;
            assert_eq!(read, Ok(SMALL_BYTES + 1 + 10 * bytes));
        }
    }
}
