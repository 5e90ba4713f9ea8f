//! What the operator must know before a swap: which files are taken at all, at the start and after each change.

use crate::policy::trust::{FileDigest, PublicKey, Trust};

/// Tells what is demanded of every file, and what is no longer.
pub(super) fn trust(before: Option<&Trust>, now: &Trust) {
    for line in of_trust(before, now) {
        tracing::info!("{line}");
    }
}

/// Tells which file a route is pinned to, rather than at the first one that is refused: a pin and hot swapping exclude each
/// other.
pub(super) fn pin(route: &str, policy: &str, before: Option<&FileDigest>, now: Option<&FileDigest>) {
    match (before, now) {
        (_, Some(pin)) => tracing::info!(
            route,
            policy,
            policy_digest = %pin,
            "the route is pinned to one file: a file with another digest is not taken; to swap, change the route's `policy_digest` and send SIGHUP"
        ),
        (Some(_), None) => {
            tracing::info!(
                route,
                policy,
                "the route is no longer pinned: whatever file has the policy's name is taken"
            );
        }
        (None, None) => {}
    }
}

fn of_trust(before: Option<&Trust>, now: &Trust) -> Vec<String> {
    let mut lines = Vec::new();
    match (&now.allow, before.and_then(|before| before.allow.as_ref())) {
        (Some(allow), _) => lines.push(format!(
            "only policy files with these digests are loaded; to swap to another, add its digest to `allow` under [policies] and send SIGHUP: {}",
            listed(allow)
        )),
        (None, Some(_)) => lines.push("policy files need not be on a list any more: `allow` is gone".into()),
        (None, None) => {}
    }
    match (&now.public_keys, before.and_then(|before| before.public_keys.as_ref())) {
        (Some(keys), _) => lines.push(format!(
            "only policy files that one of these keys signed are loaded; the signature lies beside the file, as NAME.wasm.minisig: {}",
            listed(keys.iter().map(PublicKey::id))
        )),
        (None, Some(_)) => lines.push("policy files need not be signed any more: `public_keys` is gone".into()),
        (None, None) => {}
    }
    if now.is_open() && before.is_some_and(|before| !before.is_open()) {
        lines.push("every policy file in the folder is loaded from now on, unless its route is pinned".into());
    }
    lines
}

fn listed(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::trust::signing::Signer;

    #[test]
    fn a_demand_is_told_at_the_start_and_its_end_when_it_is_gone() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let signer = Signer::new(1);
        let key: PublicKey = signer.public_key().parse().unwrap();
        let id = key.id().to_string();
        let open = Trust::default();
        let list = Trust { allow: Some([digest.parse().unwrap()].into()), ..Trust::default() };
        let both = Trust { public_keys: Some(vec![key]), ..list.clone() };
        let told = |before, now, parts: &[&str]| {
            let lines = of_trust(before, now);
            assert_eq!(lines.len(), parts.len(), "{lines:?}");
            lines.iter().zip(parts).for_each(|(line, part)| assert!(line.contains(part), "{line}"));
        };
        told(None, &open, &[]);
        told(None, &both, &[&digest, &id]);
        told(Some(&both), &list, &[&digest, "`public_keys` is gone"]);
        told(Some(&list), &open, &["`allow` is gone", "every policy file in the folder is loaded from now on"]);
        told(Some(&both), &open, &["`allow` is gone", "`public_keys` is gone", "every policy file in the folder"]);
        told(Some(&open), &list, &[&digest]);
    }
}
