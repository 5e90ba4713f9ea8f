//! The cases that a policy file carries: a custom section that holds a JSON list of tables.

use serde_json::Value;
use wasmparser::{Parser, Payload};

use super::{Case, CaseError, CaseTable, MAX_CASES};

/// The most bytes that the section may have: 250 for each of a thousand cases. Small tables become a hundred times as large
/// when they are read, before anything of them is known.
const MAX_BYTES: usize = 256 * 1024;

/// The custom section's name.
pub const CASES_SECTION: &str = "reprieve:cases";

/// The tables as the section holds them.
///
/// # Errors
/// More cases in all, or more bytes, than a policy may carry.
pub fn encode(tables: &[CaseTable]) -> Result<Vec<u8>, CaseError> {
    check_count(tables.iter().map(|table| table.cases.len()).sum())?;
    let written: Vec<&Value> = tables.iter().map(|table| &table.written).collect();
    let section = serde_json::to_vec(&written).expect("JSON values have text for keys");
    check_size(section.len())?;
    Ok(section)
}

/// The cases that a file carries; none where it has no such section. The file has to be WebAssembly.
///
/// # Errors
/// What is wrong with the section.
pub fn carried(file: &[u8]) -> Result<Vec<Case>, CaseError> {
    let mut sections = sections(file);
    let Some(section) = sections.next() else { return Ok(Vec::new()) };
    if sections.next().is_some() {
        return Err(wrong(format!("there are several sections {CASES_SECTION}")));
    }
    check_size(section.len())?;
    let tables: Vec<Value> =
        serde_json::from_slice(section).map_err(|error| wrong(format!("not a JSON list: {error}")))?;
    let mut cases = Vec::new();
    for table in tables {
        cases.extend(CaseTable::cases_of(table)?);
        check_count(cases.len())?;
    }
    Ok(cases)
}

fn check_count(cases: usize) -> Result<(), CaseError> {
    if cases <= MAX_CASES {
        return Ok(());
    }
    Err(wrong(format!("more than {MAX_CASES} cases, which is the most that a policy carries")))
}

fn check_size(bytes: usize) -> Result<(), CaseError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(wrong(format!("{bytes} bytes of cases; a policy carries at most {MAX_BYTES} (256 KiB)")))
}

fn wrong(message: String) -> CaseError {
    CaseError { place: None, case: None, message }
}

/// The sections of that name, in a module or in whatever a component is made of.
fn sections(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    Parser::new(0).parse_all(file).filter_map(|payload| match payload {
        Ok(Payload::CustomSection(section)) if section.name() == CASES_SECTION => Some(section.data()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{CustomSection, Module};

    use super::*;

    fn table(cases: usize, settings: &str) -> CaseTable {
        let case = |n| format!("{{ \"name\": \"case {n}\", \"expect\": {{ \"action\": \"drop\" }} }}");
        let cases = (0..cases).map(case).collect::<Vec<_>>().join(",");
        CaseTable::from_json(&format!("{{ \"settings\": {settings:?}, \"case\": [{cases}] }}")).unwrap()
    }

    fn module(sections: &[&[u8]]) -> Vec<u8> {
        let mut module = Module::new();
        for section in sections {
            module.section(&CustomSection { name: CASES_SECTION.into(), data: (*section).into() });
        }
        module.finish()
    }

    fn names(file: &[u8]) -> Result<Vec<String>, String> {
        carried(file).map(|cases| cases.into_iter().map(|case| case.name).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_goes_in_comes_out() {
        let section = encode(&[table(2, ""), table(1, "other")]).unwrap();
        assert_eq!(names(&module(&[&section])).unwrap(), ["case 0", "case 1", "case 0"]);
        assert_eq!(names(&module(&[])).unwrap(), [""; 0]);
    }

    #[test]
    fn a_policy_carries_a_thousand_cases_and_no_more() {
        assert!(encode(&[table(600, ""), table(400, "")]).is_ok());
        let more = encode(&[table(600, ""), table(401, "")]).unwrap_err().to_string();
        assert!(more.starts_with("more than 1000 cases"), "{more}");
        let written = [table(600, "").written, table(401, "").written];
        assert!(names(&module(&[&serde_json::to_vec(&written).unwrap()])).unwrap_err().starts_with("more than 1000"));
    }

    #[test]
    fn a_section_is_bounded_in_bytes() {
        let large = table(1, &"s".repeat(MAX_BYTES));
        assert!(
            encode(std::slice::from_ref(&large))
                .unwrap_err()
                .message
                .contains("a policy carries at most 262144 (256 KiB)")
        );
        let section = serde_json::to_vec(&[large.written]).unwrap();
        assert!(names(&module(&[&section])).unwrap_err().contains("a policy carries at most 262144 (256 KiB)"));
    }

    #[test]
    fn a_section_that_is_no_list_of_tables_is_refused() {
        for (section, message) in [
            (&b"nonsense"[..], "not a JSON list: "),
            (b"{}", "not a JSON list: "),
            (b"[5]", "invalid type: integer `5`, expected a table of cases"),
            (b"[{}]", "it has no cases"),
            (b"[{\"case\": [{\"name\": \"a\"}]}]", "case \"a\": missing field `expect`"),
        ] {
            let found = names(&module(&[section])).unwrap_err();
            assert!(found.starts_with(message), "{found}");
        }
        assert!(names(&module(&[b"[]", b"[]"])).unwrap_err().starts_with("there are several sections"));
        assert!(
            names(&module(&["[".repeat(100_000).as_bytes()])).unwrap_err().starts_with("not a JSON list: recursion")
        );
    }
}
