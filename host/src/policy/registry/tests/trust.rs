//! Only what is trusted goes live, and what is trusted does.

use std::fs;
use std::time::Duration;

use super::support::{Place, Running, bad_settings, digest, policy, route, until, with_settings};
use crate::policy::registry::{PolicySettings, RoutePolicy};
use crate::policy::status::Source;
use crate::policy::trust::signing::Signer;
use crate::policy::trust::{FileDigest, PublicKey, Trust};

fn orders() -> RoutePolicy {
    route("orders", Some("orders"))
}

fn file_digest(bytes: &[u8]) -> FileDigest {
    format!("sha256:{}", digest(bytes)).parse().unwrap()
}

fn pinned_to(bytes: &[u8]) -> RoutePolicy {
    RoutePolicy { policy_digest: Some(file_digest(bytes)), ..orders() }
}

fn allowing(files: &[&[u8]]) -> Trust {
    Trust { allow: Some(files.iter().map(|bytes| file_digest(bytes)).collect()), ..Trust::default() }
}

fn signed_by(signers: &[&Signer]) -> Trust {
    let keys = signers.iter().map(|signer| key_of(signer)).collect();
    Trust { public_keys: Some(keys), ..Trust::default() }
}

fn key_of(signer: &Signer) -> PublicKey {
    signer.public_key().parse().unwrap()
}

impl Place {
    async fn start_trusting(&self, trust: &Trust, routes: Vec<RoutePolicy>) -> Running {
        Running::start(PolicySettings { trust: trust.clone(), ..self.settings() }, routes).await
    }

    fn sign(&self, signature: &str) {
        let temporary = self.elsewhere().join("signature");
        fs::write(&temporary, signature).unwrap();
        fs::rename(temporary, self.folder().join("orders.wasm.minisig")).unwrap();
    }

    /// Puts a policy and its signature in place.
    fn install_signed(&self, bytes: &[u8], signer: &Signer) {
        self.sign(&signer.sign(bytes));
        self.install("orders", bytes);
    }
}

#[tokio::test]
async fn an_allowed_file_is_swapped_for_another_allowed_one() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start_trusting(&allowing(&[&policy(1), &policy(2)]), vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    place.install("orders", &policy(2));
    running.until_runs("orders", &policy(2)).await;
    until("the end of the error", || running.error("orders").is_none()).await;
    running.stop().await;
}

#[tokio::test]
async fn a_file_that_is_not_allowed_is_refused_until_its_digest_is_added() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start_trusting(&allowing(&[&policy(1)]), vec![orders()]).await;
    place.install("orders", &policy(2));
    running.until_error("orders", &format!("its digest is {}", file_digest(&policy(2)))).await;
    assert!(running.runs("orders", &policy(1)));

    running.policies.reconfigure(allowing(&[&policy(1), &policy(2)]), vec![orders()]).await;
    assert!(running.runs("orders", &policy(2)));
    assert_eq!(running.error("orders"), None);
    running.stop().await;
}

#[tokio::test]
async fn other_demands_that_the_live_file_meets_swap_nothing() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![orders()]).await;
    assert_eq!(running.swaps(), 1);
    running.policies.reconfigure(allowing(&[&policy(1)]), vec![orders()]).await;
    assert_eq!((running.swaps(), running.error("orders")), (0, None));
    running.stop().await;
}

#[tokio::test]
async fn a_live_file_that_is_no_longer_allowed_judges_on_and_says_so_until_another_comes() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![orders()]).await;
    running.policies.reconfigure(allowing(&[&policy(2)]), vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    assert!(running.error("orders").unwrap().contains("the live policy is no longer trusted"));
    place.install("orders", &policy(2));
    running.until_runs("orders", &policy(2)).await;
    until("the end of the error", || running.error("orders").is_none()).await;
    running.stop().await;
}

#[tokio::test]
async fn signed_policies_are_swapped_and_the_status_names_the_key() {
    let (place, signer) = (Place::new(), Signer::new(1));
    place.install_signed(&policy(1), &signer);
    let running = place.start_trusting(&signed_by(&[&signer]), vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    place.install_signed(&policy(2), &signer);
    running.until_runs("orders", &policy(2)).await;
    until("the end of the error", || running.error("orders").is_none()).await;
    assert_eq!(running.route("orders").live.unwrap().signed_by, Some(key_of(&signer).id()));
    running.stop().await;
}

#[tokio::test]
async fn a_signature_that_arrives_after_its_policy_is_noticed() {
    let (place, signer) = (Place::new(), Signer::new(1));
    place.install_signed(&policy(1), &signer);
    let running = place.start_trusting(&signed_by(&[&signer]), vec![orders()]).await;
    fs::remove_file(place.folder().join("orders.wasm.minisig")).unwrap();
    place.install("orders", &policy(2));
    running.until_error("orders", "the file is not signed").await;
    assert!(running.runs("orders", &policy(1)));
    place.sign("half a signa");
    running.until_error("orders", "is not a signature of minisign").await;
    place.sign(&signer.sign(&policy(2)));
    running.until_runs("orders", &policy(2)).await;
    until("the end of the error", || running.error("orders").is_none()).await;
    running.stop().await;
}

#[tokio::test]
async fn a_strangers_signature_and_changed_bytes_are_refused() {
    let (place, signer, stranger) = (Place::new(), Signer::new(1), Signer::new(2));
    place.install_signed(&policy(1), &signer);
    let running = place.start_trusting(&signed_by(&[&signer]), vec![orders()]).await;
    place.install_signed(&policy(2), &stranger);
    running.until_error("orders", &format!("with the key {}, which is not trusted", key_of(&stranger).id())).await;
    place.sign(&signer.sign(&policy(3)));
    running.until_error("orders", "does not fit the file").await;
    fs::remove_file(place.folder().join("orders.wasm.minisig")).unwrap();
    fs::create_dir(place.folder().join("orders.wasm.minisig")).unwrap();
    running.until_error("orders", "orders.wasm.minisig is not a regular file").await;
    assert!(running.runs("orders", &policy(1)));
    running.stop().await;
}

#[tokio::test]
async fn a_first_policy_that_is_not_trusted_leaves_the_route_without_one() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let signer = Signer::new(1);
    let running = place.start_trusting(&signed_by(&[&signer]), vec![orders(), route("mail", None)]).await;
    assert!(!running.policies.handle("orders").unwrap().is_ready());
    assert!(running.policies.handle("mail").unwrap().is_ready(), "the embedded policy is exempt");
    place.sign(&signer.sign(&policy(1)));
    running.until_runs("orders", &policy(1)).await;
    running.stop().await;
}

#[tokio::test]
async fn a_signed_policy_outlives_a_restart_without_its_folder() {
    let (place, signer) = (Place::new(), Signer::new(1));
    place.install_signed(&policy(1), &signer);
    let trust = signed_by(&[&signer]);
    place.start_trusting(&trust, vec![orders()]).await.stop().await;
    fs::remove_dir_all(place.folder()).unwrap();
    let running = place.start_trusting(&trust, vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.source("orders"), Some(Source::LastGood));
    running.stop().await;
}

#[tokio::test]
async fn a_file_signed_anew_outlives_the_end_of_its_first_key() {
    let (place, old, new) = (Place::new(), Signer::new(1), Signer::new(2));
    place.install_signed(&policy(1), &old);
    let mut running = place.start_trusting(&signed_by(&[&old, &new]), vec![orders()]).await;
    assert_eq!(running.swaps(), 1);
    place.sign(&new.sign(&policy(1)));
    let id = Some(key_of(&new).id());
    until("the new signature", || running.route("orders").live.unwrap().signed_by == id).await;
    assert_eq!(running.swaps(), 0);
    running.stop().await;

    fs::remove_dir_all(place.folder()).unwrap();
    let running = place.start_trusting(&signed_by(&[&new]), vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    running.stop().await;
}

#[tokio::test]
async fn a_last_good_policy_that_is_no_longer_trusted_does_not_come_back() {
    let place = Place::new();
    place.install("orders", &policy(1));
    place.start(vec![orders()]).await.stop().await;
    fs::remove_file(place.file("orders")).unwrap();
    for (trust, why) in [
        (allowing(&[&policy(2)]), "the last good copy of orders.wasm: the file is not on the list"),
        (signed_by(&[&Signer::new(1)]), "the last good copy of orders.wasm: the file is not signed"),
    ] {
        let running = place.start_trusting(&trust, vec![orders()]).await;
        assert!(!running.policies.handle("orders").unwrap().is_ready());
        let error = running.error("orders").unwrap();
        assert!(
            error.contains(why) && error.ends_with("; put a trusted orders.wasm into the policies folder"),
            "{error}"
        );
        running.stop().await;
    }
    let running = place.start(vec![pinned_to(&policy(2))]).await;
    assert!(running.error("orders").unwrap().contains("the last good copy of orders.wasm: the route is pinned"));
    running.stop().await;
    let running = place.start(vec![pinned_to(&policy(1))]).await;
    assert!(running.runs("orders", &policy(1)), "it is still there for a host that trusts it");
    running.stop().await;
}

#[tokio::test]
async fn the_last_good_copy_of_the_embedded_policy_is_exempt() {
    let (place, trust) = (Place::new(), allowing(&[&policy(1)]));
    place.start_trusting(&trust, vec![route("orders", None)]).await.stop().await;
    let running = place.start_trusting(&trust, vec![with_settings(route("orders", None), bad_settings())]).await;
    assert_eq!(running.source("orders"), Some(Source::LastGood));
    running.stop().await;
}

#[tokio::test]
async fn a_pinned_route_refuses_another_file_once_and_takes_it_with_another_pin() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let settings = PolicySettings { rescan: Duration::from_millis(20), ..place.settings() };
    let running = Running::start(settings, vec![pinned_to(&policy(1))]).await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.route("orders").policy_digest, Some(file_digest(&policy(1))));
    place.install("orders", &policy(2));
    running.until_error("orders", "the route is pinned to another file").await;
    let refused = running.route("orders").last_error;
    let scans = running.scans();
    until("more scans", || running.scans() > scans + 5).await;
    assert_eq!(running.route("orders").last_error, refused, "later scans refuse nothing anew");
    assert!(running.runs("orders", &policy(1)));

    running.reconfigure(vec![pinned_to(&policy(2))]).await;
    assert!(running.runs("orders", &policy(2)));
    assert_eq!(running.error("orders"), None);
    running.reconfigure(vec![orders()]).await;
    place.install("orders", &policy(3));
    running.until_runs("orders", &policy(3)).await;
    running.stop().await;
}

#[tokio::test]
async fn an_unused_file_that_is_not_trusted_is_not_looked_into() {
    let place = Place::new();
    place.install("spare", &policy(1));
    let running = place.start_trusting(&allowing(&[&policy(2)]), vec![route("orders", None)]).await;
    until("a report", || running.status().unused.len() == 1).await;
    let unused = running.status().unused.remove(0);
    assert!(unused.description.is_none() && unused.error.unwrap().contains("not on the list"));
    running.policies.reconfigure(allowing(&[&policy(1)]), vec![route("orders", None)]).await;
    until("a look into it", || running.status().unused[0].description.is_some()).await;
    running.stop().await;
}
