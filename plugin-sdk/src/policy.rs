//! What a policy author implements, and how it is configured and exported.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use crate::{Failure, Needs, Problem, Route, Verdict};

/// A policy: settings in, and for each failure a verdict out.
///
/// Every decision starts from the value that [`configure`](Self::configure) made: nothing that
/// [`decide`](Self::decide) does to memory is seen by the next one.
pub trait Policy: Sized + Send + Sync + 'static {
    /// The settings, read from the route's `settings` table. Put `#[serde(deny_unknown_fields)]` on
    /// it, so that a misspelt setting is an error; [`NoSettings`] where there are none.
    type Settings: DeserializeOwned;

    /// Makes the policy for a route. Called once; slow work such as building tables belongs here.
    ///
    /// # Errors
    /// What is wrong in the settings, all of it at once.
    fn configure(settings: Self::Settings, route: &Route) -> Result<Self, Vec<Problem>>;

    /// Judges a failure. Must depend on nothing but the policy's settings and the failure.
    fn decide(&self, failure: &Failure) -> Verdict;

    /// What the policy wants to see of each message; every header and no body, unless it says otherwise.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The JSON Schema of the settings, where there is one.
    #[must_use]
    fn settings_schema() -> Option<&'static str> {
        None
    }
}

/// The settings of a policy that has none; any setting is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Configures a policy from settings in JSON, as a host does. `null` is the same as `{}`.
///
/// ```
/// use reprieve_sdk::{Failure, NoSettings, Policy, Problem, Route, Verdict};
///
/// #[derive(Debug)]
/// struct DropAll;
///
/// impl Policy for DropAll {
///     type Settings = NoSettings;
///     fn configure(_: NoSettings, _: &Route) -> Result<Self, Vec<Problem>> { Ok(Self) }
///     fn decide(&self, _: &Failure) -> Verdict { Verdict::drop() }
/// }
///
/// let problems = reprieve_sdk::configure::<DropAll>(r#"{"colour": "red"}"#, &Route::new("orders")).unwrap_err();
/// assert_eq!(problems[0].path, "/colour");
/// ```
///
/// # Errors
/// What is wrong in the settings: text that is not JSON, a JSON value of the wrong shape, or what the
/// policy itself refuses.
pub fn configure<P: Policy>(settings: &str, route: &Route) -> Result<P, Vec<Problem>> {
    P::configure(parse(settings).map_err(|problem| vec![problem])?, route)
}

fn parse<S: DeserializeOwned>(settings: &str) -> Result<S, Problem> {
    let settings = if settings.trim() == "null" { "{}" } else { settings };
    let mut json = serde_json::Deserializer::from_str(settings);
    let parsed = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| Problem::at(json_pointer(error.path()), without_position(error.inner())))?;
    json.end().map_err(|error| Problem::new(error.to_string()))?;
    Ok(parsed)
}

/// The message without line and column where it is the value that is wrong: hosts make this text, so its
/// lines are nobody's.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((message, _)) if error.is_data() => message.to_owned(),
        _ => format!("the settings are not valid JSON: {message}"),
    }
}

fn json_pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        let token = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } | Segment::Enum { variant: key } => key.replace('~', "~0").replace('/', "~1"),
            Segment::Unknown => continue,
        };
        pointer.push('/');
        pointer.push_str(&token);
    }
    pointer
}

/// Exports a policy. One line, once in a crate, as in the [crate's example](crate).
///
/// The policy's name, version and summary are the package's, from its `Cargo.toml`. For targets
/// other than wasm32 the line only checks that the type is a [`Policy`].
#[macro_export]
macro_rules! policy {
    ($policy:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::wasm::{Component, Package, bindings};

            struct Exported;

            impl Component for Exported {
                type Policy = $policy;

                const PACKAGE: Package = Package {
                    name: ::std::env!("CARGO_PKG_NAME"),
                    version: ::std::env!("CARGO_PKG_VERSION"),
                    summary: ::std::env!("CARGO_PKG_DESCRIPTION"),
                };

                fn configured() -> &'static ::std::sync::OnceLock<$policy> {
                    static CONFIGURED: ::std::sync::OnceLock<$policy> = ::std::sync::OnceLock::new();
                    &CONFIGURED
                }
            }

    bindings::export!(Exported with_types_in bindings);
        };

        #[cfg(not(target_arch = "wasm32"))]
        const _: () = {
            const fn is_a_policy<P: $crate::Policy>() {}
            is_a_policy::<$policy>();
        };
    };
}

#[cfg(test)]
mod tests;
