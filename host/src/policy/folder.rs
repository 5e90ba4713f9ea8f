//! The policies folder: what lies in it, and one file at a time, read whole and once.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use bytesize::ByteSize;

use super::rejection::TOO_LARGE_CURE;
use super::sha256;
use super::trust::Trust;

/// The largest signature that is read, in bytes: several times what minisign makes with its longest comments.
const LARGEST_SIGNATURE: u64 = 64 * 1024;

/// The names in a policies folder, without `.wasm`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing {
    /// `NAME.wasm`.
    pub(super) policies: BTreeSet<String>,
    /// `NAME.next.wasm`: kept for comparing with the live policy, never activated.
    pub(super) candidates: BTreeSet<String>,
}

/// The bytes of a policy as they were read, and their identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PolicyFile {
    pub(super) bytes: Bytes,
    /// SHA-256 of the bytes, hexadecimal. Times and sizes say too little: a file system may keep both over a change.
    pub(super) digest: String,
    /// What lies beside it as `NAME.wasm.minisig`, as it was read; `None` where there is none, or none was asked for.
    pub(super) signature: Option<Bytes>,
}

impl PolicyFile {
    pub(super) fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = sha256::of(&bytes);
        Self { bytes, digest, signature: None }
    }
}

/// Why there are no bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadError {
    /// Nothing has this name.
    #[error("{0}")]
    Missing(String),
    /// Something has this name and cannot be a policy.
    #[error("{what}; {cure}")]
    Unusable {
        /// Which file, and what is wrong with it.
        what: String,
        /// What to do about it.
        cure: &'static str,
    },
}

/// What lies in `folder`. Temporary and hidden files are passed over, and so is what has no `.wasm` at its end.
pub(super) fn list(folder: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in fs::read_dir(folder)? {
        match classify(&entry?.file_name()) {
            Entry::Policy(name) => listing.policies.insert(name.to_owned()),
            Entry::Candidate(name) => listing.candidates.insert(name.to_owned()),
            Entry::Other => false,
        };
    }
    Ok(listing)
}

enum Entry<'a> {
    Policy(&'a str),
    Candidate(&'a str),
    Other,
}

fn classify(file: &OsStr) -> Entry<'_> {
    let Some(file) = file.to_str() else { return Entry::Other };
    if file.starts_with('.') {
        return Entry::Other;
    }
    match file.strip_suffix(".wasm") {
        Some(name) => name.strip_suffix(".next").map_or(Entry::Policy(name), Entry::Candidate),
        None => Entry::Other,
    }
}

/// Whether a file `NAME.wasm` would be a policy, and in this folder.
pub(super) fn is_policy_name(name: &str) -> bool {
    let plain = !name.is_empty() && !name.contains(std::path::is_separator);
    plain && matches!(classify(format!("{name}.wasm").as_ref()), Entry::Policy(_))
}

/// Reads the policy at `path`, of at most `limit` bytes, without its signature.
pub(super) fn read(path: &Path, limit: u64) -> Result<PolicyFile, ReadError> {
    read_bytes(path, limit, &|| too_large(path, limit)).map(PolicyFile::new)
}

/// The same with what `trust` needs to know of it.
pub(super) fn read_for(trust: &Trust, path: &Path, limit: u64) -> Result<PolicyFile, ReadError> {
    if trust.demands_signature() { read_signed(path, limit) } else { read(path, limit) }
}

/// The same with its signature, where there is one.
pub(super) fn read_signed(path: &Path, limit: u64) -> Result<PolicyFile, ReadError> {
    let mut file = read(path, limit)?;
    file.signature = read_signature(path)?;
    Ok(file)
}

/// Where the signature of the policy at `path` lies.
pub(super) fn signature_path(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".minisig");
    path.into()
}

fn read_signature(policy: &Path) -> Result<Option<Bytes>, ReadError> {
    let path = signature_path(policy);
    let too_large = || ReadError::Unusable {
        what: format!("{} is too large for a signature", path.display()),
        cure: "put the file there that `minisign -S` made",
    };
    match read_bytes(&path, LARGEST_SIGNATURE, &too_large) {
        Ok(bytes) => Ok(Some(bytes.into())),
        Err(ReadError::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_bytes(path: &Path, limit: u64, too_large: &dyn Fn() -> ReadError) -> Result<Vec<u8>, ReadError> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Missing(format!("{} does not exist", path.display())),
        _ => {
            let what = format!("cannot read {}: {error}", path.display());
            ReadError::Unusable { what, cure: "check its permissions" }
        }
    };
    let check = |metadata: &fs::Metadata| {
        if !metadata.is_file() {
            let what = format!("{} is not a regular file", path.display());
            return Err(ReadError::Unusable { what, cure: "put a file there, or a link to one" });
        }
        if metadata.len() > limit { Err(too_large()) } else { Ok(()) }
    };
    // Asked before opening, since opening a device may do something; and again of what was opened, which may be another.
    check(&fs::metadata(path).map_err(cannot)?)?;
    let file = open(path).map_err(cannot)?;
    check(&file.metadata().map_err(cannot)?)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// Opens without waiting: a FIFO that came into the file's place would have this thread wait for a writer for good.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NONBLOCK);
    options.read(true).open(path)
}

fn too_large(path: &Path, limit: u64) -> ReadError {
    let limit = ByteSize(limit).display().iec();
    let what = format!("{} is larger than {limit}, the most that a policy may have", path.display());
    ReadError::Unusable { what, cure: TOO_LARGE_CURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn text(result: Result<PolicyFile, ReadError>) -> String {
        result.expect_err("nothing that could be read").to_string()
    }

    #[test]
    fn only_whole_policies_and_candidates_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "a.wasm",
            "b.next.wasm",
            "c.wasm.tmp",
            "d.wasm~",
            ".e.wasm",
            ".wasm",
            "f.txt",
            "wasm",
            "g.tmp",
            ".wasm.swp",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("..2026_1")).unwrap();
        let listing = list(folder.path()).unwrap();
        assert_eq!(listing.policies, BTreeSet::from(["a".to_owned()]));
        assert_eq!(listing.candidates, BTreeSet::from(["b".to_owned()]));
    }

    #[test]
    fn a_name_that_leaves_the_folder_or_is_reserved_is_no_policy_name() {
        assert!(is_policy_name("orders.v2"));
        for name in ["", ".hidden", "orders.next", "../orders", "a/b"] {
            assert!(!is_policy_name(name), "{name}");
        }
    }

    #[test]
    fn the_digest_is_of_the_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        fs::write(&path, "abc").unwrap();
        let file = read(&path, LIMIT).unwrap();
        assert_eq!(file.bytes, "abc");
        assert_eq!(file.digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_signature_beside_a_file_is_read_where_one_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, signature) = (folder.path().join("a.wasm"), folder.path().join("a.wasm.minisig"));
        fs::write(&path, "abc").unwrap();
        assert_eq!(read_signed(&path, LIMIT).unwrap().signature, None);
        fs::write(&signature, "signed").unwrap();
        assert_eq!(read_signed(&path, LIMIT).unwrap().signature.unwrap(), "signed");
        assert_eq!(read(&path, LIMIT).unwrap().signature, None);
        File::create(&signature).unwrap().set_len(1 << 40).unwrap();
        assert!(text(read_signed(&path, LIMIT)).contains("a.wasm.minisig is too large for a signature"));
        assert!(read(&path, LIMIT).is_ok());
    }

    #[test]
    fn a_file_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        fs::write(&path, "12345").unwrap();
        assert!(read(&path, 5).is_ok());
        assert!(text(read(&path, 4)).contains("larger than 4 B"));
    }

    #[test]
    fn what_is_missing_is_told_from_what_is_unusable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        assert!(matches!(read(&path, LIMIT), Err(ReadError::Missing(_))));
        fs::create_dir(&path).unwrap();
        assert!(text(read(&path, LIMIT)).contains("not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_is_refused_without_waiting_for_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(text(read(&path, LIMIT)).contains("not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_that_came_into_the_place_of_a_file_is_opened_without_waiting_for_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (opened, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || opened.send(open(&path).unwrap().metadata().unwrap().is_file()));
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(30)), Ok(false));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_one_that_leads_nowhere_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        std::os::unix::fs::symlink("target", &path).unwrap();
        assert!(matches!(read(&path, LIMIT), Err(ReadError::Missing(_))));
        fs::write(folder.path().join("target"), "abc").unwrap();
        assert_eq!(read(&path, LIMIT).unwrap().bytes, "abc");
    }
}
