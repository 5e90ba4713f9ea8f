//! Is this file a policy? Answered without running or compiling any of it.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wasmparser::{Chunk, ComponentExternalKind, Parser, Payload, Validator};
use wit_component::ComponentEncoder;

use super::super::rejection::Rejection;
use super::super::text::one_line;
use super::INTERFACE_VERSION;
use super::config::FEATURES;

/// The exported interface, without its version.
const EXPORT: &str = "reprieve:policy/policy@";
/// What may be imported, without versions: the log, and types that are only names.
const IMPORTS: [&str; 2] = ["reprieve:policy/log@", "reprieve:policy/types@"];
/// How many imports a message names.
const NAMED_IMPORTS: usize = 5;

/// The file as a component that exports the policy interface in the version of this host and imports nothing else than
/// the log. A core module is wrapped.
///
/// # Errors
/// What the file is instead.
pub(super) fn component(bytes: &[u8], file_size: usize) -> Result<Cow<'_, [u8]>, Rejection> {
    if bytes.len() > file_size {
        return Err(Rejection::TooLarge { size: bytes.len(), limit: file_size });
    }
    validate(bytes)?;
    let component = if Parser::is_component(bytes) { Cow::Borrowed(bytes) } else { Cow::Owned(wrap(bytes)?) };
    check_world(&component)?;
    Ok(component)
}

fn validate(bytes: &[u8]) -> Result<(), Rejection> {
    if bytes.is_empty() {
        return Err(Rejection::Empty);
    }
    // Wasmtime's own precompiled form is such a file too. Loading it would be to run whatever is in it, unchecked.
    if bytes.starts_with(b"\x7fELF") {
        return Err(Rejection::Native);
    }
    let magic = b"\0asm";
    if !bytes.starts_with(magic) && !magic.starts_with(bytes) {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]);
        return Err(Rejection::NotWasm { start: one_line(&start, 24) });
    }
    match Validator::new_with_features(FEATURES).validate_all(bytes) {
        Ok(_) => Ok(()),
        Err(_) if is_truncated(bytes) => Err(Rejection::Truncated { size: bytes.len() }),
        Err(error) => Err(Rejection::Invalid { cause: error.to_string() }),
    }
}

/// Whether the file ends inside a section. One that ends between two looks like a smaller file that is whole.
fn is_truncated(bytes: &[u8]) -> bool {
    let mut parser = Parser::new(0);
    let mut outer = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        match parser.parse(rest, false) {
            Ok(Chunk::NeedMoreData(_)) => return true,
            Err(_) => return false,
            Ok(Chunk::Parsed { consumed, payload }) => {
                rest = &rest[consumed..];
                match payload {
                    Payload::ModuleSection { parser: inner, .. } | Payload::ComponentSection { parser: inner, .. } => {
                        outer.push(std::mem::replace(&mut parser, inner));
                    }
                    Payload::End(_) => match outer.pop() {
                        Some(enclosing) => parser = enclosing,
                        None => return false,
                    },
                    _ => {}
                }
            }
        }
    }
    !outer.is_empty()
}

/// Makes a component of a core module.
fn wrap(module: &[u8]) -> Result<Vec<u8>, Rejection> {
    let mut described = false;
    let mut foreign = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(invalid)? {
            Payload::CustomSection(section) => described |= section.name().starts_with("component-type"),
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.map_err(invalid)?;
                    if !import.module.starts_with("reprieve:policy/") {
                        foreign.push(format!("{}.{}", import.module, import.name));
                    }
                }
            }
            _ => {}
        }
    }
    refuse_imports(foreign)?;
    if !described {
        return Err(Rejection::NotAPolicy { missing: "it has no component-type section" });
    }
    // The encoder takes its input for trusted; the bytes are validated above, and a panic stays here all the same.
    let encoded =
        catch_unwind(AssertUnwindSafe(|| ComponentEncoder::default().module(module)?.validate(true).encode()));
    match encoded {
        Ok(Ok(component)) => Ok(component),
        Ok(Err(error)) => Err(Rejection::Invalid { cause: format!("{error:#}") }),
        Err(_) => Err(Rejection::Invalid { cause: "it cannot be made a component".into() }),
    }
}

/// Checks the names of what the component exports and imports.
fn check_world(component: &[u8]) -> Result<(), Rejection> {
    let mut version = None;
    let mut foreign = Vec::new();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports {
                    let export = export.map_err(invalid)?;
                    let found = export.name.name.strip_prefix(EXPORT);
                    // A component may serve several versions.
                    if export.kind == ComponentExternalKind::Instance && version != Some(INTERFACE_VERSION) {
                        version = found.or(version);
                    }
                }
            }
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let name = import.map_err(invalid)?.name.name;
                    if !IMPORTS.iter().any(|known| name.starts_with(known)) {
                        foreign.push(name.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    match version {
        Some(INTERFACE_VERSION) => refuse_imports(foreign),
        Some(found) => Err(Rejection::WrongWorld { found: one_line(found, 64), supported: INTERFACE_VERSION }),
        None => {
            refuse_imports(foreign)?;
            Err(Rejection::NotAPolicy { missing: "it does not export the interface reprieve:policy/policy" })
        }
    }
}

fn refuse_imports(mut imports: Vec<String>) -> Result<(), Rejection> {
    if imports.is_empty() {
        return Ok(());
    }
    let more = imports.len().saturating_sub(NAMED_IMPORTS);
    imports.truncate(NAMED_IMPORTS);
    for name in &mut imports {
        *name = one_line(name, 100);
    }
    if more > 0 {
        imports.push(format!("{more} more"));
    }
    Err(Rejection::Imports { imports })
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn invalid(error: wasmparser::BinaryReaderError) -> Rejection {
    Rejection::Invalid { cause: error.to_string() }
}
