//! The files of a new crate.

/// A file of the template. `{name}` in it becomes the crate's name, `{sdk}` where the SDK is.
pub(super) struct TemplateFile {
    /// Where in the crate.
    pub(super) path: &'static str,
    /// What it is for.
    pub(super) purpose: &'static str,
    pub(super) content: &'static str,
}

pub(super) const FILES: [TemplateFile; 7] = [
    TemplateFile {
        path: "src/lib.rs",
        purpose: "the settings and the decision",
        content: include_str!("template/src/lib.rs"),
    },
    TemplateFile {
        path: "src/tests.rs",
        purpose: "tests in Rust, for `cargo test`",
        content: include_str!("template/src/tests.rs"),
    },
    TemplateFile {
        path: "src/settings.schema.json",
        purpose: "the settings, for tools",
        content: include_str!("template/src/settings.schema.json"),
    },
    TemplateFile {
        path: "cases/decisions.toml",
        purpose: "what it must decide; the host checks it before a swap",
        content: include_str!("template/cases/decisions.toml"),
    },
    TemplateFile {
        path: "README.md",
        purpose: "what it does, and how to change it",
        content: include_str!("template/README.md"),
    },
    TemplateFile { path: "Cargo.toml", purpose: "the crate", content: include_str!("template/Cargo.toml.template") },
    TemplateFile { path: ".gitignore", purpose: "what is built", content: include_str!("template/gitignore") },
];
