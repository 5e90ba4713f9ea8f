//! Extism: a plug-in as a module, JSON in and JSON out.

mod document;

use extism::{CompiledPlugin, Manifest, Plugin, PluginBuilder, Wasm};
use reprieve::verdict::Verdict;

use super::answer::Answer;
use super::{DEADLINE, Decider, MEMORY, Way};
use crate::sample::{SETTINGS, Sample};
use document::Document;

const PAGE: usize = 64 * 1024;

/// Which instance a decision is made in.
#[derive(Clone, Copy)]
pub(super) enum Instance {
    /// The thread's own, from decision to decision, as Extism is mostly used.
    Kept,
    /// A new one, which parses its settings: what Extism offers where decisions are to know nothing of each other.
    New,
}

pub(super) struct Extism {
    plugin: CompiledPlugin,
    instance: Instance,
}

impl Extism {
    pub(super) fn compile(guest: &[u8], instance: Instance) -> anyhow::Result<Self> {
        let manifest = Manifest::new([Wasm::data(guest)])
            .with_config_key("settings", SETTINGS)
            .with_timeout(DEADLINE)
            .with_memory_max(u32::try_from(MEMORY / PAGE)?);
        // Compiled code on the disk of the machine that measures is no business of ours.
        let plugin = PluginBuilder::new(manifest).with_wasi(false).with_cache_disabled().compile()?;
        Ok(Self { plugin, instance })
    }

    fn plugin(&self) -> anyhow::Result<Plugin> {
        Plugin::new_from_compiled(&self.plugin)
    }
}

impl Way for Extism {
    fn name(&self) -> String {
        let which = match self.instance {
            Instance::Kept => "instance kept",
            Instance::New => "new instance each",
        };
        format!("Extism {}, {which}", super::version("extism"))
    }

    fn boundary(&self) -> &'static str {
        "JSON of the whole failure"
    }

    fn state(&self) -> &'static str {
        match self.instance {
            Instance::Kept => "all of the instance's memory",
            Instance::New => "none: a new instance each, configured each time",
        }
    }

    fn sandbox(&self) -> &'static str {
        "Wasm, with a deadline and 16 MiB"
    }

    fn decider(&self) -> anyhow::Result<Box<dyn Decider + '_>> {
        Ok(match self.instance {
            Instance::Kept => Box::new(self.plugin()?),
            Instance::New => Box::new(self),
        })
    }
}

impl Decider for Plugin {
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict> {
        let failure = serde_json::to_vec(&Document::of(&sample.failure))?;
        let answer: &[u8] = self.call("decide", failure.as_slice())?;
        serde_json::from_slice::<Answer<'_>>(answer)?.verdict()
    }
}

impl Decider for &Extism {
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict> {
        self.plugin()?.decide(sample)
    }
}
