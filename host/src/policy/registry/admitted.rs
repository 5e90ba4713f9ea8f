//! What may be loaded: a policy whose file is trusted.

use std::sync::Arc;

use super::RoutePolicy;
use super::load::off_path;
use super::reloader::Tools;
use crate::policy::embedded;
use crate::policy::last_good::LastGood;
use crate::policy::status::Source;
use crate::policy::trust::KeyId;

/// A policy that may be loaded on a route. Only [`admit`] makes one, so nothing is compiled that was not checked.
#[derive(Debug, Clone)]
pub(super) struct Admitted {
    policy: LastGood,
    source: Source,
    signed_by: Option<KeyId>,
}

impl Admitted {
    pub(super) const fn policy(&self) -> &LastGood {
        &self.policy
    }

    pub(super) const fn source(&self) -> Source {
        self.source
    }

    /// The key, where a signature was demanded.
    pub(super) const fn signed_by(&self) -> Option<KeyId> {
        self.signed_by
    }
}

/// Checks the very bytes that are loaded afterwards. Policies that are part of the program need no more trust than the
/// program, also where they come from the state folder.
///
/// # Errors
/// Which file, why it is not trusted, and the cure.
pub(super) async fn admit(
    tools: &Tools,
    route: &Arc<RoutePolicy>,
    source: Source,
    policy: LastGood,
) -> Result<Admitted, String> {
    let title = tools.title(&policy.policy, source);
    let (trust, route) = (Arc::clone(&tools.trust), Arc::clone(route));
    off_path(move || {
        let exempt = source != Source::Folder && embedded::is_embedded(&policy.file.bytes);
        let checked = if exempt { Ok(None) } else { trust.check(&policy.file, route.policy_digest.as_ref()) };
        match checked {
            Ok(signed_by) => Ok(Admitted { policy, source, signed_by }),
            // Nobody can sign or replace a copy that the host keeps.
            Err(distrust) if source == Source::LastGood => {
                let (what, name) = (distrust.what(), &policy.policy);
                Err(format!("{title}: {what}; put a trusted {name}.wasm into the policies folder"))
            }
            Err(distrust) => Err(format!("{title}: {distrust}")),
        }
    })
    .await?
}
