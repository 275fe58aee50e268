//! Bounds the memory of request bodies over all requests of the process.
//!
//! A body is buffered and parsed as a whole, and parsed JSON takes up to a hundred times the memory of its text. Nearly all
//! bodies are small and pass freely. Others wait for their part of a fixed amount of memory, which they hold until the
//! request is answered: a body of up to 64 KiB for what it takes once it is parsed, a larger one for one of a few places.
//! One client address never has all places, and a body that would take too much by itself is refused.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures::StreamExt;
use futures::stream::try_unfold;
use limits::Caller;
use primitives::ClientAddress;
use schema::ParsedSize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::upload::{AbortReason, Aborted};

/// A body of this declared length is not measured: parsed, it takes at most 115 times as much.
pub(super) const UNMEASURED_BYTES: u64 = 1024;
/// A body that takes no more than this once it is parsed passes without waiting.
const FREE_BYTES: usize = 128 * 1024;
/// A longer body takes a place.
const SMALL_BYTES: usize = 64 * 1024;
/// Memory of all bodies without a place, once they are parsed.
const PARSED_TOTAL_BYTES: usize = 16 * 1024 * 1024;
/// Memory of one body, once it is parsed. A longer one than [`SMALL_BYTES`] may take this much.
const PARSED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bodies in each kind of place at once, of all addresses and of one.
const PLACES: usize = 4;
const PLACES_PER_ADDRESS: usize = 2;
/// Maximum time to wait for memory.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum time in which a body with a place has to arrive.
const BODY_MAX: Duration = Duration::from_secs(15);
const LARGE_BODY_MAX: Duration = Duration::from_mins(1);
/// Maximum time in which the rest of a refused body is read and discarded.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// The memory for bodies of a process.
#[derive(Debug, Clone)]
pub(crate) struct BodyMemory {
    /// In KiB.
    parsed: Arc<Semaphore>,
    places: Places,
    /// Places of bodies that are larger than those of other requests.
    large_places: Places,
    /// Maximum time to wait for memory.
    wait_max: Duration,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self::new(WAIT_MAX)
    }
}

/// Memory that a request holds until this value is dropped.
#[derive(Debug, Default)]
pub(super) struct Reservation(Mutex<(Option<OwnedSemaphorePermit>, Option<Place>)>);

/// How a body is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Parsed as a whole.
    Parsed,
    /// Parsed item by item, so that a large one takes a few times the memory of its text.
    Items,
}

impl BodyMemory {
    fn new(wait_max: Duration) -> Self {
        Self {
            parsed: Arc::new(Semaphore::new(PARSED_TOTAL_BYTES / 1024)),
            places: Places::new(PLACES, PLACES_PER_ADDRESS),
            large_places: Places::new(PLACES, PLACES_PER_ADDRESS),
            wait_max,
        }
    }

    /// Returns the body, which is read on only while its memory is reserved.
    pub(super) fn reserve_for(
        &self,
        body: Body,
        measure: Measure,
        address: Option<ClientAddress>,
        reservation: &Arc<Reservation>,
        abort_reason: &Arc<AbortReason>,
    ) -> Body {
        let reserving = ReservingBody {
            body: body.into_data_stream(),
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            size: ParsedSize::default(),
            stage: Stage::Beginning,
            memory: self.clone(),
            measure,
            address,
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
    /// Passed on as it arrives, which has to end in time.
    Arriving(Instant),
    Ended,
}

/// A body that waits for memory.
struct ReservingBody {
    body: BodyDataStream,
    buffered: VecDeque<Bytes>,
    buffered_bytes: usize,
    size: ParsedSize,
    stage: Stage,
    memory: BodyMemory,
    measure: Measure,
    address: Option<ClientAddress>,
    reservation: Arc<Reservation>,
    abort_reason: Arc<AbortReason>,
}

impl ReservingBody {
    /// Returns the next chunk and the rest of the body.
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, axum::BoxError> {
        if let Stage::Beginning = self.stage {
            self.begin().await?;
        }
        if let Some(chunk) = self.buffered.pop_front() {
            return Ok(Some((chunk, self)));
        }
        let Stage::Arriving(deadline) = self.stage else { return Ok(None) };
        let chunk = tokio::time::timeout_at(deadline, self.body.next()).await;
        match chunk.map_err(|_| self.abort_reason.set(Aborted::Slow))? {
            None => Ok(None),
            Some(chunk) => {
                let chunk = chunk?;
                self.measure(&chunk).await?;
                Ok(Some((chunk, self)))
            }
        }
    }

    /// Buffers the body until it ends or is not small, and reserves its memory.
    async fn begin(&mut self) -> Result<(), axum::BoxError> {
        while self.buffered_bytes <= SMALL_BYTES {
            let Some(chunk) = self.body.next().await else {
                self.stage = Stage::Ended;
                return self.reserve_parsed().await;
            };
            let chunk = chunk?;
            self.measure(&chunk).await?;
            self.buffered_bytes += chunk.len();
            self.buffered.push_back(chunk);
        }
        let (places, time_max) = match self.measure {
            Measure::Parsed => (&self.memory.places, BODY_MAX),
            Measure::Items => (&self.memory.large_places, LARGE_BODY_MAX),
        };
        let place = tokio::time::timeout(self.memory.wait_max, places.take(self.address)).await;
        let Some(place) = place.ok().flatten() else {
            return Err(self.refuse(Aborted::Overloaded).await.into());
        };
        self.reservation.0.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(place);
        self.stage = Stage::Arriving(Instant::now() + time_max);
        Ok(())
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
        self.buffered.clear();
        *self.reservation.0.lock().unwrap_or_else(PoisonError::into_inner) = (None, None);
        let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
        let _ = tokio::time::timeout(DRAIN_MAX, rest).await;
        self.abort_reason.set(aborted)
    }

    /// Reserves the memory that a small body takes once it is parsed.
    async fn reserve_parsed(&mut self) -> Result<(), axum::BoxError> {
        let bytes = self.size.estimate().min(PARSED_BYTES_MAX);
        if bytes <= FREE_BYTES {
            return Ok(());
        }
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let parsed = Arc::clone(&self.memory.parsed).acquire_many_owned(kib);
        let Ok(Ok(permit)) = tokio::time::timeout(self.memory.wait_max, parsed).await else {
            return Err(self.refuse(Aborted::Overloaded).await.into());
        };
        self.reservation.0.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(permit);
        Ok(())
    }
}

/// A number of places, of which one address takes some at most.
#[derive(Debug, Clone)]
struct Places {
    all: Arc<Semaphore>,
    per_address: usize,
    /// Addresses that have a place or wait for one.
    addresses: Arc<Mutex<HashMap<Caller, Arc<Semaphore>>>>,
}

/// A place, released when dropped.
#[derive(Debug)]
struct Place {
    _any: OwnedSemaphorePermit,
    _own: Option<PlaceOfAddress>,
}

impl Places {
    fn new(count: usize, per_address: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(count)), per_address, addresses: Arc::default() }
    }

    /// Waits for a place. The semaphores are never closed, so that there is one in the end.
    async fn take(&self, address: Option<ClientAddress>) -> Option<Place> {
        let own = match address {
            Some(address) => Some(self.take_of(Caller::address(address)).await?),
            None => None,
        };
        let any = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Place { _any: any, _own: own })
    }

    /// Waits for one of the places of an address.
    async fn take_of(&self, address: Caller) -> Option<PlaceOfAddress> {
        let semaphore = {
            let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Semaphore::new(self.per_address));
            Arc::clone(addresses.entry(address.clone()).or_insert_with(new))
        };
        // Created before the wait, so that an address that gives up is forgotten too.
        let mut place = PlaceOfAddress { places: self.clone(), address, permit: None };
        place.permit = Some(semaphore.acquire_owned().await.ok()?);
        Some(place)
    }
}

/// A place of an address. When the last one is dropped the address is forgotten.
#[derive(Debug)]
struct PlaceOfAddress {
    places: Places,
    address: Caller,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for PlaceOfAddress {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut addresses = self.places.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has the only reference: nobody has a place of this address or waits for one.
        if addresses.get(&self.address).is_some_and(|it| Arc::strong_count(it) == 1) {
            addresses.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(20);

    async fn take(places: &Places, last: u8) -> Option<Place> {
        tokio::time::timeout(WAIT, places.take(address(last))).await.ok().flatten()
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the callers pass it")]
    fn address(last: u8) -> Option<ClientAddress> {
        Some(ClientAddress([192, 0, 2, last].into()))
    }

    #[tokio::test]
    async fn one_address_never_has_all_places() {
        let places = Places::new(4, 2);
        let first = take(&places, 1).await.unwrap();
        let _second = take(&places, 1).await.unwrap();
        assert!(take(&places, 1).await.is_none());
        let _third = take(&places, 2).await.unwrap();
        let _fourth = take(&places, 3).await.unwrap();
        assert!(take(&places, 4).await.is_none());
        drop(first);
        assert!(take(&places, 4).await.is_some());
    }

    #[tokio::test]
    async fn addresses_without_a_place_are_forgotten() {
        let places = Places::new(1, 1);
        let place = take(&places, 1).await;
        assert!(take(&places, 1).await.is_none() && take(&places, 2).await.is_none());
        drop(place);
        assert!(places.addresses.lock().unwrap().is_empty());
    }

    /// Reads a body to its end.
    async fn read(
        memory: &BodyMemory,
        measure: Measure,
        text: Vec<u8>,
    ) -> (Result<usize, Option<Aborted>>, Arc<Reservation>) {
        let (reservation, reason) = (Arc::default(), Arc::default());
        let chunks: Vec<Result<Bytes, Aborted>> =
            text.chunks(16 * 1024).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let body = Body::from_stream(futures::stream::iter(chunks));
        let body = memory.reserve_for(body, measure, address(1), &reservation, &reason);
        let bytes = axum::body::to_bytes(body, usize::MAX).await;
        (bytes.map(|bytes| bytes.len()).map_err(|_| reason.read()), reservation)
    }

    #[tokio::test]
    async fn small_bodies_pass_while_large_ones_wait() {
        let memory = BodyMemory::new(WAIT);
        let large = || vec![b' '; SMALL_BYTES + 1];
        let (first, held) = read(&memory, Measure::Parsed, large()).await;
        let (second, also_held) = read(&memory, Measure::Parsed, large()).await;
        assert_eq!((first, second), (Ok(SMALL_BYTES + 1), Ok(SMALL_BYTES + 1)));
        let (third, _) = read(&memory, Measure::Parsed, large()).await;
        assert_eq!(third, Err(Some(Aborted::Overloaded)));
        let (small, _) = read(&memory, Measure::Parsed, vec![b' '; SMALL_BYTES]).await;
        assert_eq!(small, Ok(SMALL_BYTES));
        let (items, _) = read(&memory, Measure::Items, large()).await;
        assert_eq!(items, Ok(SMALL_BYTES + 1), "other places");
        drop((held, also_held));
        assert_eq!(read(&memory, Measure::Parsed, large()).await.0, Ok(SMALL_BYTES + 1));
    }

    #[tokio::test]
    async fn a_body_is_measured_by_what_it_takes_once_it_is_parsed() {
        let memory = BodyMemory::new(WAIT);
        let objects = |bytes: usize| br#"{"":0},"#.repeat(bytes / 7);
        let (first, held) = read(&memory, Measure::Parsed, objects(SMALL_BYTES)).await;
        let (second, also_held) = read(&memory, Measure::Parsed, objects(SMALL_BYTES)).await;
        assert!(first.is_ok() && second.is_ok());
        let (third, _) = read(&memory, Measure::Parsed, objects(SMALL_BYTES)).await;
        assert_eq!(third, Err(Some(Aborted::Overloaded)));
        assert!(read(&memory, Measure::Parsed, objects(1_000)).await.0.is_ok());
        drop((held, also_held));
        let (too_many, _) = read(&memory, Measure::Parsed, objects(1 << 20)).await;
        assert_eq!(too_many, Err(Some(Aborted::TooManyValues)));
        assert!(read(&memory, Measure::Items, objects(1 << 20)).await.0.is_ok());
    }
}
