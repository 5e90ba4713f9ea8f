//! The files that the reload under way refused, whatever the route: each is compiled and judged once, however many routes
//! name it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::policy::folder::PolicyFile;

/// Why each was refused, by its digest. Clones share it. A later reload tries again: a timeout may pass.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedFiles(Arc<Mutex<HashMap<String, String>>>);

impl RefusedFiles {
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(super) fn why(&self, file: &PolicyFile) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&file.digest).cloned()
    }

    pub(super) fn remember(&self, file: &PolicyFile, why: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(file.digest.clone(), why);
    }
}
