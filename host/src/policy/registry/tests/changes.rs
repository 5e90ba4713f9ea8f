//! Each way of changing a folder ends in the right live revision. No rescan runs: only the watcher can have noticed.

use std::fs;
use std::io::Write;
use std::time::Duration;

use super::support::{Place, Running, link, policy, route, swaps_by, until};
use crate::policy::registry::PolicySettings;

const HOUR: Duration = Duration::from_secs(60 * 60);

#[tokio::test]
async fn a_file_copied_over_the_old_one_goes_live() {
    swaps_by(async |folder, new| fs::write(folder.join("orders.wasm"), new).unwrap()).await;
}

#[tokio::test]
async fn a_file_renamed_within_the_folder_goes_live() {
    swaps_by(async |folder, new| {
        fs::write(folder.join("orders.wasm.tmp"), new).unwrap();
        fs::rename(folder.join("orders.wasm.tmp"), folder.join("orders.wasm")).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_file_renamed_from_another_folder_goes_live() {
    swaps_by(async |folder, new| {
        let elsewhere = folder.with_file_name("elsewhere").join("new");
        fs::write(&elsewhere, new).unwrap();
        fs::rename(elsewhere, folder.join("orders.wasm")).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_file_deleted_and_written_anew_goes_live() {
    swaps_by(async |folder, new| {
        fs::remove_file(folder.join("orders.wasm")).unwrap();
        fs::write(folder.join("orders.wasm"), new).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_folder_removed_and_made_again_is_watched_again() {
    swaps_by(async |folder, new| {
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("orders.wasm"), new).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_folder_put_in_place_of_another_is_watched() {
    swaps_by(async |folder, new| {
        let elsewhere = folder.with_file_name("elsewhere");
        fs::write(elsewhere.join("orders.wasm"), new).unwrap();
        fs::rename(&folder, folder.with_file_name("old")).unwrap();
        fs::rename(elsewhere, &folder).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_slow_copy_goes_live_once_it_is_whole() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![route("orders", Some("orders"))]).await;
    let scans = running.scans();
    let new = policy(2);
    let (first, second) = new.split_at(new.len() / 2);
    let mut file = fs::File::create(place.file("orders")).unwrap();
    file.write_all(first).unwrap();
    until("a scan of the first half", || running.scans() > scans).await;
    assert!(running.runs("orders", &policy(1)));
    file.write_all(second).unwrap();
    running.until_runs("orders", &policy(2)).await;
    until("the end of the error", || running.error("orders").is_none()).await;
    assert_eq!(running.swaps(), 2);
    running.stop().await;
}

#[tokio::test]
async fn a_rename_is_not_waited_out_and_what_may_still_be_on_its_way_is_no_error_yet() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let settings = PolicySettings { debounce: HOUR, ..place.settings() };
    let running = Running::start(settings, vec![route("orders", Some("orders"))]).await;
    let scans = running.scans();
    let new = policy(2);
    place.install("orders", &new[..new.len() / 2]);
    running.until_quiet_after(scans).await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.error("orders"), None);
    place.install("orders", &new);
    running.until_runs("orders", &policy(2)).await;
    running.stop().await;
}

/// Kubernetes replaces a mounted ConfigMap by swapping one link; no event names the policy.
#[tokio::test]
async fn a_swapped_data_link_goes_live() {
    let place = Place::new();
    let put = |version: u8| {
        let data = format!("..2026_{version}");
        fs::create_dir(place.folder().join(&data)).unwrap();
        fs::write(place.folder().join(&data).join("orders.wasm"), policy(version)).unwrap();
        link(&data, &place.folder().join("..data_tmp"));
        fs::rename(place.folder().join("..data_tmp"), place.folder().join("..data")).unwrap();
    };
    put(1);
    link("..data/orders.wasm", &place.file("orders"));
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    assert!(running.runs("orders", &policy(1)));
    for version in [2, 3] {
        put(version);
        fs::remove_dir_all(place.folder().join(format!("..2026_{}", version - 1))).unwrap();
        running.until_runs("orders", &policy(version)).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn a_folder_that_is_a_link_is_followed_to_where_it_leads_now() {
    let place = Place::new();
    fs::remove_dir(place.folder()).unwrap();
    for version in [1, 2] {
        let target = place.folder().with_file_name(format!("v{version}"));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("orders.wasm"), policy(version)).unwrap();
    }
    link("v1", &place.folder());
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    assert!(running.runs("orders", &policy(1)));
    let new = place.elsewhere().join("link");
    link("v2", &new);
    fs::rename(new, place.folder()).unwrap();
    running.until_runs("orders", &policy(2)).await;
    fs::write(place.file("orders"), policy(3)).unwrap();
    running.until_runs("orders", &policy(3)).await;
    running.stop().await;
}

#[tokio::test]
async fn a_deleted_file_keeps_the_last_good_one() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![route("orders", Some("orders"))]).await;
    fs::remove_file(place.file("orders")).unwrap();
    running.until_error("orders", "does not exist").await;
    assert!(running.runs("orders", &policy(1)));
    // The same file again is no swap.
    place.install("orders", &policy(1));
    until("the end of the error", || running.error("orders").is_none()).await;
    assert_eq!(running.swaps(), 1);
    running.stop().await;
}

#[tokio::test]
async fn reading_the_folder_does_not_wake_the_reader() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![route("orders", Some("orders"))]).await;
    let scans = running.scans();
    place.install("orders", &policy(2));
    running.until_quiet_after(scans).await;
    assert_eq!(running.swaps(), 2);
    running.stop().await;
}

#[tokio::test]
async fn the_same_content_is_not_loaded_again() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![route("orders", Some("orders"))]).await;
    let since = running.route("orders").live.unwrap().live_since;
    let scans = running.scans();
    fs::write(place.file("orders"), policy(1)).unwrap();
    place.install("orders", &policy(1));
    running.until_quiet_after(scans).await;
    assert_eq!(running.swaps(), 1);
    assert_eq!(running.route("orders").live.unwrap().live_since, since);
    running.stop().await;
}

#[tokio::test]
async fn a_change_that_no_event_told_of_is_found_by_the_slow_rescan() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let target = place.elsewhere().join("orders.wasm");
    // The folder holds a link, so that a change behind it makes no event in the folder.
    fs::rename(place.file("orders"), &target).unwrap();
    link("../elsewhere/orders.wasm", &place.file("orders"));
    let settings = PolicySettings { rescan: Duration::from_millis(50), ..place.settings() };
    let running = Running::start(settings, vec![route("orders", Some("orders"))]).await;
    fs::write(&target, policy(2)).unwrap();
    running.until_runs("orders", &policy(2)).await;
    running.stop().await;
}
