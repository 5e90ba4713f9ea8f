//! A route as it is written: each value with its place, so that the checks across routes can point at it.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;
use serde_json::{Map, Value};
use toml::Spanned;

use super::candidate::read_candidate;
use super::deduplicate::read_deduplicate;
use super::ordering::{Flow, read_flow};
use super::{DeduplicateConfig, RequeueConfig, RouteConfig};
use crate::config::dead_letters::{DeadLetters, read_dead_letters};
use crate::config::name::check_name;
use crate::config::retry::read_retry;
use crate::config::section::Section;
use crate::config::settings;
use crate::config::suggestion::suggest;
use crate::config::tiers::read_route_tiers;
use crate::config::trust::read_digest;
use crate::config::{EnvelopeConfig, HandlerConfig};
use crate::policy::candidate::CandidatePlan;
use crate::policy::trust::FileDigest;
use crate::topic::Tier;

/// What could be read of a route. Whatever is missing has been reported.
pub(in crate::config) struct WrittenRoute<'d> {
    /// How messages call it, such as ``route `orders` ``.
    pub(in crate::config) title: String,
    pub(in crate::config) span: Range<usize>,
    pub(in crate::config) name: Option<Spanned<&'d str>>,
    pub(in crate::config) broker: Option<Spanned<&'d str>>,
    pub(in crate::config) source: Option<Spanned<&'d str>>,
    pub(in crate::config) handler: Option<Spanned<HandlerConfig>>,
    pub(in crate::config) policy: Option<Spanned<&'d str>>,
    pub(in crate::config) policy_digest: Option<Spanned<FileDigest>>,
    pub(in crate::config) dead_letters: DeadLetters,
    pub(in crate::config) tiers: Vec<Tier>,
    /// Where they are written, if they are.
    pub(in crate::config) tiers_place: Option<Range<usize>>,
    pub(in crate::config) max_retry_delay: Option<Spanned<Duration>>,
    pub(in crate::config) deduplicate: Option<Spanned<DeduplicateConfig>>,
    pub(in crate::config) envelope: Option<Spanned<EnvelopeConfig>>,
    pub(in crate::config) group: Option<Spanned<&'d str>>,
    pub(in crate::config) flow: Flow,
    retry: RetryPolicy,
    candidate: CandidatePlan,
    settings: Value,
    header_prefix: String,
    requeue: RequeueConfig,
    allow_drop_on_fault: bool,
    max_interruptions: Option<u32>,
}

impl<'d> WrittenRoute<'d> {
    /// Reads one of `[[routes]]`. Relative paths are of `folder`.
    pub(in crate::config) fn read(
        mut section: Section<'d>,
        folder: &Path,
        host_tiers: &[Tier],
        defaults: &RetryPolicy,
    ) -> Self {
        let name = section.required_text("name", "add name = \"…\"");
        if let Some(name) = &name {
            check_name(section.problems, "a route's name", name);
            section.title = format!("route `{}`", name.get_ref());
        }
        let title = section.title.clone();
        let route = Self {
            span: section.span.clone(),
            broker: section
                .required_text("broker", "add broker = \"…\", with the name of one of the [brokers.…] sections"),
            source: section.required_text("source", "add source = \"…\", with the name of the queue to consume"),
            handler: read_handler(&section, folder),
            policy: read_policy(&section),
            policy_digest: section.text("policy_digest").and_then(|text| read_digest(&section, &text)),
            dead_letters: section
                .section("dead_letters", format!("`dead_letters` of {title}"))
                .map(|table| read_dead_letters(&table))
                .unwrap_or_default(),
            tiers: read_route_tiers(&section, host_tiers),
            tiers_place: section.value("tiers").map(Spanned::span),
            max_retry_delay: section.duration("max_retry_delay"),
            group: section.text("group"),
            flow: read_flow(&section),
            deduplicate: read_deduplicate(&section),
            retry: match section.section("retry", format!("`retry` of {title}")) {
                Some(table) => read_retry(table, defaults),
                None => defaults.clone(),
            },
            settings: read_settings(&section),
            candidate: read_candidate(&section),
            header_prefix: read_header_prefix(&section),
            envelope: read_envelope(&section),
            requeue: read_requeue(&section),
            allow_drop_on_fault: section.boolean("allow_drop_on_fault").unwrap_or(false),
            max_interruptions: section
                .integer("max_interruptions", 1..=u64::from(u32::MAX))
                .and_then(|number| u32::try_from(number).ok()),
            name,
            title,
        };
        section.finish();
        route
    }

    /// The route, where nothing that it needs is missing.
    pub(in crate::config) fn complete(self) -> Option<RouteConfig> {
        Some(RouteConfig {
            name: self.name?.into_inner().to_owned(),
            broker: self.broker?.into_inner().to_owned(),
            source: self.source?.into_inner().to_owned(),
            handler: self.handler?.into_inner(),
            group: self.group.map(|group| group.into_inner().to_owned()),
            concurrency: self.flow.concurrency,
            prefetch: self.flow.prefetch,
            ordering: self.flow.ordering,
            deduplicate: self.deduplicate.map(Spanned::into_inner),
            policy: self.policy.map(|policy| policy.into_inner().to_owned()),
            policy_digest: self.policy_digest.map(Spanned::into_inner),
            dead_letters: self.dead_letters.into_iter().map(|(label, topic)| (label, topic.into_inner())).collect(),
            tiers: self.tiers,
            retry: self.retry,
            settings: self.settings,
            candidate: self.candidate,
            header_prefix: self.header_prefix,
            envelope: self.envelope.map(Spanned::into_inner).unwrap_or_default(),
            requeue: self.requeue,
            allow_drop_on_fault: self.allow_drop_on_fault,
            max_interruptions: self.max_interruptions,
            max_retry_delay: self.max_retry_delay.map(Spanned::into_inner),
        })
    }
}

fn read_handler(section: &Section<'_>, folder: &Path) -> Option<Spanned<HandlerConfig>> {
    const CURE: &str = "add handler = { kind = \"http\", url = \"…\" }, or one of the kinds \"command\" and \"judge\"";
    let value = section.required("handler", CURE)?;
    let table = section.section_of("handler", format!("the handler of {}", section.title), value)?;
    let span = table.span.clone();
    HandlerConfig::read(table, folder).map(|handler| Spanned::new(span, handler))
}

fn read_policy<'d>(section: &Section<'d>) -> Option<Spanned<&'d str>> {
    let policy = section.text("policy")?;
    let name = *policy.get_ref();
    let cure = if let Some(stem) = name.strip_suffix(".wasm") {
        format!("leave the file's ending out: \"{stem}\"")
    } else if let Some(stem) = name.strip_suffix(".next") {
        format!("names that end in .next are kept for candidates; write \"{stem}\"")
    } else {
        return check_name(section.problems, "a policy's name", &policy).then_some(policy);
    };
    section.problems.error(&policy.span(), format!("\"{name}\" cannot be a policy's name"), cure);
    None
}

fn read_settings(section: &Section<'_>) -> Value {
    let table = section.section("settings", "`settings`");
    table.map_or_else(|| Value::Object(Map::new()), |table| settings::object(table.table(), section.problems))
}

fn read_header_prefix(section: &Section<'_>) -> String {
    const DEFAULT: &str = "reprieve-";
    // Looked at as it is, since "is empty" needs its own cure here.
    let Some(value) = section.value("header_prefix") else { return DEFAULT.to_owned() };
    let Some(prefix) = value.get_ref().as_str() else {
        return section.wrong_type("header_prefix", value, "a text", "write it in quotes").unwrap_or_default();
    };
    let message = if prefix.is_empty() {
        "`header_prefix` is empty: our headers could not be told from the sender's".to_owned()
    } else if prefix.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("x-")) {
        format!("`header_prefix` cannot be \"{prefix}\": brokers keep names that begin with x- for themselves")
    } else if prefix.len() > 64
        || prefix.contains(|character: char| !character.is_ascii_alphanumeric() && !"-_.".contains(character))
    {
        format!("`header_prefix` cannot be \"{}\"", prefix.escape_debug())
    } else {
        return prefix.to_owned();
    };
    let cure = "write at most 64 letters, digits, `-`, `_` and `.`, such as \"reprieve-\"";
    section.problems.error(&value.span(), message, cure);
    DEFAULT.to_owned()
}

fn read_envelope(section: &Section<'_>) -> Option<Spanned<EnvelopeConfig>> {
    const KNOWN: [&str; 3] = ["own", "none", "counted"];
    let envelope = section.text("envelope")?;
    let span = envelope.span();
    let read = match *envelope.get_ref() {
        "own" => EnvelopeConfig::Own,
        "none" => EnvelopeConfig::None,
        "counted" => EnvelopeConfig::Counted,
        other => {
            let message = format!("there is no envelope \"{}\"", other.escape_debug());
            section.problems.error(&span, message, suggest(other, &KNOWN));
            return None;
        }
    };
    Some(Spanned::new(span, read))
}

fn read_requeue(section: &Section<'_>) -> RequeueConfig {
    let mut requeue = RequeueConfig { cooldown: Duration::from_secs(1), max_cooldown: Duration::from_secs(60) };
    let Some(table) = section.section("requeue", format!("`requeue` of {}", section.title)) else { return requeue };
    let (cooldown, longest) = (table.positive_duration("cooldown"), table.positive_duration("max_cooldown"));
    if let Some(cooldown) = &cooldown {
        requeue.cooldown = *cooldown.get_ref();
    }
    if let Some(longest) = &longest {
        requeue.max_cooldown = *longest.get_ref();
    }
    if let Some(here) = cooldown.or(longest)
        && requeue.cooldown > requeue.max_cooldown
    {
        let (cooldown, longest) =
            (humantime::format_duration(requeue.cooldown), humantime::format_duration(requeue.max_cooldown));
        section.problems.error(
            &here.span(),
            format!("the first cool-down, {cooldown}, is longer than the longest, {longest}"),
            "lower `cooldown` or raise `max_cooldown`",
        );
    }
    table.finish();
    requeue
}
