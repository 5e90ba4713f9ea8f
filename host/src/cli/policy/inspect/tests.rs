use serde_json::json;

use super::*;
use crate::policy::embedded::STANDARD;
use crate::policy::inspection::{Form, Section};

fn section(name: &str, size: usize) -> Section {
    Section { name: name.into(), size }
}

/// A policy that is not built anew now and then.
fn inspected() -> Inspected {
    let schema = json!({
        "required": ["kinds"],
        "properties": {
            "kinds": { "type": "array", "items": { "type": "string" }, "description": "The kinds of errors that are tried again; all others are dead-lettered at once." },
            "retry": { "type": "object", "properties": {
                "factor": { "type": "number", "minimum": 1, "default": 2.0, "description": "Each delay is so many times the one before." },
            } },
        },
    });
    Inspected {
        policy: "my-policy".into(),
        interface: Some("0.1.0"),
        refused: None,
        needs: Some(Needs { body: None, headers: Some(vec!["tenant".into(), "tier".into()]), attributes: Vec::new() }),
        settings: settings_schema::settings(&schema),
        description: Some(Description {
            name: "my-policy".into(),
            version: "0.3.0".into(),
            summary: "Tries some errors again.".into(),
            settings_schema: Some(schema),
        }),
        cases: vec!["a time-out is tried again".into(), "all else is dead-lettered".into()],
        file: Inspection {
            size: 50_000,
            digest: "0123456789abcdef".repeat(4),
            form: Form::Module,
            sdk: Some("reprieve-sdk 0.1.0".into()),
            tools: vec!["Rust".into(), "rustc 1.95.0".into()],
            imports: vec!["reprieve:policy/log@0.1.0.log".into()],
            exports: vec!["memory".into(), "reprieve:policy/policy@0.1.0#decide".into()],
            sections: vec![
                section("code", 40_000),
                section("data", 9_000),
                section("component-type:wit-bindgen:0.61.1", 600),
                section("types", 200),
                section("globals", 7),
            ],
        },
    }
}

#[test]
fn a_policy_is_shown_with_its_settings_cases_and_sections() {
    insta::assert_snapshot!(View { inspected: &inspected(), width: 80, style: Style::PLAIN });
}

#[test]
fn what_a_host_would_refuse_is_shown_as_far_as_it_is_known() {
    let mut judged = Judged::example("standard", STANDARD);
    judged.settings = json!({ "when": 5 });
    let engine = Engine::new(judged.limits.clone()).unwrap();
    let inspected = Inspected::new(&judged, &engine).unwrap();
    assert!(inspected.refused.as_ref().is_some_and(|why| why.contains("refuses its settings")), "{inspected:?}");
    assert!(inspected.settings.iter().any(|setting| setting.name == "retry.max_attempts"), "{inspected:?}");
    let other = Judged::example("other", b"\0asm\x01\0\0\0");
    let text =
        View { inspected: &Inspected::new(&other, &engine).unwrap(), width: 80, style: Style::PLAIN }.to_string();
    assert!(text.contains("refused     the file is WebAssembly but not a policy"), "{text}");
}

#[test]
fn what_is_not_webassembly_is_an_error_with_a_cure() {
    let judged = Judged::example("note", b"hello there");
    let engine = Engine::new(judged.limits.clone()).unwrap();
    let error = Inspected::new(&judged, &engine).unwrap_err().to_string();
    assert!(error.starts_with("error: note is not WebAssembly") && error.contains("= help:"), "{error}");
}
