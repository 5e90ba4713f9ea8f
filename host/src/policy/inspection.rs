//! What can be known of a policy file without running it.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use wasmparser::{KnownCustom, Parser, Payload};

use super::cases::{Case, CaseError, section};
use super::sha256;

/// The custom section that names the SDK that a policy is built with.
const SDK_SECTION: &str = "reprieve:sdk";
/// What a name from the file is cut to.
const MAX_NAME: usize = 128;

/// A policy file from outside. Says nothing about whether it is a policy: [`Engine::load`](super::engine::Engine::load)
/// does.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// Bytes in the file.
    pub size: usize,
    /// Hexadecimal SHA-256 of the file.
    pub digest: String,
    /// What kind of WebAssembly it is.
    pub form: Form,
    /// Name and version of the SDK, such as `reprieve-sdk 0.1.0`; `None` where it was built without, or its mark was
    /// stripped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk: Option<String>,
    /// The tools that made it, as it says itself: compilers and linkers with their versions.
    pub tools: Vec<String>,
    /// What its module or component imports, by name.
    pub imports: Vec<String>,
    /// What it exports, by name.
    pub exports: Vec<String>,
    /// Where its bytes are, largest first.
    pub sections: Vec<Section>,
}

/// The two kinds of WebAssembly that a policy can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A core module, which a host wraps when it loads it.
    Module,
    /// A component.
    Component,
}

/// A section of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// What it holds; a custom section by its own name.
    pub name: String,
    /// Its bytes.
    pub size: usize,
}

/// What was found so far, to be looked up: a file may have millions of sections and tools.
#[derive(Default)]
struct Seen {
    /// Bytes by the section's name.
    sections: BTreeMap<String, usize>,
    tools: HashSet<String>,
}

impl Inspection {
    /// Looks at a file.
    ///
    /// # Errors
    /// It is not WebAssembly.
    pub fn of(file: &[u8]) -> Result<Self, wasmparser::BinaryReaderError> {
        let mut inspection = Self {
            size: file.len(),
            digest: sha256::of(file),
            form: if Parser::is_component(file) { Form::Component } else { Form::Module },
            sdk: None,
            tools: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            sections: Vec::new(),
        };
        let mut seen = Seen::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(file) {
            let payload = payload?;
            match &payload {
                // Their insides come as payloads of their own.
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                _ => inspection.add(&payload, depth, &mut seen)?,
            }
        }
        let sections = seen.sections.into_iter().map(|(name, size)| Section { name, size });
        inspection.sections.extend(sections);
        inspection.sections.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.name.cmp(&b.name)));
        Ok(inspection)
    }

    /// The cases that the file carries.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn cases(file: &[u8]) -> Result<Vec<Case>, CaseError> {
        section::carried(file)
    }

    fn add(
        &mut self,
        payload: &Payload<'_>,
        depth: usize,
        seen: &mut Seen,
    ) -> Result<(), wasmparser::BinaryReaderError> {
        match payload {
            Payload::CustomSection(custom) => {
                if custom.name() == SDK_SECTION {
                    self.sdk = Some(name(&String::from_utf8_lossy(custom.data())));
                }
                if let KnownCustom::Producers(fields) = custom.as_known() {
                    self.add_tools(fields, &mut seen.tools)?;
                }
            }
            Payload::ImportSection(imports) if depth == 0 => {
                for import in imports.clone().into_imports() {
                    let import = import?;
                    self.imports.push(name(&format!("{}.{}", import.module, import.name)));
                }
            }
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports.clone() {
                    self.imports.push(name(import?.name.name));
                }
            }
            Payload::ExportSection(exports) if depth == 0 => {
                for export in exports.clone() {
                    self.exports.push(name(export?.name));
                }
            }
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports.clone() {
                    self.exports.push(name(export?.name.name));
                }
            }
            _ => {}
        }
        if let Some((title, size)) = extent(payload) {
            *seen.sections.entry(title).or_default() += size;
        }
        Ok(())
    }

    fn add_tools(
        &mut self,
        fields: wasmparser::ProducersSectionReader<'_>,
        seen: &mut HashSet<String>,
    ) -> Result<(), wasmparser::BinaryReaderError> {
        for field in fields {
            for value in field?.values {
                let value = value?;
                let tool = name(format!("{} {}", value.name, value.version).trim_end());
                if seen.insert(tool.clone()) {
                    self.tools.push(tool);
                }
            }
        }
        Ok(())
    }
}

fn name(text: &str) -> String {
    super::text::one_line(text, MAX_NAME)
}

/// What a section is called, and its bytes.
fn extent(payload: &Payload<'_>) -> Option<(String, usize)> {
    if let Payload::CustomSection(custom) = payload {
        return Some((name(custom.name()), custom.range().len()));
    }
    let (id, range) = payload.as_section()?;
    let title = match payload {
        Payload::CodeSectionStart { .. } => "code",
        Payload::DataSection(_) => "data",
        Payload::TypeSection(_) | Payload::ComponentTypeSection(_) | Payload::CoreTypeSection(_) => "types",
        Payload::ImportSection(_) | Payload::ComponentImportSection(_) => "imports",
        Payload::ExportSection(_) | Payload::ComponentExportSection(_) => "exports",
        Payload::FunctionSection(_) => "functions",
        Payload::TableSection(_) => "tables",
        Payload::MemorySection(_) => "memories",
        Payload::GlobalSection(_) => "globals",
        Payload::ElementSection(_) => "elements",
        _ => return Some((format!("section {id}"), range.len())),
    };
    Some((title.to_owned(), range.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::embedded::STANDARD;

    #[test]
    fn a_policy_is_known_from_outside() {
        let inspection = Inspection::of(STANDARD).unwrap();
        assert_eq!((inspection.form, inspection.size), (Form::Module, STANDARD.len()));
        assert_eq!(inspection.imports, ["reprieve:policy/log@0.1.0.log"]);
        assert!(inspection.exports.iter().any(|export| export.contains("decide")), "{:?}", inspection.exports);
        assert!(inspection.tools.iter().any(|tool| tool.starts_with("rustc ")), "{:?}", inspection.tools);
        let known: usize = inspection.sections.iter().map(|section| section.size).sum();
        assert!(known <= STANDARD.len() && known > STANDARD.len() * 9 / 10, "{known} of {} bytes", STANDARD.len());
        assert_eq!(inspection.sections[0].name, "code");
    }

    #[test]
    fn a_file_of_very_many_sections_and_tools_is_looked_at_in_a_moment() {
        use wasm_encoder::{CustomSection, Module, ProducersField, ProducersSection};

        const COUNT: usize = 200_000;
        let mut module = Module::new();
        for number in 0..COUNT {
            module.section(&CustomSection { name: format!("{number}").into(), data: (&[][..]).into() });
        }
        let mut field = ProducersField::new();
        for number in 0..COUNT {
            field.value(&format!("{number}"), "");
        }
        let mut producers = ProducersSection::new();
        producers.field("processed-by", &field);
        module.section(&producers);
        let began = std::time::Instant::now();
        let inspection = Inspection::of(&module.finish()).unwrap();
        assert_eq!((inspection.sections.len(), inspection.tools.len()), (COUNT + 1, COUNT));
        assert_eq!(inspection.tools[COUNT - 1], (COUNT - 1).to_string(), "in the order of the file");
        // Comparing each with each takes minutes.
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_not_webassembly_is_no_panic() {
        assert!(Inspection::of(b"hello").is_err());
        for length in 0..STANDARD.len().min(2000) {
            let _ = Inspection::of(&STANDARD[..length]);
        }
    }
}
