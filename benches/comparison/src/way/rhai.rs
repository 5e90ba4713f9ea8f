//! Rhai: the rules as a script that is compiled once, the settings and the failure in its scope.

use anyhow::Context as _;
use reprieve::verdict::Verdict;
use rhai::{AST, Dynamic, Engine, ImmutableString, Map, Scope};

use super::answer::Answer;
use super::{Decider, Way, tree};
use crate::sample::{SETTINGS, Sample};

/// Steps of a script, far more than these rules take: rhai has no deadline.
const MAX_OPERATIONS: u64 = 100_000;

/// Everything is made by the thread that uses it: without its feature `sync`, which makes it slower, rhai is of one thread.
pub(super) struct Rhai;

struct Script {
    engine: Engine,
    ast: AST,
    /// Holds the settings, and during a decision the failure and what the script declares.
    scope: Scope<'static>,
    /// The length of the scope with nothing but the settings.
    settings_only: usize,
}

impl Way for Rhai {
    fn name(&self) -> String {
        format!("rhai {}", super::version("rhai"))
    }

    fn boundary(&self) -> &'static str {
        "a tree of the whole failure"
    }

    fn state(&self) -> &'static str {
        "none: a scope of its own each"
    }

    fn sandbox(&self) -> &'static str {
        "interpreter, with 100,000 operations"
    }

    fn decider(&self) -> anyhow::Result<Box<dyn Decider + '_>> {
        let mut engine = Engine::new();
        engine.set_max_operations(MAX_OPERATIONS);
        let settings: Dynamic = engine.parse_json(SETTINGS, true).map_err(|error| anyhow::anyhow!("{error}"))?.into();
        let mut scope = Scope::new();
        scope.push_constant_dynamic("settings", settings);
        let settings_only = scope.len();
        let ast = engine.compile(include_str!("../../rules.rhai"))?;
        Ok(Box::new(Script { engine, ast, scope, settings_only }))
    }
}

impl Decider for Script {
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict> {
        self.scope.rewind(self.settings_only);
        self.scope.push_constant_dynamic("failure", tree::of(&sample.failure));
        let evaluated = self.engine.eval_ast_with_scope::<Map>(&mut self.scope, &self.ast);
        let answer = evaluated.map_err(|error| anyhow::anyhow!("{error}"))?;
        let text = |name| answer.get(name).and_then(|value| value.read_lock::<ImmutableString>());
        let (action, label, reason) = (text("action"), text("label"), text("reason"));
        let delay = answer.get("delay_ms").and_then(|delay| delay.as_int().ok());
        let answer = Answer {
            action: action.as_deref().context("the verdict has no action")?,
            delay_ms: delay.map(u64::try_from).transpose()?,
            label: label.as_deref().map(|label| label.as_str()),
            reason: reason.as_deref().context("the verdict has no reason")?,
        };
        answer.verdict()
    }
}

impl tree::Value for Dynamic {
    fn null() -> Self {
        Self::UNIT
    }

    fn boolean(value: bool) -> Self {
        value.into()
    }

    fn integer(number: i64) -> Self {
        number.into()
    }

    fn text(text: &str) -> Self {
        text.into()
    }

    fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        members.into_iter().map(|(name, value)| (name.into(), value)).collect::<Map>().into()
    }
}
