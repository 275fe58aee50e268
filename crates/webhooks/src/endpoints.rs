//! Verbs: creating, listing, changing and deleting endpoints, and rotating their secrets.

use std::time::Duration;

use database::{Reading, Work};
use identity::{Actor, AuditAction};
use jobs::IdempotencyKey;
use primitives::{EndpointId, MerchantId};
use serde_json::{Value, json};

use crate::claim::{claimed_earlier, record_claim};
use crate::endpoint::{authority, checked_description, checked_kinds};
use crate::purge::DeleteDeliveries;
use crate::settings_endpoint::touch_settings;
use crate::table::endpoint::Selection;
use crate::{
    DisabledReason, Endpoint, EndpointError, EndpointPatch, EndpointStatus, EndpointUrl, EventKind,
    NewEndpoint, SigningSecret, Webhooks, table,
};

/// For how long requests are signed with the former secret too (docs/contract/webhooks.md#signature-per-attempt).
pub(crate) const ROTATION_OVERLAP: Duration = Duration::from_hours(24);

/// An endpoint, and the secret that it was just given.
#[derive(Debug)]
pub struct EndpointWithSecret {
    pub endpoint: Endpoint,
    /// `None` if the request repeats an earlier one with the same idempotency key: a secret is returned once.
    pub secret: Option<SigningSecret>,
}

impl Webhooks {
    /// Creates an endpoint. Returns `TooMany` if the store has as many as it may have.
    pub async fn create(
        &self,
        merchant: MerchantId,
        actor: Actor,
        new: NewEndpoint,
        key: Option<&IdempotencyKey>,
    ) -> Result<EndpointWithSecret, EndpointError> {
        let description = checked_description(&new.description)?;
        let kinds = new.kinds.unwrap_or_else(|| EventKind::DEFAULT.iter().copied().collect());
        let kinds = checked_kinds(kinds)?;
        // A repeated request returns the endpoint, even if its host cannot be resolved any more.
        if let Some(found) = self.created_earlier(merchant, key).await? {
            return Ok(found);
        }
        let url = self.check_url("url", &new.url).await?;
        let mut work = Work::for_store(&self.database, merchant).await?;
        if let Some(id) = claimed_earlier(&mut work, key).await? {
            work.rollback().await?;
            return self.without_secret(merchant, id).await;
        }
        let endpoint = Endpoint { description, kinds, ..Endpoint::fresh(&mut work, &url) };
        let secret = self.insert(&mut work, merchant, actor, &endpoint).await?;
        record_claim(&mut work, key, endpoint.id).await?;
        work.commit().await?;
        Ok(EndpointWithSecret { endpoint, secret: Some(secret) })
    }

    /// Returns the endpoint that an earlier request with the same idempotency key created.
    async fn created_earlier(
        &self,
        merchant: MerchantId,
        key: Option<&IdempotencyKey>,
    ) -> Result<Option<EndpointWithSecret>, EndpointError> {
        if key.is_none() {
            return Ok(None);
        }
        let mut work = Work::for_store(&self.database, merchant).await?;
        let earlier = claimed_earlier(&mut work, key).await?;
        work.rollback().await?;
        match earlier {
            Some(id) => Ok(Some(self.without_secret(merchant, id).await?)),
            None => Ok(None),
        }
    }

    async fn without_secret(
        &self,
        merchant: MerchantId,
        id: EndpointId,
    ) -> Result<EndpointWithSecret, EndpointError> {
        Ok(EndpointWithSecret { endpoint: self.find(merchant, id).await?, secret: None })
    }

    /// Returns the endpoints of a store, the oldest first.
    pub async fn list(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, EndpointError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        reading
            .run(async |sql| Ok(table::endpoint::select(sql, merchant, Selection::All).await?))
            .await
    }

    /// Returns an endpoint of a store.
    pub async fn find(
        &self,
        merchant: MerchantId,
        id: EndpointId,
    ) -> Result<Endpoint, EndpointError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        let selection = Selection::One(id);
        let found: Result<_, EndpointError> = reading
            .run(async |sql| Ok(table::endpoint::select(sql, merchant, selection).await?.pop()))
            .await;
        found?.ok_or(EndpointError::NotFound)
    }

    /// Changes an endpoint and returns it. If nothing differs, nothing is written. Fails with `VersionConflict` unless the
    /// current version is the expected one.
    pub async fn update(
        &self,
        merchant: MerchantId,
        actor: Actor,
        id: EndpointId,
        patch: EndpointPatch,
        expected_version: Option<i32>,
    ) -> Result<Endpoint, EndpointError> {
        let EndpointPatch { url, description, kinds, status } = patch;
        let description = description.map(|text| checked_description(&text)).transpose()?;
        let kinds = kinds.map(checked_kinds).transpose()?;
        let mut vetted = None;
        // A URL is vetted before the endpoint is locked, if it differs then. If another request has changed the URL meanwhile so
        // that this one moves the endpoint only now, it is begun again.
        let (mut work, former, url) = loop {
            let present = self.find(merchant, id).await?;
            let other = url.as_ref().filter(|url| !self.is_same_url(&present.url, url));
            if let (Some(url), None) = (other, &vetted) {
                vetted = Some(self.check_url("url", url).await?);
            }
            let same = url.as_ref().map(|_| present.url.as_str());
            let url = vetted.as_ref().map(EndpointUrl::as_str).or(same);
            let moves = |endpoint: &Endpoint| url.is_some_and(|url| url != endpoint.url);
            let mut work = Work::for_store(&self.database, merchant).await?;
            if present.from_settings && moves(&present) {
                touch_settings(&mut work, merchant, actor).await?;
            }
            let former = lock(&mut work, merchant, id, expected_version).await?;
            if moves(&present) || !moves(&former) {
                break (work, former, url.map(str::to_owned));
            }
            work.rollback().await?;
        };
        let mut endpoint = former.clone();
        endpoint.url = url.unwrap_or(endpoint.url);
        endpoint.description = description.unwrap_or(endpoint.description);
        endpoint.kinds = kinds.unwrap_or(endpoint.kinds);
        if let Some(status) = status {
            endpoint.set_status(status, &work);
        }
        write_change(&mut work, merchant, actor, &former, &mut endpoint).await?;
        work.commit().await?;
        Ok(endpoint)
    }

    /// Deletes an endpoint. Nothing more is sent to it, except requests that are in flight.
    pub async fn delete(
        &self,
        merchant: MerchantId,
        actor: Actor,
        id: EndpointId,
    ) -> Result<(), EndpointError> {
        let present = self.find(merchant, id).await?;
        let mut work = Work::for_store(&self.database, merchant).await?;
        if present.from_settings {
            touch_settings(&mut work, merchant, actor).await?;
        }
        let endpoint = lock(&mut work, merchant, id, None).await?;
        remove(&mut work, merchant, actor, &endpoint).await?;
        Ok(work.commit().await?)
    }

    /// Gives an endpoint another secret. For 24 hours requests are signed with the present one too; the one before that is
    /// no longer valid.
    pub async fn rotate_secret(
        &self,
        merchant: MerchantId,
        actor: Actor,
        id: EndpointId,
        key: Option<&IdempotencyKey>,
    ) -> Result<EndpointWithSecret, EndpointError> {
        let mut work = Work::for_store(&self.database, merchant).await?;
        if claimed_earlier::<EndpointId>(&mut work, key).await?.is_some() {
            work.rollback().await?;
            return Ok(EndpointWithSecret {
                endpoint: self.find(merchant, id).await?,
                secret: None,
            });
        }
        let mut endpoint = lock(&mut work, merchant, id, None).await?;
        let secret = SigningSecret::generate(work.random());
        let sealed = self.sealing.seal(work.random(), merchant, id, &secret)?;
        endpoint.former_secret_until = Some(work.now().plus(ROTATION_OVERLAP));
        endpoint.touch(&work);
        table::endpoint::rotate_secret(&mut work, merchant, &endpoint, &sealed).await?;
        table::endpoint::wake(&mut work, merchant).await?;
        let action = AuditAction::WebhookSecretRotated;
        record(&mut work, merchant, actor, action, &endpoint, json!({})).await?;
        record_claim(&mut work, key, id).await?;
        work.commit().await?;
        Ok(EndpointWithSecret { endpoint, secret: Some(secret) })
    }

    /// Inserts an endpoint with a new secret, which it returns.
    pub(crate) async fn insert(
        &self,
        work: &mut Work,
        merchant: MerchantId,
        actor: Actor,
        endpoint: &Endpoint,
    ) -> Result<SigningSecret, EndpointError> {
        let secret = SigningSecret::generate(work.random());
        let sealed = self.sealing.seal(work.random(), merchant, endpoint.id, &secret)?;
        // A slot that another transaction has just taken is not free: the next statement sees it, and takes another one.
        while !table::endpoint::insert(work, merchant, endpoint, &sealed).await? {
            if table::endpoint::count(work, merchant).await? >= i64::from(Endpoint::COUNT_MAX) {
                return Err(EndpointError::TooMany);
            }
        }
        table::endpoint::ensure_queue(work, merchant).await?;
        let action = AuditAction::WebhookEndpointCreated;
        record(work, merchant, actor, action, endpoint, json!({})).await?;
        Ok(secret)
    }
}

/// Stores what differs, if anything, with another version. An endpoint that moved or was enabled starts without failures.
pub(crate) async fn write_change(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    former: &Endpoint,
    endpoint: &mut Endpoint,
) -> Result<(), EndpointError> {
    let fields = endpoint.changed_fields(former);
    if fields.is_empty() {
        return Ok(());
    }
    endpoint.touch(work);
    table::endpoint::update(work, merchant, endpoint).await?;
    let is_enabled_again = endpoint.is_enabled() && !former.is_enabled();
    if is_enabled_again || endpoint.url != former.url {
        table::endpoint::reset_health(work, merchant, endpoint.id).await?;
    }
    table::endpoint::wake(work, merchant).await?;
    let details = json!({ "fields": fields, "former_host": authority(&former.url) });
    record(work, merchant, actor, AuditAction::WebhookEndpointUpdated, endpoint, details).await
}

/// Deletes an endpoint. Its deliveries may be many: a job deletes them, once transactions that do not see the deletion yet
/// have ended.
pub(crate) async fn remove(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    endpoint: &Endpoint,
) -> Result<(), EndpointError> {
    table::endpoint::delete(work, merchant, endpoint.id).await?;
    table::endpoint::wake(work, merchant).await?;
    let job = DeleteDeliveries { merchant, endpoint: endpoint.id };
    let at = work.now().plus(DeleteDeliveries::DELAY);
    jobs::enqueue_at(work, &job, at).await?;
    record(work, merchant, actor, AuditAction::WebhookEndpointDeleted, endpoint, json!({})).await
}

/// Locks an endpoint. Returns `VersionConflict` if it has another version than the expected one.
async fn lock(
    work: &mut Work,
    merchant: MerchantId,
    id: EndpointId,
    expected_version: Option<i32>,
) -> Result<Endpoint, EndpointError> {
    let endpoint = table::endpoint::lock(work, merchant, id).await?;
    let endpoint = endpoint.ok_or(EndpointError::NotFound)?;
    if expected_version.is_some_and(|expected| expected != endpoint.version) {
        return Err(EndpointError::VersionConflict { current: endpoint.version });
    }
    Ok(endpoint)
}

/// Adds an entry to the audit log, which the role of stores may not write. Of the URL it has the host only: the path may
/// contain a credential, and the log is never deleted.
async fn record(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    action: AuditAction,
    endpoint: &Endpoint,
    mut details: Value,
) -> Result<(), EndpointError> {
    details["merchant"] = json!(merchant);
    details["host"] = json!(authority(&endpoint.url));
    work.as_platform(async |work| {
        Ok(identity::record_audit(work, actor, action, &endpoint.id, details).await?)
    })
    .await
}

impl Endpoint {
    /// Returns an enabled endpoint with a new id, that receives the default kinds of events.
    pub(crate) fn fresh(work: &mut Work, url: &EndpointUrl) -> Self {
        let now = work.now();
        Self {
            id: work.new_id(),
            url: url.as_str().to_owned(),
            description: String::new(),
            kinds: EventKind::DEFAULT.iter().copied().collect(),
            status: EndpointStatus::Enabled,
            disabled_reason: None,
            disabled_at: None,
            from_settings: false,
            former_secret_until: None,
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// Enables or disables the endpoint as the merchant. One that is disabled keeps its reason.
    pub(crate) fn set_status(&mut self, status: EndpointStatus, work: &Work) {
        match status {
            EndpointStatus::Enabled => {
                self.status = status;
                self.disabled_reason = None;
                self.disabled_at = None;
            }
            EndpointStatus::Disabled if self.is_enabled() => {
                self.status = status;
                self.disabled_reason = Some(DisabledReason::Merchant);
                self.disabled_at = Some(work.now());
            }
            EndpointStatus::Disabled => {}
        }
    }

    /// Raises the version. The time is never before the last change: a transaction that waited for the lock began before the
    /// one that it waited for.
    fn touch(&mut self, work: &Work) {
        self.version += 1;
        self.updated_at = work.now().max(self.updated_at);
    }

    fn changed_fields(&self, former: &Self) -> Vec<&'static str> {
        let fields = [
            ("url", self.url != former.url),
            ("description", self.description != former.description),
            ("events", self.kinds != former.kinds),
            ("status", self.status != former.status),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}
