use notify::Event;
use notify::event::{CreateKind, DataChange, Flag, ModifyKind, RemoveKind, RenameMode};

use super::*;

fn what(kind: EventKind) -> Changes {
    meaning(&Event::new(kind))
}

#[test]
fn our_own_reading_is_no_change() {
    for access in [AccessKind::Open(AccessMode::Any), AccessKind::Read, AccessKind::Close(AccessMode::Read)] {
        assert_eq!(what(EventKind::Access(access)), Changes::default());
    }
}

#[test]
fn every_other_event_is_a_change_whatever_its_kind() {
    for kind in [
        EventKind::Any,
        EventKind::Other,
        EventKind::Access(AccessKind::Close(AccessMode::Write)),
        EventKind::Create(CreateKind::File),
        EventKind::Modify(ModifyKind::Data(DataChange::Any)),
        EventKind::Remove(RemoveKind::Any),
    ] {
        assert_eq!(what(kind), Changes { any: 1, renames: 0 }, "{kind:?}");
    }
    let rename = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    assert_eq!(what(rename), Changes { any: 1, renames: 1 });
}

#[test]
fn lost_events_are_a_change_also_for_the_parent() {
    let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
    assert_eq!(meaning(&overflow), Changes { any: 1, renames: 0 });
    assert!(concerns(&overflow, OsStr::new("policies")));
}

#[test]
fn the_parent_reports_the_folder_and_nothing_else() {
    let event = |path: &str| Event::new(EventKind::Create(CreateKind::Any)).add_path(path.into());
    assert!(concerns(&event("/etc/reprieve/policies"), OsStr::new("policies")));
    assert!(!concerns(&event("/etc/reprieve/reprieve.log"), OsStr::new("policies")));
}
