#![doc = include_str!("../README.md")]

mod alert;
mod compare;
mod component;
mod computation;
mod effects;
mod error;
mod evidence;
mod evidence_record;
mod fact;
mod follow;
mod gather;
mod merchant_view;
mod methodology;
mod past;
mod pseudonym;
mod reason;
mod rebuild;
mod recompute;
mod record;
mod roll_up;
mod score;
mod slots;
mod status;
mod table;
mod v41;

pub use alert::{Alert, GAIN_MAX, alerts};
pub use compare::{Comparison, compare};
pub use component::{Component, ComponentSource};
pub use computation::{
    Basis, Cause, Computation, MethodologyVersion, Shadow, append, history, latest, mark_synthetic,
    thinned_history,
};
pub use error::TrustError;
pub use evidence::{
    AccountRef, AgentDay, Day, DayCounts, Epoch, Evidence, LatencyBucket, LatencyHistogram,
    PolicyFigures, StateFigures, quarters,
};
pub use evidence_record::EvidenceRecord;
pub use fact::{Fact, Party};
pub use follow::{FollowFacts, ROLL_UP_DELAY};
pub use gather::{evidence_hash, evidence_of, evidence_record};
pub use merchant_view::{
    ComponentEvidence, DimensionLoss, Mend, MerchantComponent, MerchantScore, MerchantTrust,
    NextLabel, Suspension, merchant_trust,
};
pub use methodology::{
    ComponentRule, DisputeProcess, EpochRule, FactRule, METHODOLOGY_VERSION, MeasureKind,
    MeasureRule, Methodology, NormalizationRule, ProvisionalRule, ScoringRule, Threshold,
    UnitsRule, WindowRule,
};
pub use past::score_past;
pub use reason::{Reason, reasons, reasons_v41, remedy};
pub use rebuild::{DayDifference, Differences, Rebuilt, check_days, rebuild};
pub use recompute::{RecomputeScores, compute_due, recompute, recompute_all, stores_after};
pub use record::{ComponentRecord, HistoryPoint, HistoryRecord, ScoreRecord};
pub use roll_up::RollUpDays;
pub use score::{Computed, Figure, Sample, score};
pub use status::{TrustCounts, TrustStatus, lag_seconds, status};
pub use v41::{
    AssuranceRule, Certification, CheckTally, DataQuality, Dimension, DimensionScore, Dimensions,
    DormantMethodology, EvidenceProfile, ExternalAssurance, FigureRule, HumanOrders, Interpolation,
    LevelRule, RateRule, RefundFigures, SetupFigures, Signal, SignalRule, SignalScore, Tier,
    TierRule, V41_VERSION, V41Figures, V41Score, Weights, score_v41, v41_window,
};
