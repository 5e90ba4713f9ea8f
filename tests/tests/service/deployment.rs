//! The files in `examples/deployment` fit the program: paths, ports, times, names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reprieve::config::Config;
use reprieve::event::{EventKind, Ruling, SkipReason, Subject};
use reprieve::observer::Observer;
use reprieve::verdict::{Action, Fault, FaultKind, Verdict};
use yaml_rust2::{Yaml, YamlLoader};

use crate::place::{Place, ROUTE};

const OPERATIONS: &str = include_str!("../../../docs/operations.md");
/// Ending connections, policies and the admin listener may take so long beyond `shutdown_timeout`, in seconds.
const ENDING: u64 = 20;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/deployment").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The configuration with its files where this test has put them: absolute paths become those of `place`.
fn check(place: &Place, config: &str, mounts: &[(&str, &str)]) -> Config {
    let (mut here, mut unmounted) = (config.to_owned(), config.to_owned());
    for (mounted, name) in mounts {
        assert!(here.contains(mounted), "{mounted} is in the configuration");
        here = here.replace(mounted, place.path(name).to_str().unwrap());
        unmounted = unmounted.replace(mounted, "MOUNTED");
    }
    assert!(!unmounted.contains("\"/"), "every path of the configuration is mounted: {unmounted}");
    place.write("reprieve.toml", &here);
    let (code, text) = place.call(&["check"], &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("warning"), "{text}");
    Config::load(place.path("reprieve.toml")).unwrap()
}

fn place() -> Place {
    let place = Place::new("", "");
    fs::create_dir(place.path("secrets")).unwrap();
    place.write("secrets/amqp-url", "amqp://me:secret@mq:5672/%2f\n");
    place.write("secrets/admin-token", "0123456789abcdef0123456789abcdef\n");
    fs::create_dir(place.path("policies")).unwrap();
    let policies = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../host/policies");
    fs::copy(policies.join("by-error-kind.wasm"), place.path("policies/by-error-kind.wasm")).unwrap();
    place
}

/// The document of this kind.
fn document<'d>(documents: &'d [Yaml], kind: &str) -> &'d Yaml {
    documents.iter().find(|document| document["kind"].as_str() == Some(kind)).unwrap_or_else(|| panic!("no {kind}"))
}

fn named<'y>(list: &'y Yaml, name: &str) -> &'y Yaml {
    let mut items = list.as_vec().expect("a list").iter();
    items.find(|item| item["name"].as_str() == Some(name)).unwrap_or_else(|| panic!("no {name} in {list:?}"))
}

#[test]
fn the_kubernetes_manifests_fit_the_program() {
    let documents = YamlLoader::load_from_str(&file("kubernetes/reprieve.yaml")).unwrap();
    let (map, deployment) = (document(&documents, "ConfigMap"), document(&documents, "Deployment"));
    let pod = &deployment["spec"]["template"]["spec"];
    let container = named(&pod["containers"], "reprieve");
    let mount = |name: &str| named(&container["volumeMounts"], name)["mountPath"].as_str().unwrap();
    let text = map["data"]["reprieve.toml"].as_str().unwrap();

    let place = place();
    let mounts = [(mount("secrets"), "secrets"), (mount("policies"), "policies"), (mount("state"), "state")];
    let config = check(&place, text, &mounts);

    // The image looks for the configuration in the folder where the manifest mounts it.
    assert_eq!(named(&pod["volumes"], "config")["configMap"]["name"], map["metadata"]["name"]);
    assert!(file("container/Containerfile").contains(&format!("\nWORKDIR {}\n", mount("config"))));
    // Only a whole volume is updated, and only the state is written to.
    for volume in container["volumeMounts"].as_vec().unwrap() {
        assert!(volume["subPath"].is_badvalue(), "{volume:?}");
        assert_eq!(volume["readOnly"].as_bool().unwrap_or(false), volume["name"].as_str() != Some("state"));
        named(&pod["volumes"], volume["name"].as_str().unwrap());
    }
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"].as_bool(), Some(true));

    let port = &named(&container["ports"], "admin")["containerPort"];
    assert_eq!(port.as_i64(), Some(config.host.admin.port().into()));
    assert!(config.host.admin.ip().is_unspecified(), "the kubelet comes from elsewhere");
    let grace = pod["terminationGracePeriodSeconds"].as_i64().unwrap().unsigned_abs();
    assert!(grace >= config.host.shutdown_timeout.as_secs() + ENDING);
    for selector in ["Deployment", "PodDisruptionBudget"] {
        let labels = &document(&documents, selector)["spec"]["selector"]["matchLabels"];
        assert_eq!(labels, &deployment["spec"]["template"]["metadata"]["labels"], "{selector}");
    }

    // Where the program answers without a token.
    let program = Place::new("admin_token = \"0123456789abcdef\"", ROUTE).run(&[], &[]);
    program.wait_for_line("ready: every route takes messages");
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let get = &container[probe]["httpGet"];
        assert_eq!(get["port"].as_str(), Some("admin"), "{probe}");
        assert_eq!(program.get(get["path"].as_str().unwrap(), "").0, 200, "{probe}");
    }
    program.stop();

    // What the guide has people make by hand is what is mounted.
    for (volume, kind, name) in [("policies", "configMap", "name"), ("secrets", "secret", "secretName")] {
        let made = named(&pod["volumes"], volume)[kind][name].as_str().unwrap();
        let kind = if kind == "secret" { "secret generic" } else { "configmap" };
        assert!(OPERATIONS.contains(&format!("kubectl create {kind} {made} ")), "{kind} {made}");
    }
}

#[test]
fn arguments_in_the_files_are_those_of_the_program() {
    let container = file("container/Containerfile");
    assert!(container.contains("\nSTOPSIGNAL SIGTERM\n"));
    assert!(container.contains("\nUSER 65532:65532\n"));
    // A form in brackets needs no shell, and is JSON.
    for (instruction, expected) in [("ENTRYPOINT", 1), ("\nCMD", 3), ("    CMD", 3)] {
        let line = container.lines().find(|line| line.starts_with(instruction.trim_start_matches('\n')));
        let list = line.unwrap().trim_start().split_once(' ').unwrap().1;
        let words: Vec<String> = serde_json::from_str(list).unwrap();
        assert_eq!(words.len(), expected, "{words:?}");
    }
    let documents = YamlLoader::load_from_str(&file("kubernetes/reprieve.yaml")).unwrap();
    let pod = &document(&documents, "Deployment")["spec"]["template"]["spec"];
    let words = |list: &Yaml| list.as_vec().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let in_pod: Vec<String> = words(&named(&pod["containers"], "reprieve")["args"]);
    let unit = file("systemd/reprieve.service");
    let in_unit: Vec<&str> =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap().split(' ').collect();

    let in_pod: Vec<&str> = in_pod.iter().map(String::as_str).collect();
    for arguments in [&in_pod[..], &in_unit[1..], &["run", "--log-format", "json"], &["status", "--alive"]] {
        // Clap reads all of them before it comes to the help.
        let (code, text) = Place::new("", "").call(&[arguments, &["--help"]].concat(), &[]);
        assert!(code == Some(0) && text.contains("Usage: reprieve"), "{arguments:?}: {text}");
    }
}

#[test]
fn the_systemd_unit_fits_the_program() {
    let unit = file("systemd/reprieve.service");
    let value = |key: &str| {
        let found = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("the unit has no {key}"))
    };
    let place = place();
    let state = format!("/var/lib/{}", value("StateDirectory"));
    let mounts = [
        ("/run/credentials/reprieve.service", "secrets"),
        ("/etc/reprieve/policies", "policies"),
        (state.as_str(), "state"),
    ];
    let config = check(&place, &file("systemd/reprieve.toml"), &mounts);
    let stop: u64 = value("TimeoutStopSec").parse().unwrap();
    assert!(stop >= config.host.shutdown_timeout.as_secs() + ENDING);
    assert_eq!(value("Type"), "notify");
    // The unit gives exactly the credentials that the configuration names.
    let given: BTreeSet<&str> =
        unit.lines().filter_map(|line| line.strip_prefix("LoadCredential=")?.split(':').next()).collect();
    assert_eq!(given, BTreeSet::from(["amqp-url", "admin-token"]));
    // Each comes from a file of its name, so the guide's copy of the configuration can be checked before a start.
    for name in given {
        assert!(unit.contains(&format!("LoadCredential={name}:/etc/reprieve/secrets/{name}\n")), "{name}");
    }
    assert!(OPERATIONS.contains("sed 's#/run/credentials/reprieve.service#/etc/reprieve/secrets#'"));
}

#[test]
fn systemd_understands_the_unit() {
    let place = Place::new("", "");
    // The program is to be there, and executable.
    let unit =
        file("systemd/reprieve.service").replace("/usr/local/bin/reprieve", crate::place::program().to_str().unwrap());
    place.write("reprieve.service", unit);
    let output = std::process::Command::new("systemd-analyze")
        .arg("verify")
        .arg(place.path("reprieve.service"))
        .output()
        .expect("systemd-analyze is there: `cargo xtask test` installs it, and so does apt-get install systemd");
    let told = String::from_utf8_lossy(&output.stderr);
    let of_ours: Vec<&str> = told.lines().filter(|line| line.contains("reprieve.service")).collect();
    assert!(output.status.success() && of_ours.is_empty(), "{told}");
}

#[test]
fn the_alarm_rules_go_by_metrics_labels_and_values_that_exist() {
    let rules = YamlLoader::load_from_str(&file("prometheus/rules.yaml")).unwrap();
    let rules = rules[0]["groups"][0]["rules"].as_vec().unwrap();
    let metrics = every_metric();
    let known: BTreeSet<&str> =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(rules.len() >= 5);
    let has_alarm = |name: &str| rules.iter().any(|rule| rule["expr"].as_str().unwrap().contains(name));
    for name in ["store_failures_total", "absent(reprieve_dead_letter_depth", "event=\"parked\""] {
        assert!(has_alarm(name), "no alarm for {name}");
    }
    for rule in rules {
        let expression = rule["expr"].as_str().unwrap();
        let of_ours: Vec<&str> = words(expression).filter(|word| word.starts_with("reprieve_")).collect();
        for name in &of_ours {
            let is_known = |name: &str| known.contains(name) || known.contains(name.trim_end_matches("_total"));
            assert!(is_known(name), "{name} is no metric: {known:?}");
        }
        for event in expression.split("event=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(metrics.contains(&format!("event=\"{event}\"")), "{event} is no event");
        }
        assert!(!of_ours.is_empty() || expression.starts_with("up{"), "{expression}");
        assert!(rule["annotations"]["summary"].as_str().is_some_and(|text| text.contains("{{ $labels.")), "{rule:?}");
    }
    // And the guide names every metric that there is.
    for name in known {
        assert!(OPERATIONS.contains(&format!("`{name}`")), "docs/operations.md does not explain {name}");
    }
}

/// What `/metrics` answers once everything that is counted has happened.
fn every_metric() -> String {
    let (observer, route) = (Observer::new(), "orders".into());
    let subject = Subject { id: None, source: "orders".into(), attempt: 1 };
    let ruling = Ruling {
        error_kind: "timeout".into(),
        maker: None,
        verdict: Verdict::new(Action::Drop, "enough"),
        fault: None,
        overridden: Some("no such tier".into()),
    };
    let fault = Fault::new(FaultKind::Trap, "unreachable");
    observer.metrics().route(&route);
    observer.metrics().set_dead_letter_depth(&route, "default", "orders.dlq", Some(1));
    observer.metrics().spans_lost().count("queue-full", 1);
    observer.metrics().journal().lost("queue-full", 1);
    let candidate = observer.metrics().candidate(&route, "canary");
    candidate.decided("changed", std::time::Duration::ZERO);
    candidate.changed("retry", "drop");
    for event in [
        EventKind::Parked { subject: subject.clone(), ruling: ruling.clone(), file: "orders-1.json".into() },
        EventKind::Dropped { subject: subject.clone(), ruling: ruling.clone() },
        EventKind::DeadLettered { subject: subject.clone(), ruling, topic: "orders.dlq".into() },
        EventKind::PolicyFailed { subject: subject.clone(), maker: None, fault },
        EventKind::Skipped { subject, why: SkipReason::AckLost },
    ] {
        observer.emit(&route, event);
    }
    observer.metrics().encode()
}

fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
}
