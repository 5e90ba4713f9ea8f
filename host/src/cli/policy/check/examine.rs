//! Goes through the steps.

use super::super::judged::Judged;
use super::super::usage::bytes;
use super::super::words;
use super::steps::{Line, Mark, Place, Report, Step, Trouble};
use crate::config::Severity;
use crate::delivery::{Situation, preview};
use crate::policy::engine::{Description, Engine, INTERFACE_VERSION, Needs, Revision, Start, smoke};
use crate::policy::inspection::{Form, Inspection};
use crate::policy::purity::{self, Impurity, Purity};
use crate::policy::rejection::{Problem as Refused, Rejection};
use crate::policy::settings_schema;
use crate::policy::trial::{Refusal, read_trusted};
use crate::verdict::{Fault, Verdict};

/// Does what a host does before a swap, and looks for hidden state.
pub(super) fn examine(judged: &Judged, engine: &Engine) -> Report {
    let mut examination = Examination { judged, steps: Vec::new(), troubles: Vec::new() };
    // What is not trusted is not even compiled.
    if examination.trust(engine)
        && let Err(rejection) = examination.run(engine)
    {
        examination.stop(&rejection);
    }
    let Examination { mut steps, troubles, .. } = examination;
    let reached = steps.last().map(|line| line.step);
    let rest = Step::ALL.into_iter().filter(|step| reached.is_none_or(|reached| *step > reached));
    steps.extend(rest.map(|step| Line { step, result: Mark::NotReached, found: vec!["not reached".into()] }));
    Report {
        policy: judged.policy.name.clone(),
        route: judged.route.name.clone(),
        right: steps.iter().all(|line| line.result != Mark::Failed),
        steps,
        troubles,
    }
}

struct Examination<'j> {
    judged: &'j Judged,
    steps: Vec<Line>,
    troubles: Vec<Trouble>,
}

impl Examination<'_> {
    /// Whether a host with this configuration would load the file at all.
    fn trust(&mut self, engine: &Engine) -> bool {
        let judged = self.judged;
        let (Some(hosted), Some(path)) = (&judged.hosted, &judged.policy.path) else {
            let found = match judged.policy.path {
                None => "it is part of the program",
                Some(_) => "not looked at: --config says which files a host trusts",
            };
            self.steps.push(Line { step: Step::Trust, result: Mark::NotReached, found: vec![found.into()] });
            return true;
        };
        let pin = hosted.policy_digest.as_ref();
        let (what, cure) = match read_trusted(path, engine.limits().file_size as u64, &judged.trust, pin) {
            Ok(_) if judged.trust.is_open() && pin.is_none() => {
                self.pass(Step::Trust, "the configuration trusts every file");
                return true;
            }
            Ok(_) => {
                self.pass(Step::Trust, "it is what the configuration demands");
                return true;
            }
            Err(Refusal::Untrusted { distrust, .. }) => (distrust.what(), distrust.cure()),
            Err(Refusal::Unreadable { what, cure }) => (what, cure),
            Err(Refusal::Missing) => ("the file is gone".to_owned(), "put it there again"),
            Err(Refusal::Rejected { rejection, .. }) => (rejection.what(), rejection.cure()),
        };
        self.steps.push(Line { step: Step::Trust, result: Mark::Failed, found: vec![what.clone()] });
        self.trouble(Severity::Error, what, cure);
        false
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Rejection> {
        let judged = self.judged;
        let described = engine.describe(&judged.policy.name, &judged.policy.bytes);
        let stopped_at = described.as_ref().err().map(Step::of);
        self.look_from_outside(engine, stopped_at);
        if stopped_at.is_none_or(|stopped_at| stopped_at > Step::Compilation) {
            self.pass(Step::Compilation, "within the limits");
        }
        let description = described?;
        self.pass(Step::Description, about(&description));
        let loaded = judged.load(engine);
        let stopped_at = loaded.as_ref().err().map(Step::of);
        if stopped_at == Some(Step::Cases) {
            return loaded.map(drop);
        }
        let cases = Inspection::cases(&judged.policy.bytes).map_or(0, |cases| cases.len());
        self.pass(
            Step::Cases,
            match cases {
                0 => "it carries none".to_owned(),
                1 => "1 case passes".to_owned(),
                cases => format!("{cases} cases pass"),
            },
        );
        let as_its_schema = self.schema(&description, stopped_at == Some(Step::Settings));
        if stopped_at != Some(Step::Settings) {
            let needs = loaded.as_ref().map_or_else(|_| None, |revision| Some(revision.needs()));
            self.settings(as_its_schema, needs);
        }
        let revision = loaded?;
        self.start(&revision);
        self.decisions(&revision);
        self.purity(&revision);
        Ok(())
    }

    fn pass(&mut self, step: Step, found: impl Into<String>) {
        self.steps.push(Line { step, result: Mark::Passed, found: vec![found.into()] });
    }

    fn doubt(&mut self, step: Step, found: Vec<String>) {
        self.steps.push(Line { step, result: Mark::Doubtful, found });
    }

    /// What is known without running it, up to where the host stopped.
    fn look_from_outside(&mut self, engine: &Engine, stopped_at: Option<Step>) {
        let passed = |step: Step| stopped_at.is_none_or(|stopped_at| step < stopped_at);
        let Ok(inspection) = Inspection::of(&self.judged.policy.bytes) else { return };
        if passed(Step::File) {
            let form = match inspection.form {
                Form::Module => "module",
                Form::Component => "component",
            };
            let limit = bytes(engine.limits().file_size as u64);
            let size = bytes(inspection.size as u64);
            let digest = inspection.digest.get(..12).unwrap_or_default().to_owned();
            self.pass(Step::File, format!("a {form} of {size}, of at most {limit}; SHA-256 {digest}…"));
        }
        if passed(Step::Interface) {
            let sdk = inspection.sdk.map_or_else(|| "without a mark of an SDK".to_owned(), |sdk| format!("with {sdk}"));
            let imports = if inspection.imports.is_empty() { "nothing" } else { "nothing but the log" };
            let exports = exports(&inspection.exports);
            self.pass(
                Step::Interface,
                format!("reprieve:policy@{INTERFACE_VERSION}, built {sdk}; exports {exports}; imports {imports}"),
            );
        }
    }

    /// Holds the settings against the policy's own schema. False where they are not as it says.
    fn schema(&mut self, description: &Description, refused: bool) -> Option<bool> {
        let schema = description.settings_schema.as_ref()?;
        match settings_schema::problems(schema, &self.judged.settings) {
            Ok(problems) => {
                let severity = if refused { Severity::Error } else { Severity::Warning };
                for problem in &problems {
                    self.setting(severity, "is not as the policy's schema says", problem);
                }
                Some(problems.is_empty())
            }
            Err(error) => {
                self.trouble(
                    Severity::Warning,
                    format!("the policy's settings schema cannot be used: {error}"),
                    "correct the schema that the policy describes itself with",
                );
                Some(false)
            }
        }
    }

    fn settings(&mut self, as_its_schema: Option<bool>, needs: Option<&Needs>) {
        let needs = needs.map_or_else(String::new, |needs| format!("; it is given {}", words::needs(needs)));
        match as_its_schema {
            Some(true) => self.pass(Step::Settings, format!("accepted, and as its schema says{needs}")),
            None => self.pass(Step::Settings, format!("accepted; it gives no schema of them{needs}")),
            Some(false) => {
                self.doubt(Step::Settings, vec![format!("accepted, though its own schema does not fit them{needs}")]);
            }
        }
    }

    fn start(&mut self, revision: &Revision) {
        match revision.start() {
            Start::Snapshot => self.pass(Step::Snapshot, "each decision starts from one that is configured"),
            Start::ConfigureEach => {
                self.doubt(
                    Step::Snapshot,
                    vec!["none can be taken: each decision configures the policy again, which is slower".into()],
                );
            }
        }
    }

    fn decisions(&mut self, revision: &Revision) {
        let rules = self.judged.rules();
        let mut overridden = false;
        let found = smoke::failures().map(|(name, failure)| {
            let result = revision.measure(&failure).result;
            let situation = Situation { has_handler: self.judged.has_handler(), ..Situation::just_arrived(&failure) };
            let why = preview(&failure, &result, situation, &rules).overridden;
            overridden |= why.is_some();
            let remark = why.map(|why| format!(", which a host overrides: {why}")).unwrap_or_default();
            format!("{name}: {}{remark}", said(&result))
        });
        match overridden {
            true => self.doubt(Step::Decisions, found.into()),
            false => self.steps.push(Line { step: Step::Decisions, result: Mark::Passed, found: found.into() }),
        }
    }

    fn purity(&mut self, revision: &Revision) {
        match purity::examine(revision) {
            Purity::Pure { failures } => self.pass(
                Step::Purity,
                format!("{failures} failures in three orders on one instance: always the verdicts of clean ones"),
            ),
            Purity::Faulty { failure, fault } => {
                let what =
                    format!("no verdict on attempt {} with error `{}`: {fault}", failure.attempt, failure.error.kind);
                self.doubt(Step::Purity, vec![what.clone()]);
                self.trouble(
                    Severity::Warning,
                    what,
                    "give a verdict on every failure: on these the host's fallback judges; try it with `reprieve policy run`",
                );
            }
            Purity::Impure(impurity) => {
                let Impurity { order, after, failure, clean, used } = *impurity;
                let found = vec![
                    "it keeps something between decisions".to_owned(),
                    format!("attempt {} with error `{}`", failure.attempt, failure.error.kind),
                    format!("a clean instance: {}", said(&Ok(clean))),
                    format!("one that judged {after} before, {order}: {}", said(&used)),
                ];
                self.steps.push(Line { step: Step::Purity, result: Mark::Failed, found });
                self.trouble(
                    Severity::Error,
                    format!("{} keeps something between decisions", self.judged.policy.name),
                    "decide by the settings and the failure alone, without statics: each decision gets a clean instance, so \
                     what was kept is never there",
                );
            }
        }
    }

    fn stop(&mut self, rejection: &Rejection) {
        let step = Step::of(rejection);
        let found = match rejection {
            Rejection::Settings(refused) => {
                for problem in refused {
                    self.setting(Severity::Error, "is refused", problem);
                }
                // The policy's own word goes before its schema's.
                self.troubles.rotate_right(refused.len());
                "the policy refuses them".to_owned()
            }
            _ => {
                self.trouble(Severity::Error, rejection.what(), rejection.cure());
                rejection.what()
            }
        };
        self.steps.push(Line { step, result: Mark::Failed, found: vec![found] });
    }

    fn trouble(&mut self, severity: Severity, what: String, cure: &str) {
        self.troubles.push(Trouble { what, cure: cure.to_owned(), setting: None, problem: None, severity });
    }

    fn setting(&mut self, severity: Severity, how: &str, refused: &Refused) {
        let title = if refused.path.is_empty() { "what is set".to_owned() } else { refused.path.clone() };
        let what = format!("{title} {how}: {}", refused.message);
        let problem = self.judged.problem(severity, &refused.path, &what);
        let cure = problem.as_ref().map_or("give settings with --settings FILE", |problem| problem.cure()).to_owned();
        let setting = problem.as_ref().map(|problem| Place {
            pointer: refused.path.clone(),
            file: problem.file().display().to_string(),
            line: problem.line(),
            column: problem.column(),
        });
        self.troubles.push(Trouble { what, cure, setting, problem, severity });
    }
}

/// A module's functions of the interface, without what serves to call them; a component's interface.
fn exports(names: &[String]) -> String {
    let own = names.iter().filter(|name| name.starts_with("reprieve:policy/"));
    own.map(|name| name.rsplit('#').next().unwrap_or(name)).collect::<Vec<_>>().join(", ")
}

fn about(description: &Description) -> String {
    let Description { name, version, summary, .. } = description;
    let title = format!("{name} {version}");
    if summary.is_empty() { title } else { format!("{}: {summary}", title.trim()) }
}

fn said(result: &Result<Verdict, Fault>) -> String {
    match result {
        Ok(verdict) if verdict.reason.is_empty() => words::action(&verdict.action),
        Ok(verdict) => format!("{} ({})", words::action(&verdict.action), verdict.reason),
        Err(fault) => fault.to_string(),
    }
}
