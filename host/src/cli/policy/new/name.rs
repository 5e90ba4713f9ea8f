//! Names that a policy's crate can have.

/// Longer ones are a nuisance as names of files and in tables.
const MAX_LENGTH: usize = 64;

/// The crates that every policy depends on, and the policy that a host has without a file.
const TAKEN: [&str; 3] = ["reprieve-sdk", "serde", "standard"];

/// The name, where a crate and a policy's file can have it. What cargo has against it as well, cargo says itself.
pub(super) fn parse(name: &str) -> Result<String, String> {
    let begins_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    let plain =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || "-_".contains(character);
    if !begins_well || !name.chars().all(plain) {
        return Err(
            "write small letters, digits, `-` and `_`, beginning with a letter, such as orders-policy".to_owned()
        );
    }
    if name.len() > MAX_LENGTH {
        return Err(format!("it has {} characters, and may have {MAX_LENGTH}", name.len()));
    }
    if TAKEN.contains(&name.replace('_', "-").as_str()) {
        return Err(format!(
            "{name} is taken: policies depend on a crate of this name, or a host has such a policy built in"
        ));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_crates_and_files_are_taken() {
        for name in ["orders", "by-tenant_2", "a", &"x".repeat(64)] {
            assert_eq!(parse(name).as_deref(), Ok(name));
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "Orders", "2nd", "-x", "_x", "a b", "a/b", "../a", "größe", "a.next", &"x".repeat(65)] {
            assert!(parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_policy_does_not_hide_what_it_depends_on() {
        for name in TAKEN.into_iter().chain(["reprieve_sdk"]) {
            assert!(parse(name).unwrap_err().contains("taken"), "{name}");
        }
    }
}
