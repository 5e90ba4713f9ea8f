//! Debian's Rust as the toolchain for wasm32. Only policies are built with it; rustup's stays in use for
//! everything else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use super::{TARGET, WasmToolchain, has_core};
use crate::{apt, workspace};

const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Names the compiler that built the library. Written last, so an interrupted set-up is noticed, and
/// compared, so an upgraded compiler is.
const MARK: &str = "built-by";

/// Whether Debian's Rust is installed and has the library for wasm32.
pub(super) fn is_ready() -> bool {
    let Ok(compiler) = compiler() else { return false };
    let folder = library();
    has_core(&folder) && fs::read_to_string(folder.join(MARK)).is_ok_and(|mark| mark == compiler)
}

/// Debian's Rust with the environment that makes its cargo use its rustc, and a linker.
pub(super) fn toolchain() -> Result<WasmToolchain> {
    let mut path = OsString::from("/usr/bin:");
    path.push(env::var_os("PATH").unwrap_or_default());
    let environment =
        vec![("PATH", path), ("RUSTC", RUSTC.into()), ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?.into())];
    Ok(WasmToolchain { name: "Debian's toolchain", cargo: CARGO.into(), environment })
}

/// Installs Debian's Rust where it is missing, and builds the library for wasm32.
pub(super) fn set_up() -> Result<()> {
    if compiler().is_err() || !Path::new("/usr/lib/rustlib/src/rust/library").is_dir() {
        install()?;
    }
    build_library()
}

fn compiler() -> Result<String> {
    workspace::output(Command::new(RUSTC).arg("--version"))
}

fn library() -> PathBuf {
    Path::new("/usr/lib/rustlib").join(TARGET).join("lib")
}

fn install() -> Result<()> {
    apt::install(&PACKAGES).with_context(|| {
        format!(
            "no toolchain for {TARGET}: run `rustup target add {TARGET}` where rustup reaches its servers, \
             or, as root on Debian, `apt-get install {}`",
            PACKAGES.join(" ")
        )
    })
}

/// Builds the standard library from its source and puts it where rustc looks for it.
fn build_library() -> Result<()> {
    println!("wasm32: building the standard library, once; about a minute");
    let crate_folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = crate_folder.path();
    fs::create_dir(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    fs::write(
        folder.join("Cargo.toml"),
        "[package]\nname = \"empty\"\nedition = \"2021\"\n[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n",
    )?;
    let mut cargo = toolchain()?.cargo();
    cargo.args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET]);
    // Debian's compiler is a stable one; its build-std is wanted only for this library.
    workspace::run(cargo.current_dir(folder).env("RUSTC_BOOTSTRAP", "1"))?;

    let library = library();
    let denied = || format!("cannot write to {}: run `cargo xtask wasm` once as root", library.display());
    if library.exists() {
        // What another compiler built would be found beside what this one did.
        fs::remove_dir_all(&library).with_context(denied)?;
    }
    fs::create_dir_all(&library).with_context(denied)?;
    for file in fs::read_dir(folder.join("target").join(TARGET).join("release/deps"))? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "rlib") {
            let name = file.file_name().context("a library has a name")?;
            fs::copy(&file, library.join(name)).with_context(denied)?;
        }
    }
    fs::write(library.join(MARK), compiler()?).with_context(denied)?;
    if !has_core(&library) {
        bail!("the build left no core library in {}", library.display());
    }
    Ok(())
}

/// The linker of the rustup toolchain in use, or else Debian's.
fn linker() -> Result<PathBuf> {
    let ours = workspace::output(Command::new("rustc").args(["--print", "target-libdir"]))
        .map(|folder| Path::new(&folder).with_file_name("bin").join("rust-lld"));
    let found = ours.into_iter().chain([PathBuf::from("/usr/bin/lld")]).find(|linker| linker.is_file());
    found.context("no linker for wasm32: install the package `lld`, or use a Rust of rustup's")
}
