//! Feed imports and their jobs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use catalog::{
    FeedColumns, FeedColumnsError, FeedFormat, FeedRun, FeedRunMode, FeedRunState, FieldError,
    NewFeedRun, RowError, RowErrorKind, Upload,
};
use database::Reading;
use futures::StreamExt;
use identity::StoreScope;
use primitives::{Details, ErrorCode, FeedRunId, PageRequest, Problem, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idempotency::IdempotencyKeyHeader;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, PageEnvelope, Path, Query, Rest, RestState, Routes,
    StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let import = Endpoint::post("/merchant/imports", Access::Store(StoreScope::Catalog), import)
        .operation_id("importFeed")
        .tag("merchant")
        .summary("Import a product feed")
        .description(
            "The body is the feed file. Its format is `format`, or else follows from Content-Type. With `mode=merge` \
             products that the file does not contain stay unchanged; with `mode=replace` they are retired after the \
             whole file is applied. With `dry_run` nothing changes and the job reports what would change.",
        )
        .query::<ImportParameters>();
    let import = FeedFormat::ALL
        .iter()
        .fold(import, |import, format| {
            import.body_stream(format.media_type(), format.description())
        })
        .upload()
        .idempotency_key()
        .response::<Envelope<JobAccepted>>(202)
        .errors(&[ErrorCode::InvalidRequest]);
    let jobs = Endpoint::get("/merchant/jobs", Access::Store(StoreScope::Catalog), jobs)
        .operation_id("listJobs")
        .tag("merchant")
        .summary("List import jobs")
        .description("Returns the imports of the store, newest first.")
        .query::<JobsParameters>()
        .response::<PageEnvelope<JobRecord>>(200);
    let job = Endpoint::get("/merchant/jobs/{job_id}", Access::Store(StoreScope::Catalog), job)
        .operation_id("getJob")
        .tag("merchant")
        .summary("Get an import job")
        .description("Returns the status, progress and counts of an import.")
        .path::<FeedRunId>()
        .response::<Envelope<JobRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let row_errors = Endpoint::get(
        "/merchant/jobs/{job_id}/faults",
        Access::Store(StoreScope::Catalog),
        row_errors,
    )
    .operation_id("listRowErrors")
    .tag("merchant")
    .summary("List row errors of an import job")
    .description(
        "Returns the rows that were rejected, left out or accepted with a warning, and why, by line.",
    )
    .path::<FeedRunId>()
    .query::<RowErrorParameters>()
    .response::<Envelope<RowErrorPage>>(200)
    .errors(&[ErrorCode::NotFound]);
    Routes::new().with(import).with(jobs).with(job).with(row_errors)
}

/// Options of an import.
#[derive(Debug, Deserialize, JsonSchema)]
struct ImportParameters {
    /// Format of the file; omitted: follows from Content-Type.
    format: Option<FeedFormat>,
    /// What happens to products that the file does not contain.
    #[schemars(extend("default" = "merge"))]
    mode: Option<FeedRunMode>,
    /// Report what would change, without changing anything.
    #[schemars(extend("default" = false))]
    dry_run: Option<bool>,
    /// With `mode=replace`: continue even if more than half of the catalog would be retired.
    #[schemars(extend("default" = false))]
    force: Option<bool>,
    /// Name of the file, shown in the list of jobs.
    #[schemars(length(max = 200))]
    file_name: Option<String>,
    /// With `format=csv`: a JSON object with the column of each field, such as
    /// `{"external_id":"Item no","name":"Title","price":"Price"}`. Omitted: columns have the names of the fields.
    #[schemars(length(max = 4000))]
    columns: Option<String>,
}

/// An accepted upload: a job applies it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobAccepted {
    /// ID of the job.
    job_id: FeedRunId,
    /// Status of the job.
    status: FeedRunState,
    /// URL of the job, to poll for its status.
    status_url: String,
}

async fn import(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ImportParameters>,
    idempotency_key: IdempotencyKeyHeader,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Envelope<JobAccepted>), ErrorResponse> {
    let format = parameters.format.or_else(|| format_of(&headers)).ok_or(UnknownFormat)?;
    let columns = match parameters.columns.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(_) if format != FeedFormat::Csv => return Err(InvalidColumns(None).into()),
        Some(text) => Some(FeedColumns::parse(text).map_err(|error| InvalidColumns(Some(error)))?),
        None => None,
    };
    let new_run = NewFeedRun {
        format,
        mode: parameters.mode.unwrap_or(FeedRunMode::Merge),
        dry_run: parameters.dry_run.unwrap_or(false),
        force: parameters.force.unwrap_or(false),
        file_name: parameters.file_name.map(|name| catalog::one_line(&name, 200).into_owned()),
        columns,
    };
    receive_feed(&rest, &caller, &new_run, &idempotency_key, &headers, body).await
}

/// Returns the format that the Content-Type names.
fn format_of(headers: &HeaderMap) -> Option<FeedFormat> {
    FeedFormat::from_media_type(headers.get(CONTENT_TYPE)?.to_str().ok()?)
}

/// Stores the body as it arrives and enqueues a job that applies it.
pub(crate) async fn receive_feed(
    rest: &Rest,
    caller: &StoreCaller,
    new_run: &NewFeedRun,
    idempotency_key: &IdempotencyKeyHeader,
    headers: &HeaderMap,
    body: Body,
) -> Result<(StatusCode, Envelope<JobAccepted>), ErrorResponse> {
    let NewFeedRun { format, mode, dry_run, force, file_name, columns } = new_run;
    let request = (format, mode, dry_run, force, file_name);
    let idempotency_key = match columns {
        None => idempotency_key.key_of_store(caller, &request)?,
        Some(columns) => idempotency_key.key_of_store(caller, &(request, columns))?,
    };
    let merchant = caller.merchant;
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length = length.and_then(|length| length.parse().ok());
    let uploads = &rest.uploads;
    let mut upload = Upload::begin(&rest.database, uploads, merchant, new_run, length).await?;
    let mut stream = body.into_data_stream();
    while let Some(bytes) = stream.next().await {
        let Ok(bytes) = bytes else {
            upload.abort("the upload was interrupted, too slow or too large").await?;
            return Err(UploadAborted.into());
        };
        if let Err(error) = upload.write(&bytes).await {
            upload.abort(&error.to_string()).await?;
            return Err(error.into());
        }
    }
    let (job_id, status) = match idempotency_key {
        None => (upload.finish().await?, FeedRunState::Queued),
        // A repetition returns the first job as it is now.
        Some(key) => {
            let job_id = upload.finish_once(key).await?;
            let reading = Reading::for_store(&rest.database, merchant)?;
            (job_id, catalog::feed_run(&reading, merchant, job_id).await?.state)
        }
    };
    let status_url = format!("{}/api/v1/merchant/jobs/{job_id}", rest.site_url);
    let accepted = JobAccepted { job_id, status, status_url };
    Ok((StatusCode::ACCEPTED, Envelope::new(accepted)))
}

/// An import job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobRecord {
    /// ID of the job.
    job_id: FeedRunId,
    /// Status of the job.
    status: FeedRunState,
    /// Fraction of the work that is done, 0 to 1.
    progress: f64,
    /// Whether the whole file was applied and all other products were retired, so that the catalog equals the file.
    complete: bool,
    /// Why the job ended as it did; omitted if there is nothing to explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Format of the file.
    format: FeedFormat,
    /// What happens to products that the file does not contain.
    mode: FeedRunMode,
    /// Whether the job only reports what would change.
    dry_run: bool,
    /// Name of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    /// Size of the file, in bytes.
    bytes_total: i64,
    /// Number of rows in the file; omitted until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_total: Option<i64>,
    /// Rows processed so far.
    rows_done: i64,
    /// Products created.
    created: i64,
    /// Products updated.
    updated: i64,
    /// Products that already had the same data.
    unchanged: i64,
    /// Products left unchanged because they were pushed after the upload of this file.
    outdated: i64,
    /// Rows rejected; `GET /merchant/jobs/{job_id}/faults` lists them.
    failed: i64,
    /// Rows left out: products that are not for sale, and rows with too few fields. `faults?kind=skipped` lists them.
    skipped: i64,
    /// Warnings about products that were accepted, and about the file. `faults?kind=warning` lists them.
    warnings: i64,
    /// The first errors, skipped rows and warnings, 20 of each at most; only in the response of a single job.
    #[serde(skip_serializing_if = "Option::is_none")]
    issues: Option<Vec<RowErrorRecord>>,
    /// Listed products that the file does not contain; omitted until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<i64>,
    /// Products retired.
    retired: i64,
    /// Start of the upload.
    started_at: Timestamp,
    /// End of the upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    received_at: Option<Timestamp>,
    /// End of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Timestamp>,
    /// When search could find the result of the job; null until then, and for a job that changed nothing.
    searchable_at: Option<Timestamp>,
}

impl From<FeedRun> for JobRecord {
    fn from(run: FeedRun) -> Self {
        Self {
            job_id: run.id,
            status: run.state,
            progress: (run.progress() * 1_000.0).round() / 1_000.0,
            complete: run.complete,
            reason: run.reason,
            format: run.request.format,
            mode: run.request.mode,
            dry_run: run.request.dry_run,
            file_name: run.request.file_name,
            bytes_total: run.bytes_total,
            rows_total: run.rows_total,
            rows_done: run.counts.rows,
            created: run.counts.created,
            updated: run.counts.updated,
            unchanged: run.counts.unchanged,
            outdated: run.counts.outdated,
            failed: run.counts.failed,
            skipped: run.counts.skipped,
            warnings: run.counts.warnings,
            issues: None,
            absent: run.absent,
            retired: run.counts.retired,
            started_at: run.started_at,
            received_at: run.received_at,
            finished_at: run.finished_at,
            searchable_at: run.searchable_at,
        }
    }
}

/// A page of jobs.
#[derive(Debug, Deserialize, JsonSchema)]
struct JobsParameters {
    /// Page number, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Jobs per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

async fn jobs(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<JobsParameters>,
) -> Result<PageEnvelope<JobRecord>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let page = PageRequest::new(parameters.page, parameters.limit);
    let (runs, total) = catalog::feed_runs(&reading, caller.merchant, page).await?;
    Ok(PageEnvelope::new(runs.into_iter().map(JobRecord::from).collect(), page.meta(total)))
}

async fn job(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<FeedRunId>,
) -> Result<Envelope<JobRecord>, ErrorResponse> {
    let (reading, merchant) =
        (Reading::for_store(&rest.database, caller.merchant)?, caller.merchant);
    let run = catalog::feed_run(&reading, merchant, id).await?;
    let mut issues = Vec::new();
    let counts = run.counts;
    let kinds = [
        (RowErrorKind::Error, counts.failed),
        (RowErrorKind::Skipped, counts.skipped),
        (RowErrorKind::Warning, counts.warnings),
    ];
    for (kind, _) in kinds.into_iter().filter(|(_, count)| *count > 0) {
        let found = catalog::row_errors(&reading, merchant, id, Some(kind), 0, ISSUES_MAX).await?;
        let found = found.into_iter().take(usize::try_from(ISSUES_MAX).unwrap_or(0));
        issues.extend(found.map(RowErrorRecord::from));
    }
    Ok(Envelope::new(JobRecord { issues: Some(issues), ..run.into() }))
}

/// Issues of each kind in a job.
const ISSUES_MAX: i64 = 20;

/// A page of row errors.
#[derive(Debug, Deserialize, JsonSchema)]
struct RowErrorParameters {
    /// Which rows to return.
    #[schemars(extend("default" = "error"))]
    kind: Option<RowErrorKind>,
    /// Return rows after this line.
    #[schemars(extend("default" = 0))]
    after_line: Option<i64>,
    /// Errors per page, 1 to 1000. All errors of one line are on the same page, which may therefore exceed the limit.
    #[schemars(extend("default" = 100))]
    limit: Option<i64>,
}

/// Rejected rows.
#[derive(Debug, Serialize, JsonSchema)]
struct RowErrorPage {
    /// Total number of rejected rows.
    failed: i64,
    /// Total number of rows left out.
    skipped: i64,
    /// Total number of warnings.
    warnings: i64,
    /// Errors, by line.
    faults: Vec<RowErrorRecord>,
    /// The `after_line` of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after_line: Option<i64>,
}

/// An error of a row.
#[derive(Debug, Serialize, JsonSchema)]
struct RowErrorRecord {
    /// Whether the row was rejected or left out, or the product was accepted with a warning.
    kind: RowErrorKind,
    /// Line in the file, from 1.
    line: i64,
    /// The merchant's identifier of the product; omitted if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    /// The invalid field and the reason.
    #[serde(flatten)]
    error: FieldError,
}

impl From<RowError> for RowErrorRecord {
    fn from(row: RowError) -> Self {
        Self { kind: row.kind, line: row.line, external_id: row.external_id, error: row.error }
    }
}

async fn row_errors(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<FeedRunId>,
    Query(parameters): Query<RowErrorParameters>,
) -> Result<Envelope<RowErrorPage>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let run = catalog::feed_run(&reading, caller.merchant, id).await?;
    let limit = parameters.limit.unwrap_or(100).clamp(1, 1_000);
    let after = parameters.after_line.unwrap_or(0);
    let kind = parameters.kind.unwrap_or(RowErrorKind::Error);
    let rows = catalog::row_errors(&reading, caller.merchant, id, Some(kind), after, limit).await?;
    let is_full = i64::try_from(rows.len()).unwrap_or(0) >= limit;
    let last = rows.last().map(|row| row.line);
    let faults: Vec<RowErrorRecord> = rows.into_iter().map(RowErrorRecord::from).collect();
    let next_after_line = last.filter(|_| is_full);
    let (failed, skipped) = (run.counts.failed, run.counts.skipped);
    let warnings = run.counts.warnings;
    Ok(Envelope::new(RowErrorPage { failed, skipped, warnings, faults, next_after_line }))
}

/// Neither `format` nor Content-Type names a format.
#[derive(Debug, thiserror::Error)]
#[error("the format of the file is unknown: neither format nor Content-Type names one")]
struct UnknownFormat;

impl Problem for UnknownFormat {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "format");
        details.insert(
            "allowed",
            FeedFormat::ALL.iter().map(|format| format.as_str()).collect::<Vec<_>>(),
        );
        details.insert(
            "hint",
            "add a format, such as ?format=google_xml, or send the Content-Type of the file",
        );
    }
}

/// `columns` is invalid, or sent for another format than `csv`.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.map_or_else(|| String::from("columns can only be sent with format=csv"), |error| error.to_string()))]
struct InvalidColumns(Option<FeedColumnsError>);

impl Problem for InvalidColumns {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "columns");
        details.insert("allowed", FeedColumns::FIELDS.to_vec());
        details.insert("hint", "send format=csv and columns={\"external_id\":\"…\",\"name\":\"…\",\"price\":\"…\"}, URL-encoded");
    }
}

/// The connection ended before the body did, or the body is too large.
#[derive(Debug, thiserror::Error)]
#[error("the upload was interrupted or exceeded the size limit")]
struct UploadAborted;

impl Problem for UploadAborted {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }

    fn details(&self, details: &mut Details) {
        details
            .insert("hint", "upload the file again; split a larger one into parts with mode=merge");
    }
}
