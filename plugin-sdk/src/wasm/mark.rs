//! A custom section with the name and version of this SDK, for hosts and tools to show.
#![allow(unsafe_code, reason = "a name for a section is unsafe by its syntax; this one has no meaning to a linker")]

const TEXT: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

#[used]
#[unsafe(link_section = "reprieve:sdk")]
static SDK: [u8; TEXT.len()] = {
    let mut bytes = [0; TEXT.len()];
    bytes.copy_from_slice(TEXT.as_bytes());
    bytes
};
