//! Jobs of the queue, for platform administrators (docs/contract/admin-api.md#admin-jobs).

use std::sync::Arc;

use axum::extract::State;
use database::{Reading, Work};
use identity::{Actor, Reason};
use jobs::{JobCursor, JobFilter, JobInfo, JobState, QueueError, Revival};
use primitives::{ErrorCode, JobId, MerchantId, PageRequest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::admin_stores::ReasonRequest;
use crate::envelope::CursorEnvelope;
use crate::request::InvalidField;
use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState,
    Routes,
};

/// Jobs that are counted for a list; the total of a longer one is a lower bound.
const COUNT_MAX: i64 = 10_000;

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/admin/jobs", Access::Admin, list)
        .operation_id("adminListJobs")
        .tag("admin")
        .summary("List jobs of the queue")
        .description("Returns jobs, the earliest first; by default dead letters: jobs that do not run again by themselves.")
        .query::<JobParameters>()
        .response::<CursorEnvelope<AdminJobRecord>>(200);
    let show = Endpoint::get("/admin/jobs/{job_id}", Access::Admin, show)
        .operation_id("adminGetJob")
        .tag("admin")
        .summary("Get a job of the queue")
        .description("A job that is done no longer exists.")
        .path::<JobId>()
        .response::<Envelope<AdminJobRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let revive = Endpoint::post("/admin/jobs/{job_id}/revive", Access::Admin, revive)
        .operation_id("adminReviveJob")
        .tag("admin")
        .summary("Revive a dead letter")
        .description("Moves the job back to the queue, due at once; its attempts count from zero. If a job with the same key is queued, the dead letter is deleted.")
        .path::<JobId>()
        .body::<ReasonRequest>()
        .response::<Envelope<RevivedJob>>(200)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    let discard = Endpoint::post("/admin/jobs/{job_id}/discard", Access::Admin, discard)
        .operation_id("adminDiscardJob")
        .tag("admin")
        .summary("Delete a dead letter")
        .path::<JobId>()
        .body::<ReasonRequest>()
        .response::<Envelope<DiscardedJob>>(200)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    Routes::new().with(list).with(show).with(revive).with(discard)
}

primitives::text_enum! {
    /// Which jobs are listed.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    enum JobStateFilter {
        /// Due later, and no attempt has failed.
        Waiting,
        /// Due, and no attempt has failed.
        Due,
        /// An attempt has failed; the job is retried.
        Failing,
        /// A worker runs it.
        Running,
        /// Started and never completed; it runs again.
        Suspect,
        /// A dead letter: it does not run again by itself.
        Dead,
        /// Jobs in every state.
        Any,
    }
}

/// A page of jobs.
#[derive(Debug, Deserialize, JsonSchema)]
struct JobParameters {
    /// State of the jobs.
    #[schemars(extend("default" = "dead"))]
    state: Option<JobStateFilter>,
    /// Kind of the jobs, such as `catalog.apply_run`.
    #[schemars(length(max = 100))]
    kind: Option<String>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = 60))]
    cursor: Option<String>,
    /// Jobs per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// A job of the queue, or a dead letter.
#[derive(Debug, Serialize, JsonSchema)]
struct AdminJobRecord {
    /// ID of the job.
    job_id: JobId,
    /// Kind of the job.
    kind: String,
    /// State: `waiting`, `due`, `failing`, `running`, `suspect` or `dead`.
    state: &'static str,
    /// Merchant the job belongs to; null for a job of the platform.
    merchant_id: Option<MerchantId>,
    /// Failed attempts.
    attempts: i32,
    /// Runs that ended with the crash of the worker.
    crashes: i32,
    /// Message of the last failed attempt. It may quote text of third parties.
    last_error: Option<String>,
    /// When it was enqueued.
    enqueued_at: Timestamp,
    /// When it is due, when the lease of its worker expires, or when it became a dead letter.
    at: Timestamp,
    /// What the job is about: ids, never secrets.
    payload: Value,
}

impl From<JobInfo> for AdminJobRecord {
    fn from(job: JobInfo) -> Self {
        Self {
            job_id: job.id,
            kind: job.kind,
            state: job.state.as_str(),
            merchant_id: job.merchant,
            attempts: job.attempts,
            crashes: job.crashes,
            last_error: job.last_error,
            enqueued_at: job.enqueued_at,
            at: job.at,
            payload: job.payload,
        }
    }
}

/// A dead letter that was revived.
#[derive(Debug, Serialize, JsonSchema)]
struct RevivedJob {
    /// ID of the job.
    job_id: JobId,
    /// False if a job with the same key was queued: the dead letter was deleted instead.
    queued: bool,
}

/// A dead letter that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
struct DiscardedJob {
    /// ID of the job.
    job_id: JobId,
    /// Always true.
    discarded: bool,
}

async fn list(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<JobParameters>,
) -> Result<CursorEnvelope<AdminJobRecord>, ErrorResponse> {
    let after = parameters.cursor.map(|cursor| cursor.parse::<JobCursor>()).transpose();
    let state = parameters.state.unwrap_or(JobStateFilter::Dead);
    let filter = JobFilter {
        state: JobState::parse(state.as_str()),
        kind: parameters.kind,
        after: after.map_err(|_| InvalidField { field: "cursor" })?,
    };
    let request = PageRequest::new(None, parameters.limit);
    let limit = i64::from(request.limit());
    let reading = Reading::for_platform(&rest.database);
    let total = jobs::count(&reading, &filter, COUNT_MAX).await?;
    let found = jobs::list(&reading, &filter, limit).await?;
    let is_full = i64::try_from(found.len()).is_ok_and(|count| count == limit);
    let next = found.last().filter(|_| is_full).map(JobCursor::of);
    let meta = request.meta(total).estimated(total >= COUNT_MAX);
    Ok(CursorEnvelope::new(found.into_iter().map(AdminJobRecord::from).collect(), meta, next))
}

async fn show(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<JobId>,
) -> Result<Envelope<AdminJobRecord>, ErrorResponse> {
    let found = jobs::find(&Reading::for_platform(&rest.database), id).await?;
    Ok(Envelope::new(found.ok_or(QueueError::JobNotFound(id))?.into()))
}

async fn revive(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<JobId>,
    Json(request): Json<ReasonRequest>,
) -> Result<Envelope<RevivedJob>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let mut work = Work::for_platform(&rest.database).await?;
    let actor = Actor::Person(admin.user);
    let revival = identity::revive_job(&mut work, actor, id, &reason).await?;
    work.commit().await?;
    Ok(Envelope::new(RevivedJob { job_id: id, queued: revival == Revival::Queued }))
}

async fn discard(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<JobId>,
    Json(request): Json<ReasonRequest>,
) -> Result<Envelope<DiscardedJob>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let mut work = Work::for_platform(&rest.database).await?;
    identity::discard_job(&mut work, Actor::Person(admin.user), id, &reason).await?;
    work.commit().await?;
    Ok(Envelope::new(DiscardedJob { job_id: id, discarded: true }))
}
