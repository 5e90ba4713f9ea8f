//! Debian's Rust as the toolchain for wasm32. Only policies are built with it; rustup's stays in use for
//! everything else.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

use anyhow::{Context, Result};
use reprieve_toolchain::{BUILT_BY, TARGET, built_by};

use crate::{apt, workspace};

const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

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
    fs::write(folder.join("Cargo.toml"), "[package]\nname = \"empty\"\nedition = \"2021\"\n[workspace]\n")?;
    workspace::run(cargo(folder).args([
        "build",
        "--quiet",
        "--release",
        "-Zbuild-std=std,panic_abort",
        "--target",
        TARGET,
    ]))?;

    let library = Path::new("/usr/lib/rustlib").join(TARGET).join("lib");
    let denied = || format!("cannot write to {}: run `cargo xtask wasm` once as root", library.display());
    // What another compiler built would be found beside what this one did.
    remove(&library).with_context(denied)?;
    // What was compiled against another library cannot be used with this one, which cargo does not notice.
    let built = workspace::root().join(super::build::FOLDER);
    remove(&built).with_context(|| format!("cannot remove {}", built.display()))?;
    fs::create_dir_all(&library).with_context(denied)?;
    // So that nothing takes the library for whole should this be interrupted.
    fs::write(library.join(BUILT_BY), "unfinished").with_context(denied)?;
    for file in fs::read_dir(folder.join("target").join(TARGET).join("release/deps"))? {
        let file = file?.path();
        let name = file.file_name().context("a library has a name")?;
        if file.extension().is_some_and(|extension| extension == "rlib")
            && !name.to_string_lossy().starts_with("libempty-")
        {
            fs::copy(&file, library.join(name)).with_context(denied)?;
        }
    }
    fs::write(library.join(BUILT_BY), built_by(&compiler()?)).with_context(denied)
}

/// Removes a folder, should it be there.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Debian's cargo with Debian's rustc, whatever else is on the PATH. Its compiler is a stable one, and build-std is wanted
/// only for this library.
fn cargo(folder: &Path) -> Command {
    let mut path = OsString::from("/usr/bin:");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut cargo = Command::new(CARGO);
    cargo.current_dir(folder).env("PATH", path).env("RUSTC", RUSTC).env("RUSTC_BOOTSTRAP", "1");
    for inherited in ["CARGO", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
        cargo.env_remove(inherited);
    }
    // For the optimisation across crates when a policy is linked.
    cargo.env("RUSTFLAGS", "-Cembed-bitcode=yes");
    cargo
}
