//! Rego, in regorus: the rules as a policy, the settings as its data, the failure as its input.

use std::sync::Arc;

use anyhow::Context as _;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::RegoVM;
use regorus::rvm::program::Program;
use regorus::utils::limits::ExecutionTimerConfig;
use reprieve::verdict::Verdict;

use super::answer::Answer;
use super::{DEADLINE, Decider, Way, tree};
use crate::sample::{SETTINGS, Sample};

const ENTRY: &str = "data.retry.verdict";
/// How many of its steps go by between two looks at the clock: as in regorus' own benchmarks.
const CLOCK_INTERVAL: std::num::NonZeroU32 = std::num::NonZeroU32::new(16).expect("16 is not 0");

pub(super) struct Rego {
    program: Arc<Program>,
    data: regorus::Value,
}

impl Rego {
    pub(super) fn compile() -> anyhow::Result<Self> {
        let mut engine = regorus::Engine::new();
        engine.add_policy("rules.rego".to_owned(), include_str!("../../rules.rego").to_owned())?;
        let policy = engine.compile_with_entrypoint(&ENTRY.into())?;
        let program = Compiler::compile_from_policy(&policy, &[ENTRY])?;
        Ok(Self { program, data: regorus::Value::from_json_str(&format!("{{\"settings\": {SETTINGS}}}"))? })
    }
}

impl Way for Rego {
    fn name(&self) -> String {
        format!("regorus {} (Rego)", super::version("regorus"))
    }

    fn boundary(&self) -> &'static str {
        "a tree of the whole failure"
    }

    fn state(&self) -> &'static str {
        "none: Rego has none"
    }

    fn sandbox(&self) -> &'static str {
        "interpreter, with a deadline"
    }

    fn decider(&self) -> anyhow::Result<Box<dyn Decider + '_>> {
        let mut machine = RegoVM::new();
        machine.load_program(Arc::clone(&self.program));
        machine.set_data(self.data.clone())?;
        machine
            .set_execution_timer_config(Some(ExecutionTimerConfig { limit: DEADLINE, check_interval: CLOCK_INTERVAL }));
        Ok(Box::new(machine))
    }
}

impl Decider for RegoVM {
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict> {
        self.set_input(tree::of(&sample.failure));
        let answer = self.execute()?;
        let member = |name: &str| answer.as_object().ok().and_then(|object| object.get(&name.into()));
        let text = |name| member(name).and_then(|value| value.as_string().ok()).map(|text| &**text);
        let answer = Answer {
            action: text("action").with_context(|| format!("the verdict has no action: {answer}"))?,
            delay_ms: member("delay_ms").map(regorus::Value::as_u64).transpose()?,
            label: text("label"),
            reason: text("reason").with_context(|| format!("the verdict has no reason: {answer}"))?,
        };
        answer.verdict()
    }
}

impl tree::Value for regorus::Value {
    fn null() -> Self {
        Self::Null
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
        let members: regorus::value::Object = members.into_iter().map(|(name, value)| (name.into(), value)).collect();
        members.into()
    }
}
