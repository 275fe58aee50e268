//! Feeds, and how far they are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use catalog::{Fault, FeedFormat, NewRun, Run, RunMode, RunState, Upload};
use database::Reading;
use futures::StreamExt;
use primitives::{Details, ErrorCode, JobId, MerchantId, PageRequest, Problem, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::JobPart;
use crate::{Access, Endpoint, Many, One, Opened, Path, Query, Refusal, Rest, Routes, StoreCaller};

pub(crate) fn endpoints() -> Routes<Opened> {
    let import = Endpoint::post("/merchant/imports", Access::Store, import)
        .name("importFeed")
        .tag("merchant")
        .summary("Import a feed")
        .explanation(
            "The file is the body. Its format follows from `format`, else from Content-Type. `mode=merge` leaves \
             products alone that the file does not name; `mode=replace` retires them once all of it is in. With \
             `dry_run` nothing changes, and the job says what would.",
        )
        .query::<ImportParameters>()
        .body_stream("application/xml", "Google Merchant, RSS 2.0 or Atom.")
        .body_stream("text/tab-separated-values", "Google Merchant, tab-separated.")
        .body_stream("text/csv", "Shopify's product export.")
        .body_stream("application/json", "The Agentic Commerce Protocol's feed.")
        .body_stream("application/x-ndjson", "One product a line, as in `PATCH /merchant/products`.")
        .upload()
        .answer::<One<Accepted>>(202)
        .errors(&[ErrorCode::InvalidRequest]);
    let jobs = Endpoint::get("/merchant/jobs", Access::Store, jobs)
        .name("listJobs")
        .tag("merchant")
        .summary("Feeds that came in, the newest first")
        .query::<JobsParameters>()
        .answer::<Many<JobRecord>>(200);
    let job = Endpoint::get("/merchant/jobs/{job_id}", Access::Store, job)
        .name("readJob")
        .tag("merchant")
        .summary("How far a job is")
        .path::<JobPart>()
        .answer::<One<JobRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let faults = Endpoint::get("/merchant/jobs/{job_id}/faults", Access::Store, faults)
        .name("listFaults")
        .tag("merchant")
        .summary("The rows that were not taken, and why")
        .path::<JobPart>()
        .query::<FaultParameters>()
        .answer::<One<FaultPage>>(200)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(import).with(jobs).with(job).with(faults)
}

/// What is imported, and how.
#[derive(Debug, Deserialize, JsonSchema)]
struct ImportParameters {
    /// The format of the file. Left out: follows from Content-Type.
    format: Option<FeedFormat>,
    /// What the file says about products it does not name.
    #[schemars(extend("default" = "merge"))]
    mode: Option<RunMode>,
    /// Only find out what would happen.
    #[schemars(extend("default" = false))]
    dry_run: Option<bool>,
    /// With `mode=replace`: go on even if more than half of the catalog would be retired.
    #[schemars(extend("default" = false))]
    force: Option<bool>,
    /// What the file is called, for the list of jobs.
    #[schemars(length(max = 200))]
    file_name: Option<String>,
}

/// The file is in; a job will apply it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Accepted {
    /// The job.
    job_id: JobId,
    /// How far it is.
    status: RunState,
    /// Where to follow it.
    status_url: String,
}

async fn import(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ImportParameters>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, One<Accepted>), Refusal> {
    let format = parameters.format.or_else(|| format_of(&headers)).ok_or(UnknownFormat)?;
    let asked = NewRun {
        format,
        mode: parameters.mode.unwrap_or(RunMode::Merge),
        dry_run: parameters.dry_run.unwrap_or(false),
        force: parameters.force.unwrap_or(false),
        file_name: parameters.file_name.map(|name| catalog::one_line(&name, 200).into_owned()),
    };
    take_in(&rest, caller.merchant, &asked, body).await
}

/// The format a media type stands for.
fn format_of(headers: &HeaderMap) -> Option<FeedFormat> {
    let media = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    match media.split(';').next()?.trim().to_ascii_lowercase().as_str() {
        "application/x-ndjson" | "application/jsonl" => Some(FeedFormat::Ndjson),
        "application/xml" | "text/xml" | "application/rss+xml" | "application/atom+xml" => {
            Some(FeedFormat::GoogleXml)
        }
        "text/tab-separated-values" => Some(FeedFormat::GoogleTsv),
        "text/csv" => Some(FeedFormat::ShopifyCsv),
        "application/json" => Some(FeedFormat::AcpJson),
        _ => None,
    }
}

/// Keeps the body as it comes and hands it to a job.
pub(crate) async fn take_in(
    rest: &Rest,
    merchant: MerchantId,
    asked: &NewRun,
    body: Body,
) -> Result<(StatusCode, One<Accepted>), Refusal> {
    let mut upload = Upload::begin(&rest.database, merchant, asked).await?;
    let mut stream = body.into_data_stream();
    while let Some(bytes) = stream.next().await {
        let Ok(bytes) = bytes else {
            upload.break_off("the upload broke off, or was larger than allowed").await?;
            return Err(BrokenOff.into());
        };
        upload.write(&bytes).await?;
    }
    let job_id = upload.finish().await?;
    let status_url = format!("{}/api/v1/merchant/jobs/{job_id}", rest.site_url);
    let accepted = Accepted { job_id, status: RunState::Queued, status_url };
    Ok((StatusCode::ACCEPTED, One::new(accepted)))
}

/// A job, as it stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobRecord {
    /// The job.
    job_id: JobId,
    /// How far it is.
    status: RunState,
    /// The part that is done, 0 to 1.
    progress: f64,
    /// Whether the whole file was read and applied and the rest retired: the catalog is what the file says.
    complete: bool,
    /// Why it ended as it did, if that needs saying.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The format of the file.
    format: FeedFormat,
    /// What the file says about products it does not name.
    mode: RunMode,
    /// Nothing is changed.
    dry_run: bool,
    /// What the file is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    /// The size of the file.
    bytes_total: i64,
    /// Rows in the file, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_total: Option<i64>,
    /// Rows that are dealt with.
    rows_done: i64,
    /// Products that were new.
    created: i64,
    /// Products that differed.
    updated: i64,
    /// Products that were there in just this form.
    unchanged: i64,
    /// Products that were pushed after the file came in, and stay as they are.
    outdated: i64,
    /// Rows that were not taken; `/faults` says why.
    failed: i64,
    /// Listed products the file does not name, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<i64>,
    /// Products that were retired.
    retired: i64,
    /// When the file began to come in.
    started_at: Timestamp,
    /// When all of it had come in.
    #[serde(skip_serializing_if = "Option::is_none")]
    received_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Timestamp>,
}

impl From<Run> for JobRecord {
    fn from(run: Run) -> Self {
        Self {
            job_id: run.id,
            status: run.state,
            progress: (run.progress() * 1_000.0).round() / 1_000.0,
            complete: run.complete,
            reason: run.reason,
            format: run.asked.format,
            mode: run.asked.mode,
            dry_run: run.asked.dry_run,
            file_name: run.asked.file_name,
            bytes_total: run.bytes_total,
            rows_total: run.rows_total,
            rows_done: run.tally.rows,
            created: run.tally.created,
            updated: run.tally.updated,
            unchanged: run.tally.unchanged,
            outdated: run.tally.outdated,
            failed: run.tally.failed,
            absent: run.absent,
            retired: run.tally.retired,
            started_at: run.started_at,
            received_at: run.received_at,
            finished_at: run.finished_at,
        }
    }
}

/// Which jobs.
#[derive(Debug, Deserialize, JsonSchema)]
struct JobsParameters {
    /// Which page, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Jobs on a page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

async fn jobs(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<JobsParameters>,
) -> Result<Many<JobRecord>, Refusal> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let page = PageRequest::new(parameters.page, parameters.limit);
    let (runs, total) = catalog::runs(&reading, caller.merchant, page).await?;
    Ok(Many::new(runs.into_iter().map(JobRecord::from).collect(), page.meta(total)))
}

async fn job(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(JobPart(id)): Path<JobPart>,
) -> Result<One<JobRecord>, Refusal> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    Ok(One::new(catalog::run(&reading, caller.merchant, id).await?.into()))
}

/// Which rows.
#[derive(Debug, Deserialize, JsonSchema)]
struct FaultParameters {
    /// Rows behind this line.
    #[schemars(extend("default" = 0))]
    after_line: Option<i64>,
    /// Faults on a page, 1 to 1000. Those of one line come together, so there may be a few more.
    #[schemars(extend("default" = 100))]
    limit: Option<i64>,
}

/// Rows that were not taken.
#[derive(Debug, Serialize, JsonSchema)]
struct FaultPage {
    /// Rows that were not taken, in all.
    failed: i64,
    /// Why, by line.
    faults: Vec<RowFault>,
    /// Ask again with this `after_line`; left out at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after_line: Option<i64>,
}

/// Why a row was not taken.
#[derive(Debug, Serialize, JsonSchema)]
struct RowFault {
    /// Where it stands in the file, from 1.
    line: i64,
    /// The product it is about, where that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    /// What is wrong.
    #[serde(flatten)]
    fault: Fault,
}

async fn faults(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(JobPart(id)): Path<JobPart>,
    Query(parameters): Query<FaultParameters>,
) -> Result<One<FaultPage>, Refusal> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let run = catalog::run(&reading, caller.merchant, id).await?;
    let limit = parameters.limit.unwrap_or(100).clamp(1, 1_000);
    let after = parameters.after_line.unwrap_or(0);
    let rows = catalog::row_faults(&reading, caller.merchant, id, after, limit).await?;
    let is_full = i64::try_from(rows.len()).unwrap_or(0) >= limit;
    let last = rows.last().map(|row| row.line);
    let faults: Vec<RowFault> = rows
        .into_iter()
        .map(|row| RowFault { line: row.line, external_id: row.external_id, fault: row.fault })
        .collect();
    let next_after_line = last.filter(|_| is_full);
    Ok(One::new(FaultPage { failed: run.tally.failed, faults, next_after_line }))
}

/// Neither the query nor the media type names a format.
#[derive(Debug, thiserror::Error)]
#[error("the format of the file is not known")]
struct UnknownFormat;

impl Problem for UnknownFormat {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "format");
        details.insert("allowed", FeedFormat::ALL.map(|(_, name)| name).to_vec());
        details.insert("hint", "add ?format=google_xml, or send the Content-Type of the file");
    }
}

/// The body ended before its end, or was larger than allowed.
#[derive(Debug, thiserror::Error)]
#[error("the upload broke off, or was larger than this endpoint takes")]
struct BrokenOff;

impl Problem for BrokenOff {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }

    fn details(&self, details: &mut Details) {
        details.insert("hint", "send the file again; a larger one in parts, with mode=merge");
    }
}
