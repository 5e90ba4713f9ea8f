//! Reads the file as a whole.

use std::path::Path;

use reprieve_sdk::RetryPolicy;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::broker::read_brokers;
use super::checks::Checks;
use super::problem::{Problem, Problems};
use super::retry::read_retry;
use super::route::WrittenRoute;
use super::section::Section;
use super::source::Source;
use super::{BrokerConfig, Config, HostConfig, JournalConfig, Places, PoliciesConfig, RouteConfig, TelemetryConfig};
use crate::topic::Tier;

/// The configuration that a text means, or all that is wrong with it.
pub(super) fn read(source: &Source) -> Result<Config, Vec<Problem>> {
    let problems = Problems::new(source);
    let (root, syntax_errors) = DeTable::parse_recoverable(&source.text);
    // What could be read of a broken file is not what was meant, and one slip makes many errors: only the first is told.
    if let Some(error) = syntax_errors.iter().min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        report_syntax(&problems, error, &source.text);
        return Err(problems.finish().err().unwrap_or_default());
    }
    // A file without any route is reported where it ends.
    let end = source.text.trim_end().len();
    let file = Section::new("the file", end..end, root.get_ref(), &problems);
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let host = HostConfig::read(file.section("host", "[host]"), folder);
    let policies = PoliciesConfig::read(file.section("policies", "[policies]"), folder);
    let journal = JournalConfig::read(file.section("journal", "[journal]"));
    let telemetry = TelemetryConfig::read(file.section("telemetry", "[telemetry]"));
    let (mut brokers, broker_names) = read_brokers(file.section("brokers", "[brokers]"), folder);
    let defaults = read_defaults(file.section("defaults", "[defaults]"));
    let routes = read_routes(&file, folder, &host.tiers, &defaults);
    file.finish();
    Checks {
        problems: &problems,
        routes: &routes,
        broker_names: &broker_names,
        brokers: &brokers,
        policies: &policies,
    }
    .run();
    let (places, routes): (Vec<Places>, Vec<_>) =
        routes.into_iter().map(|route| (places(&route), route.complete())).unzip();
    let warnings = problems.finish()?;
    // Without an error every route is complete.
    let routes: Vec<RouteConfig> = routes.into_iter().flatten().collect();
    for route in &routes {
        if let Some(BrokerConfig::Narad(narad)) = brokers.get_mut(&route.broker) {
            narad.note(route);
        }
    }
    Ok(Config { host, policies, journal, telemetry, brokers, routes, warnings, source: source.clone(), places })
}

fn report_syntax(problems: &Problems<'_>, error: &toml::de::Error, text: &str) {
    let span = error.span().unwrap_or_default();
    let (message, cure) = match (error.message(), text.get(span.clone())) {
        ("duplicate key", Some("routes")) => {
            ("there are several [routes] tables".to_owned(), "write [[routes]], with two brackets, above each route")
        }
        ("duplicate key", Some(key)) => (format!("`{key}` stands here twice"), "leave one out"),
        (message, _) => (message.to_owned(), "put it right as TOML; texts stand in quotes, see https://toml.io"),
    };
    problems.error(&span, message, cure);
}

fn read_defaults(section: Option<Section<'_>>) -> RetryPolicy {
    let builtin = RetryPolicy::default();
    let Some(section) = section else { return builtin };
    let retry = match section.section("retry", "[defaults.retry]") {
        Some(table) => read_retry(table, &builtin),
        None => builtin,
    };
    section.finish();
    retry
}

fn read_routes<'d>(file: &Section<'d>, folder: &Path, tiers: &[Tier], defaults: &RetryPolicy) -> Vec<WrittenRoute<'d>> {
    const CURE: &str = "add a section [[routes]] with name, broker, source and handler";
    let Some(value) = file.required("routes", CURE) else { return Vec::new() };
    let DeValue::Array(items) = value.get_ref() else {
        let message = "routes are a list, and this is a single table";
        file.problems.error(&value.span(), message, "write [[routes]], with two brackets, above each route");
        return Vec::new();
    };
    if items.is_empty() {
        file.problems.error(&value.span(), "there is no route", CURE);
    }
    let sections = items.iter().filter_map(|item| file.section_of("routes", "this route", item));
    sections.map(|section| WrittenRoute::read(section, folder, tiers, defaults)).collect()
}

fn places(route: &WrittenRoute<'_>) -> Places {
    Places {
        route: route.name.as_ref().map_or_else(|| route.span.clone(), Spanned::span),
        policy: route.policy.as_ref().map(Spanned::span),
        policy_digest: route.policy_digest.as_ref().map(Spanned::span),
        tiers: route.tiers_place.clone(),
        max_retry_delay: route.max_retry_delay.as_ref().map(Spanned::span),
        group: route.group.as_ref().map(Spanned::span),
        ordering: route.flow.ordering_place.clone(),
    }
}
