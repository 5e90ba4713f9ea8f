//! The smallest policy that the engine takes, so that a test that loads many spends its time on what it tests.
//!
//! It takes the settings `{}` and no others, and its verdict is always to retry at once.

use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataSection, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, MemArg, MemorySection, MemoryType, Module, TypeSection, ValType,
};
use wasmparser::{Parser, Payload};

use crate::policy::embedded::STANDARD;

/// Zeros, which are a description without a word, modest needs, and a verdict.
const ZEROS: i32 = 256;
/// A refusal of the settings that names no problem.
const REFUSED: i32 = 512;
/// Behind all that: what the host passes in.
const HEAP: i32 = 4096;
/// Where the length of the settings stands in what `configure` is given: behind the route.
const SETTINGS_LENGTH: u64 = 100;

/// Another number makes another file that works just as well.
pub(super) fn policy(number: u8) -> Vec<u8> {
    let mut module = Module::new();
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 4], [ValType::I32]);
    types.ty().function([], [ValType::I32]);
    types.ty().function([ValType::I32], [ValType::I32]);
    module.section(&types);

    let functions = [
        (0, "cabi_realloc", reallocate()),
        (1, "reprieve:policy/policy@0.1.0#describe", answer_zeros()),
        (2, "reprieve:policy/policy@0.1.0#configure", configure()),
        (2, "reprieve:policy/policy@0.1.0#decide", answer_zeros()),
    ];
    let (mut declared, mut exports, mut code) = (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    exports.export("memory", ExportKind::Memory, 0);
    for (index, (ty, name, body)) in (0..).zip(&functions) {
        declared.function(*ty);
        exports.export(name, ExportKind::Func, index);
        code.function(body);
    }
    module.section(&declared);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: 4, maximum: None, memory64: false, shared: false, page_size_log2: None });
    module.section(&memories);
    let mut globals = GlobalSection::new();
    let heap = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    globals.global(heap, &ConstExpr::i32_const(HEAP));
    module.section(&globals);
    module.section(&exports);
    module.section(&code);
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(REFUSED), [1]);
    module.section(&data);
    module.section(&interface());
    module.section(&CustomSection { name: "number".into(), data: vec![number].into() });
    module.finish()
}

/// The section that says which interface a policy is built for, as every policy has it.
fn interface() -> CustomSection<'static> {
    let sections = Parser::new(0).parse_all(STANDARD).filter_map(|payload| match payload {
        Ok(Payload::CustomSection(section)) => Some((section.name(), section.data())),
        _ => None,
    });
    let (name, data) = sections.into_iter().find(|(name, _)| name.starts_with("component-type")).unwrap();
    CustomSection { name: name.into(), data: data.into() }
}

fn answer_zeros() -> Function {
    let mut body = Function::new([]);
    body.instructions().i32_const(ZEROS).end();
    body
}

fn configure() -> Function {
    let mut body = Function::new([]);
    let length = MemArg { offset: SETTINGS_LENGTH, align: 2, memory_index: 0 };
    body.instructions()
        .i32_const(ZEROS)
        .i32_const(REFUSED)
        .local_get(0)
        .i32_load(length)
        .i32_const(2)
        .i32_eq()
        .select()
        .end();
    body
}

/// Hands out the heap from its start and takes nothing back: an instance lives for one decision.
fn reallocate() -> Function {
    let mut body = Function::new([(1, ValType::I32)]);
    body.instructions()
        .global_get(0)
        .i32_const(7)
        .i32_add()
        .i32_const(-8)
        .i32_and()
        .local_tee(4)
        .local_get(3)
        .i32_add()
        .global_set(0)
        .local_get(4)
        .end();
    body
}
