//! The labels of each family. An empty label is one that does not apply.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabels {
    pub(super) route: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct EventLabels {
    pub(super) route: Arc<str>,
    pub(super) event: &'static str,
    pub(super) topic: Option<Arc<str>>,
    pub(super) error_kind: Option<Arc<str>>,
    pub(super) destination: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DepthLabels {
    pub(super) route: Arc<str>,
    pub(super) label: String,
    pub(super) topic: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct FaultLabels {
    pub(super) route: Arc<str>,
    pub(super) policy: Option<Arc<str>>,
    pub(super) fault: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WhyLabels {
    pub(super) why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SkipLabels {
    pub(super) route: Arc<str>,
    pub(super) why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CandidateLabels {
    pub(super) route: Arc<str>,
    pub(super) mode: &'static str,
    pub(super) result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ChangeLabels {
    pub(super) route: Arc<str>,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}
