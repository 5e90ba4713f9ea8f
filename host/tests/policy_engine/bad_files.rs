//! Files that are no policies: each is refused with a message that says what to do, and none panics.

use reprieve::policy::engine::EngineLimits;
use reprieve::policy::rejection::Rejection;
use serde_json::json;

use crate::support::{component, engine, load, load_into, module, rejection, replaced};

/// An empty core module, and an empty component.
const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";
const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

#[test]
fn an_empty_file_is_named_so() {
    assert!(matches!(rejection(b""), Rejection::Empty));
}

#[test]
fn a_text_is_shown_by_its_beginning() {
    let rejection = rejection(b"(module (func))\n");
    assert!(matches!(&rejection, Rejection::NotWasm { start } if start.starts_with("(module")), "{rejection}");
}

#[test]
fn precompiled_native_code_is_refused_as_such() {
    let mut config = wasmtime::Config::new();
    config.wasm_component_model(true);
    let compiled = wasmtime::Engine::new(&config).unwrap().precompile_component(&component("counter")).unwrap();
    let rejection = rejection(&compiled);
    assert!(matches!(rejection, Rejection::Native), "{rejection}");
}

#[test]
fn a_file_beyond_the_limit_is_refused_unread() {
    let engine = engine(EngineLimits { file_size: 1000, ..EngineLimits::default() });
    let rejection = load_into(&engine, &module("counter"), &json!({})).unwrap_err();
    assert!(matches!(rejection, Rejection::TooLarge { limit: 1000, .. }), "{rejection}");
}

#[test]
fn a_file_cut_anywhere_is_refused_without_a_panic() {
    for whole in [module("counter"), component("counter")] {
        for length in (1..64).chain((64..whole.len()).step_by(whole.len() / 61)) {
            let rejection = load(&whole[..length], &json!({})).expect_err("half a file is no policy");
            let fits = match length {
                // A file that ends after its header is whole, and empty.
                8 => matches!(rejection, Rejection::NotAPolicy { .. }),
                _ => matches!(rejection, Rejection::Truncated { .. }),
            };
            assert!(fits, "{length} bytes: {rejection}");
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let whole = module("counter");
    for at in (8..whole.len()).step_by(whole.len() / 9) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        // Some of these load: a byte of a text, say. That they answer at all is the point.
        let _ = load(&bytes, &json!({}));
    }
}

#[test]
fn webassembly_that_is_no_policy_is_told_from_a_policy() {
    for bytes in [EMPTY_MODULE, EMPTY_COMPONENT] {
        let rejection = rejection(bytes);
        assert!(matches!(rejection, Rejection::NotAPolicy { .. }), "{rejection}");
        assert!(rejection.to_string().contains("reprieve-sdk"), "{rejection}");
    }
}

#[test]
fn a_module_that_imports_wasi_is_refused_by_name() {
    let types = section(1, &[&[1, 0x60, 0, 0]]);
    let imports = section(2, &[&[1], &name("wasi_snapshot_preview1"), &name("proc_exit"), &[0, 0]]);
    let message = rejection(&[EMPTY_MODULE, &types, &imports].concat()).to_string();
    assert!(message.contains("wasi_snapshot_preview1.proc_exit"), "{message}");
    assert!(message.contains("wasm32-unknown-unknown"), "{message}");
}

#[test]
fn a_component_that_imports_wasi_is_refused_by_name() {
    let message = rejection(&wasi_component()).to_string();
    assert!(message.contains("wasi:cli/environment@0.2.3"), "{message}");
    assert!(message.contains("wasm32-unknown-unknown"), "{message}");
}

#[test]
fn what_the_host_does_not_run_is_refused() {
    // A memory with 64-bit addresses.
    let memory = section(5, &[&[1, 4, 1]]);
    let rejection = rejection(&[EMPTY_MODULE, &memory].concat());
    assert!(matches!(rejection, Rejection::Invalid { .. }), "{rejection}");
}

#[test]
fn each_message_says_what_is_wrong_and_what_to_do() {
    let small = engine(EngineLimits { file_size: 1000, ..EngineLimits::default() });
    let messages = [
        rejection(b""),
        rejection(b"(module (func))\n"),
        rejection(b"\x7fELF\x02\x01\x01"),
        rejection(&module("counter")[..1000]),
        load_into(&small, &[0; 1001], &json!({})).unwrap_err(),
        rejection(&[EMPTY_MODULE, &section(5, &[&[1, 4, 1]])].concat()),
        rejection(EMPTY_MODULE),
        rejection(EMPTY_COMPONENT),
        rejection(&replaced(&component("counter"), b"@0.1.0", b"@0.2.0")),
        rejection(&wasi_component()),
        load(&module("misbehaving"), &json!({ "configure": "reject" })).unwrap_err(),
        load(&module("misbehaving"), &json!({ "colour": "red" })).unwrap_err(),
    ];
    let messages: Vec<_> = messages.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

fn wasi_component() -> Vec<u8> {
    let types = section(7, &[&[1, 0x42, 0]]);
    let imports = section(10, &[&[1, 0], &name("wasi:cli/environment@0.2.3"), &[5, 0]]);
    [EMPTY_COMPONENT, &types, &imports].concat()
}

fn section(id: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&[id, u8::try_from(body.len()).unwrap()], body.as_slice()].concat()
}

fn name(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}
