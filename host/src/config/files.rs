//! The policy files that a configuration names, on disk.

use std::io;
use std::path::Path;

use super::problem::{Problem, Severity};
use super::suggestion::list;
use super::{Config, settings};
use crate::policy::trust::Distrust;

impl Config {
    /// The routes whose policy is not in the policies folder, each as an error with what is there. Reads the folder.
    ///
    /// At start this is not fatal: the state folder may hold a last good copy.
    #[must_use]
    pub fn missing_policies(&self) -> Vec<Problem> {
        let Some(folder) = &self.policies.folder else { return Vec::new() };
        let named = self
            .routes
            .iter()
            .zip(&self.places)
            .filter_map(|(route, place)| Some((route.policy.as_deref()?, place.policy.as_ref()?)));
        named
            .filter(|(name, _)| !folder.join(format!("{name}.wasm")).is_file())
            .map(|(name, span)| {
                let message = format!("there is no policy file {}", folder.join(format!("{name}.wasm")).display());
                Problem::new(Severity::Error, &self.source, span, &message, &cure(folder))
            })
            .collect()
    }
}

impl Config {
    /// The policy of the route with this index cannot be used. Points at `policy`, or at the route's name where it
    /// has none and the embedded one judges.
    pub(crate) fn problem_of_policy(&self, route: usize, message: &str, cure: &str) -> Problem {
        let places = &self.places[route];
        let span = places.policy.as_ref().unwrap_or(&places.route);
        Problem::new(Severity::Error, &self.source, span, message, cure)
    }

    /// The file of the route with this index is not trusted. Points at `policy_digest` where that forbids it.
    pub(crate) fn problem_of_distrust(&self, route: usize, distrust: &Distrust, message: &str) -> Problem {
        match (distrust, &self.places[route].policy_digest) {
            (Distrust::Pinned { .. }, Some(span)) => {
                Problem::new(Severity::Error, &self.source, span, message, distrust.cure())
            }
            _ => self.problem_of_policy(route, message, distrust.cure()),
        }
    }

    /// One of the settings of the route with this index is not right. `pointer` is a JSON pointer into them.
    pub(crate) fn problem_of_setting(
        &self,
        severity: Severity,
        route: usize,
        pointer: &str,
        message: &str,
        cure: &str,
    ) -> Problem {
        let span = settings::place(&self.source.text, route, pointer);
        let span = span.as_ref().unwrap_or(&self.places[route].route);
        Problem::new(severity, &self.source, span, message, cure)
    }
}

/// What somebody can do, from what is in the folder.
fn cure(folder: &Path) -> String {
    match policies_in(folder) {
        Ok(names) if names.is_empty() => {
            "put it there, or leave `policy` out to use the embedded standard policy; the folder holds no policy"
                .to_owned()
        }
        Ok(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("put it there, or name one that is there: {}", list(&names))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            format!(
                "create the folder {} and put the file there; relative paths are of the configuration file's folder",
                folder.display()
            )
        }
        Err(error) => format!("the folder {} cannot be read: {error}", folder.display()),
    }
}

/// The policies in a folder by name, candidates left out, sorted.
fn policies_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        if let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".wasm"))
            && !stem.ends_with(".next")
        {
            names.push(stem.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}
