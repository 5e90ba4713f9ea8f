//! The folder for messages that a broker never takes (rule 11): two files for each, the body as it was and, beside it, what
//! whoever puts it back must know.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::{NamedTempFile, PersistError};

use crate::delivery::Parcel;
use crate::message::Message;
use crate::timestamp::Timestamp;

/// The part of a file's name that comes from the message's id.
const LONGEST_ID: usize = 64;

/// Puts a message into the folder, and gives the file that describes it. When this returns, a crash of the machine cannot
/// lose it.
///
/// # Errors
/// What could not be written, and what to do. Nothing is overwritten; a body without a description may be left behind.
pub(super) fn park(folder: &Path, route: &str, source: &str, parcel: &Parcel) -> Result<String, String> {
    let parked = write(folder, route, source, parcel).map_err(|error| {
        let folder = folder.display();
        format!("cannot write to the park folder {folder}: {error}; make it writable and free some space")
    })?;
    Ok(parked.display().to_string())
}

fn write(folder: &Path, route: &str, source: &str, parcel: &Parcel) -> io::Result<PathBuf> {
    make(folder)?;
    let parked_at = Timestamp::now();
    let stem = format!("{}-{}-{}", plain(route), parked_at.0, plain(&parcel.id));
    // The description last: where it is, the body is.
    let body = match &parcel.message.body {
        Some(body) => Some(persist(folder, &stem, "body", body)?),
        None => None,
    };
    let body_file = body.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let description = json!({
        "parked_at": parked_at.to_string(),
        "route": route,
        "source": source,
        "origin": { "exchange": parcel.origin.exchange, "routing_key": parcel.origin.routing_key },
        "id": parcel.id,
        "attempts": parcel.attempts,
        "error": parcel.error,
        "failed_at": parcel.failed_at.to_string(),
        "reason": parcel.reason,
        "target": parcel.target.to_string(),
        "refusal": parcel.refusal,
        "body_file": body_file,
        "body_bytes": parcel.message.body_size(),
        // Without the body, which is in the file beside it.
        "message": Message { body: None, ..(*parcel.message).clone() },
    });
    let path = persist(folder, &stem, "json", &serde_json::to_vec_pretty(&description)?)?;
    sync_folder(folder)?;
    Ok(path)
}

/// Makes the folder where it is missing, so that it outlives a loss of power.
fn make(folder: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent().filter(|_| !folder.is_dir()) else { return Ok(()) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    make(parent)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_folder(parent),
    }
}

/// Writes a file that is there as a whole or not at all, under a name that is still free.
fn persist(folder: &Path, stem: &str, ending: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut file = NamedTempFile::with_prefix_in(".parking-", folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    for number in 0_u32.. {
        let path = match number {
            0 => folder.join(format!("{stem}.{ending}")),
            _ => folder.join(format!("{stem}.{number}.{ending}")),
        };
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(PersistError { error, file: kept }) if error.kind() == io::ErrorKind::AlreadyExists => file = kept,
            Err(PersistError { error, .. }) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A rename is durable once its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// What no file system takes for anything but a name.
fn plain(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    text.chars().take(LONGEST_ID).map(|character| if plain(character) { character } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::broker::{Origin, Target};
    use crate::handler_error::HandlerError;

    fn parcel(message: Message) -> Parcel {
        Parcel {
            id: message.id.clone().unwrap_or_else(|| "made-up".to_owned()),
            message: Arc::new(message),
            origin: Origin {
                exchange: Some("shop".to_owned()),
                routing_key: Some("order.new".to_owned()),
                ..Origin::default()
            },
            attempts: 3,
            error: HandlerError::new("http-500", "no stock"),
            failed_at: Timestamp(1_700_000_000_000),
            reason: "3 attempts were too few".to_owned(),
            target: Target::Topic("orders.dlq".into()),
            refusal: "too large: 134217729 bytes".to_owned(),
        }
    }

    fn read(path: &str) -> (Value, Option<Vec<u8>>) {
        let description: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let body = description["body_file"].as_str().map(|name| Path::new(path).with_file_name(name));
        (description, body.map(|body| fs::read(body).unwrap()))
    }

    #[test]
    fn what_is_parked_can_be_read_and_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("parked");
        let message = Message::new(b"\xff\x00raw".to_vec()).with_id("m/1").with_header("tenant", "acme");
        let path = park(&folder, "orders", "orders", &parcel(message.clone())).unwrap();
        let (description, body) = read(&path);
        assert_eq!(body.as_deref(), message.body.as_deref());
        assert_eq!(description["refusal"], "too large: 134217729 bytes");
        assert_eq!(description["error"]["text"], "no stock");
        assert_eq!(description["origin"]["routing_key"], "order.new");
        let kept: Message = serde_json::from_value(description["message"].clone()).unwrap();
        assert_eq!(Message { body: message.body.clone(), ..kept }, message);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left behind");
    }

    #[test]
    fn messages_of_one_id_do_not_overwrite_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<String> = ["one", "two", "three"]
            .map(|body| park(folder.path(), "orders", "orders", &parcel(Message::new(body).with_id("m1"))).unwrap())
            .into();
        let bodies: Vec<_> = paths.iter().filter_map(|path| read(path).1).collect();
        assert_eq!(bodies, [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
    }

    #[test]
    fn a_null_body_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let null = Message { body: None, ..Message::new("") };
        let (description, body) = read(&park(folder.path(), "r", "s", &parcel(null)).unwrap());
        assert!(description["body_file"].is_null() && body.is_none());
        let (_, body) = read(&park(folder.path(), "r", "s", &parcel(Message::new(""))).unwrap());
        assert_eq!(body, Some(Vec::new()));
    }

    #[test]
    fn no_id_leaves_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for id in ["../../up", "/etc/passwd", "", "ä\0", &"x".repeat(5000)] {
            let path = park(folder.path(), "../r", "s", &parcel(Message::new("").with_id(id))).unwrap();
            assert_eq!(Path::new(&path).parent(), Some(folder.path()));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("parked"), "a file in the way").unwrap();
        let error = park(&folder.path().join("parked"), "r", "s", &parcel(Message::new(""))).unwrap_err();
        assert!(error.contains("parked") && error.contains("free some space"), "{error}");
    }
}
