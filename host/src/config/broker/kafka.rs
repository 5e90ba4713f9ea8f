//! A broker of kind `kafka`.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::broker::kafka::{KafkaSettings, SETTING_NAMES, SettingProblem, check_setting};
use crate::config::Secret;
use crate::config::section::Section;
use crate::config::suggestion::nearest;

/// A Kafka cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaConfig {
    /// `host:port` of the brokers to ask first. At least one.
    pub servers: Vec<String>,
    /// librdkafka's own settings, by their names.
    pub settings: BTreeMap<String, Secret>,
    /// Create missing topics; otherwise they are only checked.
    pub declare: bool,
    /// How far the records in work of one partition may lie apart, in offsets. From 1 to 24,000.
    pub window: u32,
    /// How long a publish may take before it counts as failed. At least a second.
    pub publish_timeout: Duration,
}

impl KafkaConfig {
    pub(super) fn read(section: &Section<'_>) -> Option<Self> {
        let declare = section.boolean("declare").unwrap_or(true);
        // What was begun of it has to fit beside the position that is committed.
        let window = section.integer("window", 1..=24_000).and_then(|window| u32::try_from(window).ok());
        let publish_timeout = read_publish_timeout(section);
        let settings = read_settings(section);
        let servers = read_servers(section)?;
        let window = window.unwrap_or(KafkaSettings::DEFAULT_WINDOW);
        Some(Self { servers, settings, declare, window, publish_timeout })
    }
}

fn read_servers(section: &Section<'_>) -> Option<Vec<String>> {
    const CURE: &str = "add servers = [\"host:9092\"], with one or more brokers of the cluster";
    let value = section.required("servers", CURE)?;
    let texts = match value.get_ref() {
        DeValue::String(_) => vec![section.text_of("servers", value)?],
        _ => section.texts("servers")?,
    };
    if texts.is_empty() {
        section.problems.error(&value.span(), "`servers` is empty", CURE);
        return None;
    }
    // All of them are looked at, so that each that is wrong is reported.
    let servers: Vec<_> = texts.iter().map(|text| read_server(section, text)).collect();
    servers.into_iter().collect()
}

fn read_server(section: &Section<'_>, text: &Spanned<&str>) -> Option<String> {
    let address = text.get_ref().trim();
    let cure = if address.contains("://") {
        "leave the scheme out: write host:port, and security.protocol into `settings`"
    } else if address.contains(',') {
        "write each address in quotes of its own: [\"one:9092\", \"two:9092\"]"
    } else {
        "write host:port, such as \"kafka:9092\" or \"[::1]:9092\""
    };
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let is_host =
        !host.is_empty() && !host.contains(|character: char| character.is_whitespace() || "/,@".contains(character));
    let is_bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if is_host && !is_bare_ipv6 && port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Some(address.to_owned());
    }
    let message = format!("\"{}\" is not the address of a broker", address.escape_debug());
    section.problems.error(&text.span(), message, cure);
    None
}

fn read_publish_timeout(section: &Section<'_>) -> Duration {
    const SHORTEST: Duration = Duration::from_secs(1);
    let Some(timeout) = section.duration("publish_timeout") else { return KafkaSettings::DEFAULT_PUBLISH_TIMEOUT };
    if *timeout.get_ref() < SHORTEST {
        section.problems.error(&timeout.span(), "`publish_timeout` is too short", "write at least \"1s\"");
    }
    timeout.into_inner()
}

/// `settings`: names of librdkafka with their values.
fn read_settings(section: &Section<'_>) -> BTreeMap<String, Secret> {
    let Some(table) = section.section("settings", format!("`settings` of {}", section.title)) else {
        return BTreeMap::new();
    };
    let mut settings = BTreeMap::new();
    for (key, value) in table.entries() {
        let name = *key.get_ref();
        // Written without quotes, the dots of a name make tables of it.
        if let DeValue::Table(inner) = value.get_ref()
            && !inner.contains_key("env")
            && !inner.contains_key("file")
        {
            let message = format!("`{name}` is a table in {}", table.title);
            let cure = "write the whole name in quotes, such as \"security.protocol\" = \"ssl\"";
            section.problems.error(&key.span(), message, cure);
            continue;
        }
        if let Some(secret) = read_value(&table, name, value)
            && is_fit(&table, &key, value, &secret)
        {
            settings.insert(name.to_owned(), secret);
        }
    }
    settings
}

/// A value as librdkafka reads it: as text.
fn read_value<'d>(table: &Section<'d>, name: &str, value: &'d Spanned<DeValue<'d>>) -> Option<Secret> {
    match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => Some(Secret::new(number.as_str().replace('_', ""))),
        DeValue::Boolean(truth) => Some(Secret::new(truth.to_string())),
        _ => table.secret_of(name, value).map(Spanned::into_inner),
    }
}

/// Whether librdkafka takes the setting; what it does not take is reported.
fn is_fit(table: &Section<'_>, key: &Spanned<&str>, value: &Spanned<DeValue<'_>>, secret: &Secret) -> bool {
    let name = *key.get_ref();
    let (span, message, cure) = match check_setting(name, secret.expose()) {
        Ok(()) => return true,
        Err(SettingProblem::Unknown) => {
            let cure = match nearest(name, SETTING_NAMES) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "librdkafka lists its settings in its CONFIGURATION.md".to_owned(),
            };
            (key.span(), format!("librdkafka has no setting `{}`", name.escape_debug()), cure)
        }
        Err(SettingProblem::Owned(why)) => {
            (key.span(), format!("`{name}` is set by Reprieve itself"), format!("leave it out: {why}"))
        }
        Err(SettingProblem::Invalid(words)) => {
            // librdkafka repeats the value, which may be a secret.
            let is_secret = matches!(value.get_ref(), DeValue::Table(_)) || is_secret(name);
            let cure = if is_secret { "write another value".to_owned() } else { format!("librdkafka says: {words}") };
            (value.span(), format!("librdkafka does not take this value of `{name}`"), cure)
        }
    };
    table.problems.error(&span, message, cure);
    false
}

/// Whether a setting's value is not to be seen.
fn is_secret(name: &str) -> bool {
    ["password", "secret", "passphrase", ".pem", "oauthbearer.config"].iter().any(|part| name.contains(part))
}
