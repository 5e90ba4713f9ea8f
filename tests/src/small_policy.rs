//! Policies written instruction by instruction: small, so that thousands can be loaded, and able to do what no compiler
//! lets a policy do.
//!
//! Such a policy takes any settings and asks for all headers. It dead-letters every failure, the host's made-up ones
//! included, except that a failure of the kind [`ATTACK`] makes it do what it was written for.

pub mod instructions;
mod verdict;

use reprieve::policy::cases::section::CASES_SECTION;
use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataSection, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, InstructionSink, MemArg, MemorySection, MemoryType,
    Module, StartSection, TypeSection, ValType,
};
use wasmparser::{Parser, Payload};

pub use verdict::RawVerdict;

/// The kind of an error that these policies attack at. They know it by its length, which no other kind of a test has.
pub const ATTACK: &str = "an error at which a policy attacks the host instead of judging";

/// Zeros, which are a description without a word, and modest needs.
const ZEROS: u32 = 256;
/// The verdict on a failure at which it does not attack, and on any other.
const VERDICT: u32 = 512;
const ATTACKING_VERDICT: u32 = 640;
/// What a reason can point at.
const REASON: u32 = 1024;
/// Behind all that: what the host passes in.
const HEAP: u32 = 8192;
/// Where the length of the error's kind stands in a failure.
const KIND_LENGTH: u64 = 124;

/// The function that writes a line into the host's log: it takes a level, an address and a length.
const LOG: u32 = 0;

/// Adds instructions to a function, before those that it has anyway. They have to leave the stack as it was.
pub type Body = fn(&mut InstructionSink<'_>);

/// A policy to build. Left alone it judges every failure alike.
#[derive(Clone)]
pub struct SmallPolicy {
    /// The reason of its dead letters: another one makes another file, which works just as well.
    pub reason: String,
    /// Runs whenever an instance starts.
    pub start: Option<Body>,
    /// Runs in `describe`.
    pub describe: Body,
    /// Runs in `configure`.
    pub configure: Body,
    /// Runs in `decide` where it attacks.
    pub decide: Body,
    /// Runs after each verdict was read.
    pub after_decide: Body,
    /// Runs where the host asks for room for a text as long as [`ATTACK`].
    pub reallocate: Body,
    /// Its verdict where it attacks.
    pub verdict: RawVerdict,
    /// What its memory holds, by address; from [`DATA`] there is room.
    pub data: Vec<(u32, Vec<u8>)>,
    /// Its memories: the first is the one that it shares with the host, four pages where nothing else is said.
    pub memories: Vec<MemoryType>,
    /// The cases that it carries, as they are written in their section.
    pub cases: Option<Vec<u8>>,
}

/// The address from which [`SmallPolicy::data`] has room: behind everything that the host passes in here.
pub const DATA: u32 = 128 * 1024;

/// A memory of `pages` pages, and no more than `maximum`.
#[must_use]
pub fn memory(pages: u64, maximum: Option<u64>) -> MemoryType {
    MemoryType { minimum: pages, maximum, memory64: false, shared: false, page_size_log2: None }
}

impl SmallPolicy {
    /// One that is as it should be, with this reason for its dead letters.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        let nothing: Body = |_| {};
        Self {
            reason: reason.into(),
            start: None,
            describe: nothing,
            configure: nothing,
            decide: nothing,
            after_decide: nothing,
            reallocate: nothing,
            verdict: RawVerdict::dead_letter(),
            data: Vec::new(),
            memories: vec![memory(4, None)],
            cases: None,
        }
    }

    /// The file, as a core module.
    ///
    /// # Panics
    /// Where the reason is longer than there is room for it.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        assert!(self.reason.len() < (HEAP - REASON) as usize, "the reason is too long");
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([ValType::I32; 4], [ValType::I32]);
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I32], [ValType::I32]);
        types.ty().function([ValType::I32], []);
        types.ty().function([], []);
        types.ty().function([ValType::I32; 3], []);
        module.section(&types);
        let mut imports = ImportSection::new();
        imports.import("reprieve:policy/log@0.1.0", "log", EntityType::Function(5));
        module.section(&imports);

        let functions = [
            (0, "cabi_realloc", self.reallocates()),
            (1, "reprieve:policy/policy@0.1.0#describe", answers(self.describe)),
            (2, "reprieve:policy/policy@0.1.0#configure", answers(self.configure)),
            (2, "reprieve:policy/policy@0.1.0#decide", self.decides()),
            (3, "cabi_post_reprieve:policy/policy@0.1.0#decide", does(self.after_decide)),
            (4, "begin", does(self.start.unwrap_or(|_| {}))),
        ];
        let (mut declared, mut exports, mut code) = (FunctionSection::new(), ExportSection::new(), CodeSection::new());
        exports.export("memory", ExportKind::Memory, 0);
        for (index, (ty, name, body)) in (LOG + 1..).zip(&functions) {
            declared.function(*ty);
            if *name != "begin" {
                exports.export(name, ExportKind::Func, index);
            }
            code.function(body);
        }
        module.section(&declared);
        let mut memories = MemorySection::new();
        for one in &self.memories {
            memories.memory(*one);
        }
        module.section(&memories);
        let mut globals = GlobalSection::new();
        let heap = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(heap, &ConstExpr::i32_const(HEAP.cast_signed()));
        module.section(&globals);
        module.section(&exports);
        if self.start.is_some() {
            module.section(&StartSection { function_index: LOG + 6 });
        }
        module.section(&code);
        module.section(&self.memory_content());
        let (name, interface) = interface();
        module.section(&CustomSection { name: name.into(), data: interface.into() });
        if let Some(cases) = &self.cases {
            module.section(&CustomSection { name: CASES_SECTION.into(), data: cases.into() });
        }
        module.finish()
    }

    fn memory_content(&self) -> DataSection {
        let reason = (REASON, u32::try_from(self.reason.len()).expect("shorter than there is room"));
        let verdict = RawVerdict { reason, ..RawVerdict::dead_letter() };
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(REASON.cast_signed()), self.reason.bytes());
        data.active(0, &ConstExpr::i32_const(VERDICT.cast_signed()), verdict.bytes());
        data.active(0, &ConstExpr::i32_const(ATTACKING_VERDICT.cast_signed()), self.verdict.bytes());
        for (address, bytes) in &self.data {
            data.active(0, &ConstExpr::i32_const(address.cast_signed()), bytes.iter().copied());
        }
        data
    }

    fn decides(&self) -> Function {
        let mut body = Function::new([]);
        let mut code = body.instructions();
        let kind_length = MemArg { offset: KIND_LENGTH, align: 2, memory_index: 0 };
        code.local_get(0).i32_load(kind_length).i32_const(attack_length()).i32_eq();
        code.if_(wasm_encoder::BlockType::Empty);
        (self.decide)(&mut code);
        code.i32_const(ATTACKING_VERDICT.cast_signed()).return_().end();
        code.i32_const(VERDICT.cast_signed()).end();
        body
    }

    /// Hands out the heap from its start and takes nothing back: an instance lives for one decision.
    fn reallocates(&self) -> Function {
        let mut body = Function::new([(1, ValType::I32)]);
        let mut code = body.instructions();
        code.local_get(3).i32_const(attack_length()).i32_eq();
        code.if_(wasm_encoder::BlockType::Empty);
        (self.reallocate)(&mut code);
        code.end();
        code.global_get(0).i32_const(7).i32_add().i32_const(-8).i32_and().local_tee(4);
        code.local_get(3).i32_add().global_set(0).local_get(4).end();
        body
    }
}

fn attack_length() -> i32 {
    i32::try_from(ATTACK.len()).expect("a short text")
}

fn does(body: Body) -> Function {
    let mut function = Function::new([]);
    body(&mut function.instructions());
    function.instructions().end();
    function
}

fn answers(body: Body) -> Function {
    let mut function = Function::new([]);
    body(&mut function.instructions());
    function.instructions().i32_const(ZEROS.cast_signed()).end();
    function
}

/// The section that says which interface a policy is built for, as every policy has it, and its name.
fn interface() -> (String, Vec<u8>) {
    let mut sections = Parser::new(0).parse_all(reprieve::policy::embedded::STANDARD).filter_map(Result::ok);
    let interface = sections.find_map(|payload| match payload {
        Payload::CustomSection(section) if section.name().starts_with("component-type") => {
            Some((section.name().to_owned(), section.data().to_owned()))
        }
        _ => None,
    });
    interface.expect("the embedded policy is one")
}
