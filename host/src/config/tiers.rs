//! The host's tiers, and the part of them that a route uses.

use std::time::Duration;

use toml::Spanned;

use super::section::Section;
use super::suggestion::suggest;
use crate::topic::Tier;

/// What a RabbitMQ queue can hold a message for: its time to live is a `u32` of milliseconds.
const LONGEST: Duration = Duration::from_millis(u32::MAX as u64);

pub(super) fn default_tiers() -> Vec<Tier> {
    [("30s", 30), ("5m", 5 * 60), ("30m", 30 * 60)]
        .map(|(name, seconds)| Tier { name: name.to_owned(), delay: Duration::from_secs(seconds) })
        .into()
}

/// `tiers` of `[host]`, shortest first.
pub(super) fn read_host_tiers(section: &Section<'_>) -> Option<Vec<Tier>> {
    let mut tiers: Vec<(Tier, Spanned<&str>)> = Vec::new();
    for text in section.items("tiers", "[\"30s\", \"5m\"]")? {
        let Some(delay) = section.duration_of("tiers", text) else { continue };
        // `duration_of` accepts texts only.
        let name = Spanned::new(text.span(), text.get_ref().as_str().unwrap_or_default());
        let Some(tier) = read_tier(section, &name, delay.into_inner()) else { continue };
        match tiers.iter().find(|(other, _)| other.delay == tier.delay) {
            Some((other, _)) if other.name == tier.name => {
                section.problems.error(
                    &name.span(),
                    format!("the tier \"{}\" stands here twice", tier.name),
                    "leave one out",
                );
            }
            Some((other, _)) => section.problems.error(
                &name.span(),
                format!("the tiers \"{}\" and \"{}\" are the same delay", other.name, tier.name),
                "leave one out",
            ),
            None => tiers.push((tier, name)),
        }
    }
    let mut tiers: Vec<Tier> = tiers.into_iter().map(|(tier, _)| tier).collect();
    tiers.sort_by_key(|tier| tier.delay);
    Some(tiers)
}

fn read_tier(section: &Section<'_>, name: &Spanned<&str>, delay: Duration) -> Option<Tier> {
    let text = name.get_ref();
    let (message, cure) = if text.contains(|character: char| !character.is_ascii_alphanumeric()) {
        ("it is part of queue names", "write it without blanks and signs, such as \"90m\" or \"1h30m\"")
    } else if delay < Duration::from_millis(1) || !delay.subsec_nanos().is_multiple_of(1_000_000) {
        ("a tier is a whole number of milliseconds, at least one", "write it with the unit ms, s, m, h or d")
    } else if delay > LONGEST {
        ("brokers hold a message for 49 days at most", "write at most \"49d\"")
    } else {
        return Some(Tier { name: (*text).to_owned(), delay });
    };
    section.problems.error(&name.span(), format!("\"{text}\" cannot be a tier: {message}"), cure);
    None
}

/// `tiers` of a route: those of the host that it names, or all.
pub(super) fn read_route_tiers(section: &Section<'_>, host: &[Tier]) -> Vec<Tier> {
    let Some(names) = section.texts("tiers") else { return host.to_vec() };
    let mut tiers: Vec<Tier> = Vec::new();
    for name in names {
        let (text, span) = (*name.get_ref(), name.span());
        match host.iter().find(|tier| tier.name == text) {
            Some(tier) if tiers.contains(tier) => {
                section.problems.error(&span, format!("the tier \"{text}\" stands here twice"), "leave one out");
            }
            Some(tier) => tiers.push(tier.clone()),
            None => {
                let known: Vec<&str> = host.iter().map(|tier| tier.name.as_str()).collect();
                let same =
                    humantime::parse_duration(text).ok().and_then(|delay| host.iter().find(|tier| tier.delay == delay));
                let cure = match same {
                    Some(tier) => format!("write it as it stands there: \"{}\"", tier.name),
                    None if known.is_empty() => "add it to `tiers` of [host], which are empty".to_owned(),
                    None => format!("add it to `tiers` of [host], or {}", suggest(text, &known)),
                };
                section.problems.error(&span, format!("\"{text}\" is not one of the host's tiers"), cure);
            }
        }
    }
    tiers.sort_by_key(|tier| tier.delay);
    tiers
}
