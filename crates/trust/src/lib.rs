#![doc = include_str!("../README.md")]

mod alert;
mod backfill;
mod collected;
mod compare;
mod component;
mod computation;
mod correct;
mod effects;
mod error;
mod evidence;
mod evidence_record;
mod fact;
mod failure;
mod follow;
mod gather;
mod merchant_view;
mod methodology;
mod past;
mod pseudonym;
mod purge_days;
mod reason;
mod rebuild;
mod recompute;
mod recompute_store;
mod record;
mod roll_up;
mod schedule;
mod score;
mod slots;
mod status;
mod table;
mod v41;

pub use alert::{Alert, CHANGE_MAX, alerts};
pub use backfill::{RecountFacts, is_backfilled};
pub use compare::{Comparison, compare};
pub use component::{Component, ComponentSource};
pub use computation::{
    Basis, Cause, Computation, MethodologyVersion, Shadow, latest, mark_synthetic, thinned_history,
};
pub use correct::CorrectScores;
pub use error::TrustError;
pub use evidence::{
    AccountRef, AgentDay, Day, DayCounts, Epoch, Evidence, LatencyBucket, LatencyHistogram,
    PolicyFigures, StateFigures, matured_quarters, quarters,
};
pub use evidence_record::{DayCursor, EvidenceRecord, InvalidDayCursor};
pub use fact::{Fact, Party};
pub use failure::{Failure, FailureStage, failures};
pub use follow::{COMPLETE_DAYS, FollowFacts, ROLL_UP_DELAY};
pub use gather::{evidence_hash, evidence_record};
pub use merchant_view::{
    ComponentEvidence, DimensionLoss, FailingProducts, Improvement, MerchantComponent,
    MerchantScore, MerchantTrust, NextLabel, merchant_trust,
};
pub use methodology::{
    ComponentRule, DisputeProcess, EpochRule, FactRule, METHODOLOGY_VERSION, MeasureKind,
    MeasureRule, Methodology, NormalizationRule, ProvisionalRule, ScoringRule, Threshold,
    UnitsRule, WindowRule, thresholds,
};
pub use past::score_past;
pub use purge_days::PurgeDays;
pub use rebuild::{DayDifference, Differences, Rebuilt, check_days, rebuild};
pub use recompute::{Recomputed, recompute, recompute_all, stores_after};
pub use recompute_store::recompute_store;
pub use record::{ComponentRecord, HistoryPoint, HistoryRecord, ScoreRecord};
pub use roll_up::RollUpDays;
pub use schedule::{RecomputeScores, compute_due};
pub use score::{Computed, Figure, Sample, score};
pub use slots::due_time;
pub use status::{TrustCounts, TrustHealth, TrustStatus, health, old_standings, status};
pub use v41::{
    AssuranceRule, Certification, CheckTally, DataQuality, Dimension, DimensionScore, Dimensions,
    DormantMethodology, EvidenceProfile, ExternalAssurance, FigureRule, HumanOrders, Interpolation,
    LevelRule, RateRule, RefundFigures, SetupFigures, Signal, SignalRule, SignalScore, Tier,
    TierRule, V41_VERSION, V41Figures, V41Score, Weights, score_v41, v41_window,
};
