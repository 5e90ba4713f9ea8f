//! What loads, and what it becomes.

use reprieve::policy::engine::{Candidate, Start};
use reprieve::policy::rejection::Rejection;
use reprieve::verdict::{Action, FaultKind, Verdict};
use serde_json::json;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};

use crate::support::{component, engine, failure, load, module, obedient, rejection, replaced, route};

#[test]
fn a_core_module_and_a_component_both_load_as_they_are() {
    for bytes in [module("counter"), component("counter")] {
        let revision = load(&bytes, &json!({})).unwrap();
        assert_eq!(revision.start(), Start::Snapshot);
        assert_eq!(revision.description().name, "policy-counter");
        assert_eq!(revision.maker().policy, "test");
        let verdict = revision.decide(&failure("timeout")).unwrap();
        assert_eq!(verdict, Verdict::new(Action::DeadLetter { label: None }, "1"));
    }
}

#[test]
fn every_decision_gets_a_clean_instance() {
    let revision = load(&module("counter"), &json!({})).unwrap();
    for _ in 0..20 {
        assert_eq!(revision.decide(&failure("timeout")).unwrap().reason, "1");
    }
}

#[test]
fn a_policy_that_cannot_be_snapshot_is_configured_for_each_decision() {
    let revision = load(&with_a_table_write(&module("misbehaving")), &json!({ "do": "retry", "millis": 40 })).unwrap();
    assert_eq!(revision.start(), Start::ConfigureEach);
    assert_eq!(serde_json::to_value(revision.start()).unwrap(), "configure-each");
    assert_eq!(revision.decide(&failure("any")).unwrap().action, Action::Retry { delay_ms: 40 });

    let revision = load(&with_a_table_write(&module("misbehaving")), &json!({})).unwrap();
    assert_eq!(revision.decide(&failure("panic")).unwrap_err().kind, FaultKind::Trap);
    for _ in 0..3 {
        assert_eq!(revision.decide(&failure("count")).unwrap().reason, "1");
    }
}

#[test]
fn a_revision_names_file_route_and_settings() {
    let (counter, other) = (module("misbehaving"), component("misbehaving"));
    let engine = engine(Default::default());
    let digest = |bytes: &[u8], source: &str, settings: serde_json::Value| {
        let mut route = route();
        route.source = source.into();
        let revision = engine.load(&Candidate { name: "p", bytes, route: &route, settings: &settings }).unwrap();
        revision.maker().revision.clone()
    };
    let first = digest(&counter, "orders", json!({}));
    assert_eq!(first.len(), 64);
    assert_eq!(first, digest(&counter, "orders", json!({})));
    assert_ne!(first, digest(&other, "orders", json!({})));
    assert_ne!(first, digest(&counter, "returns", json!({})));
    assert_ne!(first, digest(&counter, "orders", json!({ "do": "drop" })));
}

#[test]
fn settings_that_the_policy_refuses_are_reported_with_their_places() {
    let Rejection::Settings(problems) = load(&module("misbehaving"), &json!({ "configure": "reject" })).unwrap_err()
    else {
        panic!("the settings are refused")
    };
    let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["/configure: told to reject this setting", "told to reject the settings as a whole"]);
}

#[test]
fn a_policy_that_faults_while_it_is_configured_is_refused_with_the_panic_in_the_message() {
    let rejection = load(&module("misbehaving"), &json!({ "configure": "panic" })).unwrap_err();
    let message = rejection.to_string();
    assert!(message.contains("taking its settings") && message.contains("told to panic in configure"), "{message}");

    let rejection = load(&module("misbehaving"), &json!({ "configure": "eat-memory" })).unwrap_err();
    assert!(matches!(rejection, Rejection::Faulted { fault, .. } if fault.kind == FaultKind::Memory));
}

#[test]
fn a_policy_that_faults_on_a_made_up_failure_is_refused() {
    let message = load(&module("misbehaving"), &json!({ "do": "panic" })).unwrap_err().to_string();
    assert!(message.contains("the first attempt") && message.contains("told to panic in decide"), "{message}");
}

#[test]
fn a_policy_whose_memory_is_larger_than_allowed_is_refused() {
    struct Grown;
    impl Reencode for Grown {
        type Error = std::convert::Infallible;

        fn memory_type(
            &mut self,
            mut memory: wasmparser::MemoryType,
        ) -> Result<wasm_encoder::MemoryType, wasm_encoder::reencode::Error> {
            memory.initial = 1000;
            RoundtripReencoder.memory_type(memory)
        }
    }
    let mut grown = wasm_encoder::Module::new();
    Grown.parse_core_module(&mut grown, wasmparser::Parser::new(0), &module("counter")).unwrap();
    let rejection = rejection(&grown.finish());
    assert!(matches!(rejection, Rejection::Compile { .. }), "{rejection}");
    assert!(rejection.to_string().contains("limits under [policies]"), "{rejection}");
}

#[test]
fn a_policy_that_lacks_a_function_of_the_interface_is_refused() {
    let rejection = rejection(&replaced(&component("counter"), b"describe", b"describd"));
    assert!(matches!(&rejection, Rejection::WrongTypes { .. }), "{rejection}");
}

#[test]
fn an_unknown_version_of_the_interface_is_named_beside_the_known_one() {
    let rejection = rejection(&replaced(&component("counter"), b"@0.1.0", b"@0.2.0"));
    assert!(
        matches!(&rejection, Rejection::WrongWorld { found, supported: "0.1.0" } if found == "0.2.0"),
        "{rejection}"
    );
}

#[test]
fn what_a_policy_says_of_itself_is_known() {
    let revision = obedient();
    assert_eq!(revision.description().settings_schema, Some(json!({ "type": "object" })));
    assert_eq!(revision.file_digest().len(), 64);
}

/// Adds a function that writes to a table, which a snapshot cannot represent.
fn with_a_table_write(module: &[u8]) -> Vec<u8> {
    struct Added {
        types: u32,
    }
    impl Reencode for Added {
        type Error = std::convert::Infallible;

        fn parse_type_section(
            &mut self,
            types: &mut wasm_encoder::TypeSection,
            section: wasmparser::TypeSectionReader<'_>,
        ) -> Result<(), wasm_encoder::reencode::Error> {
            wasm_encoder::reencode::utils::parse_type_section(&mut RoundtripReencoder, types, section)?;
            self.types = types.len();
            types.ty().function([], []);
            Ok(())
        }

        fn parse_function_section(
            &mut self,
            functions: &mut wasm_encoder::FunctionSection,
            section: wasmparser::FunctionSectionReader<'_>,
        ) -> Result<(), wasm_encoder::reencode::Error> {
            wasm_encoder::reencode::utils::parse_function_section(&mut RoundtripReencoder, functions, section)?;
            functions.function(self.types);
            Ok(())
        }

        fn parse_code_section(
            &mut self,
            code: &mut wasm_encoder::CodeSection,
            section: wasmparser::CodeSectionReader<'_>,
        ) -> Result<(), wasm_encoder::reencode::Error> {
            wasm_encoder::reencode::utils::parse_code_section(&mut RoundtripReencoder, code, section)?;
            let mut function = wasm_encoder::Function::new([]);
            function.instructions().i32_const(0).ref_null(wasm_encoder::HeapType::FUNC).table_set(0).end();
            code.function(&function);
            Ok(())
        }
    }
    let mut out = wasm_encoder::Module::new();
    Added { types: 0 }.parse_core_module(&mut out, wasmparser::Parser::new(0), module).unwrap();
    out.finish()
}
