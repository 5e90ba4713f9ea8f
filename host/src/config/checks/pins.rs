//! Whether each pinned route could ever load the file that it is pinned to.

use std::collections::HashMap;

use super::Checks;

pub(super) fn check(checks: &Checks<'_, '_>) {
    let mut pins = HashMap::new();
    for route in checks.routes {
        let Some(pin) = &route.policy_digest else { continue };
        let Some(policy) = &route.policy else {
            checks.problems.error(
                &pin.span(),
                format!("{} pins a file and names no policy", route.title),
                "add policy = \"…\", or leave `policy_digest` out: the embedded standard policy is part of the program",
            );
            continue;
        };
        if checks.policies.trust.allow.as_ref().is_some_and(|allow| !allow.contains(pin.get_ref())) {
            checks.problems.error(
                &pin.span(),
                format!("{} is pinned to a file that `allow` under [policies] does not list", route.title),
                format!("add \"{}\" to `allow`, or pin a file that is there", pin.get_ref()),
            );
        }
        let (other, title) = pins.entry(*policy.get_ref()).or_insert((pin.get_ref(), &route.title));
        if *other != pin.get_ref() {
            checks.problems.error(
                &pin.span(),
                format!("{title} pins another digest of the same file, {}.wasm", policy.get_ref()),
                "give one of the two routes a file of its own, under another name",
            );
        }
    }
}
