//! The cases that a policy file carries: a custom section that holds a JSON list of tables.

use serde_json::Value;
use wasmparser::{Parser, Payload};

use super::{Case, CaseError, CaseTable, MAX_CASES};

/// The most bytes that the section may have: what is read here becomes several times as large.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The custom section's name.
pub const CASES_SECTION: &str = "reprieve:cases";

/// The tables as the section holds them.
///
/// # Errors
/// More cases in all than a policy may carry.
pub fn encode(tables: &[CaseTable]) -> Result<Vec<u8>, CaseError> {
    too_many(tables.iter().map(|table| table.cases.len()).sum())?;
    let written: Vec<&Value> = tables.iter().map(|table| &table.written).collect();
    Ok(serde_json::to_vec(&written).expect("JSON values have text for keys"))
}

/// The cases that a file carries; none where it has no such section. The file has to be WebAssembly.
///
/// # Errors
/// What is wrong with the section.
pub fn carried(file: &[u8]) -> Result<Vec<Case>, CaseError> {
    let Some(section) = section(file) else { return Ok(Vec::new()) };
    let malformed = |message: String| CaseError { case: None, message };
    if section.len() > MAX_BYTES {
        return Err(malformed(format!("{} bytes of cases; a policy carries at most {MAX_BYTES}", section.len())));
    }
    let tables: Vec<Value> =
        serde_json::from_slice(section).map_err(|error| malformed(format!("not a JSON list: {error}")))?;
    let mut cases = Vec::new();
    for table in tables {
        cases.extend(CaseTable::from_value(table)?.cases);
        too_many(cases.len())?;
    }
    Ok(cases)
}

fn too_many(cases: usize) -> Result<(), CaseError> {
    if cases <= MAX_CASES {
        return Ok(());
    }
    Err(CaseError {
        case: None,
        message: format!("more than {MAX_CASES} cases, which is the most that a policy carries"),
    })
}

/// The first section of that name, in a module or in whatever a component is made of.
fn section(file: &[u8]) -> Option<&[u8]> {
    Parser::new(0).parse_all(file).find_map(|payload| match payload {
        Ok(Payload::CustomSection(section)) if section.name() == CASES_SECTION => Some(section.data()),
        _ => None,
    })
}
