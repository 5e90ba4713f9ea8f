//! The `[telemetry]` section.

use std::collections::BTreeMap;

use super::address::read_url;
use super::handler::read_headers;
use super::section::Section;
use super::{Secret, SecretUrl};

/// Where traces go.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryConfig {
    /// An `http://` address of a collector that takes OTLP by HTTP.
    pub otlp: SecretUrl,
    /// Sent with each request: name (lower case) and value, both fit for HTTP.
    pub headers: BTreeMap<String, Secret>,
    /// The share of new traces that is recorded, from 0 to 1.
    pub sample: f64,
    /// What the program is called in the traces.
    pub service_name: String,
}

impl TelemetryConfig {
    pub(super) fn read(section: Option<Section<'_>>) -> Option<Self> {
        let section = section?;
        let headers = section.section("headers", "`headers` of [telemetry]").map(|headers| read_headers(&headers));
        let sample = read_sample(&section).unwrap_or(1.0);
        let service_name = section.text("service_name").map_or("reprieve", |name| *name.get_ref()).to_owned();
        let text = section.required_secret("otlp", "add otlp = \"http://host:4318\", or leave [telemetry] out");
        let otlp = text.and_then(|text| read_url(&section, &text, "http"));
        section.finish();
        Some(Self { otlp: otlp?, headers: headers.unwrap_or_default(), sample, service_name })
    }
}

fn read_sample(section: &Section<'_>) -> Option<f64> {
    let sample = section.number("sample")?;
    if (0.0..=1.0).contains(sample.get_ref()) {
        return Some(sample.into_inner());
    }
    section.problems.error(
        &sample.span(),
        format!("`sample` cannot be {}", sample.get_ref()),
        "write the share of traces to record, from 0.0 for none to 1.0 for all",
    );
    None
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn parse(telemetry: &str) -> Result<Option<TelemetryConfig>, String> {
        let text = format!(
            "{telemetry}\n[brokers.b]\nkind = \"memory\"\n[[routes]]\nname = \"r\"\nbroker = \"b\"\nsource = \"q\"\n\
             dead_letters = {{ default = \"d\" }}\nhandler = {{ kind = \"http\", url = \"http://127.0.0.1:9\" }}\n"
        );
        Config::parse(text, "reprieve.toml").map(|config| config.telemetry).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_section_nothing_is_traced() {
        assert_eq!(parse(""), Ok(None));
    }

    #[test]
    fn an_address_is_enough() {
        let telemetry = parse("[telemetry]\notlp = \"http://127.0.0.1:4318\"").unwrap().unwrap();
        assert_eq!(telemetry.otlp.to_string(), "http://127.0.0.1:4318/");
        assert_eq!((telemetry.sample, telemetry.service_name.as_str()), (1.0, "reprieve"));
        assert!(telemetry.headers.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_cure() {
        let wrong = |text: &str| parse(&format!("[telemetry]\n{text}")).unwrap_err();
        assert!(wrong("sample = 0.1").contains("otlp = \"http://host:4318\""));
        for sample in ["1.5", "-0.1", "nan"] {
            let error = wrong(&format!("otlp = \"http://h:4318\"\nsample = {sample}"));
            assert!(error.contains("from 0.0 for none to 1.0 for all"), "{error}");
        }
        let error = wrong("otlp = \"127.0.0.1:4318\"");
        assert!(error.contains("http://"), "{error}");
        assert!(wrong("otlp = \"http://h:4318\"\nservice-name = \"x\"").contains("service_name"));
    }

    #[test]
    fn no_secret_of_a_header_is_shown() {
        let text = "[telemetry]\notlp = \"http://u:hunter2@h:4318\"\nheaders = { authorization = \"Bearer hunter2\" }";
        let telemetry = parse(text).unwrap().unwrap();
        assert_eq!(telemetry.headers["authorization"].expose(), "Bearer hunter2");
        let shown = format!("{telemetry:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        let error = parse(&text.replace("Bearer hunter2", "hunter2\\u0007")).unwrap_err();
        assert!(error.contains("not fit for HTTP") && !error.contains("hunter2\\u0007"), "{error}");
    }
}
