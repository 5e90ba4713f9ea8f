//! A module without what nobody reads.

use std::borrow::Cow;

use wasm_encoder::{CustomSection, Module, RawSection};
use wasmparser::{BinaryReaderError, Parser, Payload};

/// Whether somebody reads a custom section: the interface, which makes a component of the module; the functions' names,
/// which make a trap's backtrace readable; and our own.
fn is_read(name: &str) -> bool {
    name == "name" || name.starts_with("component-type") || name.starts_with("reprieve:")
}

/// The module without the other custom sections.
pub(super) fn shrink(module: &[u8]) -> Result<Vec<u8>, BinaryReaderError> {
    let mut small = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let Payload::CustomSection(custom) = &payload
            && !is_read(custom.name())
        {
            continue;
        }
        if let Some((id, range)) = payload.as_section() {
            small.section(&RawSection { id, data: &module[range] });
        }
    }
    Ok(small.finish())
}

/// The module with one more custom section.
pub(super) fn with_section(mut module: Vec<u8>, name: &str, data: &[u8]) -> Vec<u8> {
    let section = CustomSection { name: Cow::Borrowed(name), data: Cow::Borrowed(data) };
    wasm_encoder::Section::append_to(&section, &mut module);
    module
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::embedded::STANDARD;

    fn custom_sections(module: &[u8]) -> Vec<String> {
        let custom = |payload: Payload<'_>| match payload {
            Payload::CustomSection(custom) => Some(custom.name().to_owned()),
            _ => None,
        };
        Parser::new(0).parse_all(module).filter_map(|payload| custom(payload.unwrap())).collect()
    }

    #[test]
    fn only_the_custom_sections_that_somebody_reads_are_kept() {
        let module = with_section(STANDARD.to_vec(), "reprieve:cases", b"[]");
        let module = with_section(with_section(module, ".debug_info", &[0; 1000]), "producers", b"\0");
        let small = shrink(&module).unwrap();
        wasmparser::validate(&small).unwrap();
        assert!(small.len() < STANDARD.len(), "{} bytes, from {}", small.len(), STANDARD.len());
        let kept = custom_sections(&small);
        assert!(kept.iter().any(|name| name.starts_with("component-type")), "{kept:?}");
        assert!(kept.iter().any(|name| name == "name"), "{kept:?}");
        assert!(!kept.iter().any(|name| name == ".debug_info" || name == "producers"), "{kept:?}");
        assert_eq!(kept.last().map(String::as_str), Some("reprieve:cases"));
    }

    #[test]
    fn what_is_small_already_stays_as_it_is() {
        let small = shrink(STANDARD).unwrap();
        assert_eq!(shrink(&small).unwrap(), small);
    }
}
