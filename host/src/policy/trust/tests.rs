//! What is trusted, what is not, and what people are told.

use super::signing::Signer;
use super::*;

/// By minisign 0.11: `minisign -G`, and `minisign -S` of a file that holds `a policy`.
const KEY: &str = "RWRIEFA32+srMCoJ7r9xo23CVTZvUYlBVrLa/axPFMP2G22fRKXzEce1";
const SIGNATURE: &str = "untrusted comment: signature from minisign secret key
RURIEFA32+srMF4gmDznHxQWAmD7nJKHdAff1hGMLjXgcXqWRmxSBIlrzXaPx2FITRsNVkZJQVm+d8Z5nawPaSltUXj9317YUQ4=
trusted comment: v
Q8RErIsmcGgRh3h28G9MloasiF633A+WKCLr/7t2mIhe98gTPU/V3mzOXYAdfIY0sMt3Nf9fhGIBa/jWxXp7Bg==
";
/// The same with `-l`.
const LEGACY: &str = "untrusted comment: signature from minisign secret key
RWRIEFA32+srMAH1BK8YEmsNYkdztgQa7R48kM9GPClY3ayPVS4wzYvIjk+FUDEcDREwOJ9b4I56QcV0+3wxLRtkSqv02uvW/gs=
trusted comment: v
udiXjXqKZk2lxRnjdS6Wnl8Nas/EuP0r1tzt70eYINyee/b5IRgLtzKMRysETNmMyaB9D67290rhlx/FfB5jAg==
";
const POLICY: &[u8] = b"a policy";

fn file(bytes: &[u8], signature: Option<&[u8]>) -> PolicyFile {
    let mut file = PolicyFile::new(bytes.to_vec());
    file.signature = signature.map(|signature| signature.to_vec().into());
    file
}

fn signed_by(keys: &[&PublicKey]) -> Trust {
    Trust { public_keys: Some(keys.iter().copied().cloned().collect()), ..Trust::default() }
}

fn key_of(signer: &Signer) -> PublicKey {
    signer.public_key().parse().unwrap()
}

fn by_minisign(signature: &str) -> Result<Option<KeyId>, Distrust> {
    signed_by(&[&KEY.parse().unwrap()]).check(&file(POLICY, Some(signature.as_bytes())), None)
}

#[test]
fn without_a_demand_every_file_is_trusted() {
    assert_eq!(Trust::default().check(&file(POLICY, None), None), Ok(None));
}

#[test]
fn a_list_lets_in_what_is_on_it_and_tells_the_digest_of_what_is_not() {
    let digest = FileDigest::of(&file(POLICY, None));
    let trust = Trust { allow: Some([digest.clone()].into()), ..Trust::default() };
    assert_eq!(trust.check(&file(POLICY, None), None), Ok(None));
    let refused = trust.check(&file(b"another", None), None).unwrap_err();
    insta::assert_snapshot!(refused, @"the file is not on the list of allowed policies: its digest is sha256:ae448ac86c4e8e4dec645729708ef41873ae79c6dff84eff73360989487f08e5; to trust it, add that digest to `allow` under [policies] and send SIGHUP; else put an allowed file there");
    let none = Trust { allow: Some([].into()), ..Trust::default() };
    assert_eq!(none.check(&file(POLICY, None), None), Err(Distrust::NotAllowed { digest }));
}

#[test]
fn a_pin_lets_in_one_file_even_where_others_are_allowed() {
    let (one, other) = (file(b"one", None), file(b"other", None));
    let trust = Trust { allow: Some([FileDigest::of(&one), FileDigest::of(&other)].into()), ..Trust::default() };
    let pin = FileDigest::of(&one);
    assert_eq!(trust.check(&one, Some(&pin)), Ok(None));
    let refused = trust.check(&other, Some(&pin)).unwrap_err();
    insta::assert_snapshot!(refused, @"the route is pinned to another file: its `policy_digest` is sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed, this file's is sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa; to swap to this file, change the route's `policy_digest` and send SIGHUP; else put the pinned file back");
}

#[test]
fn a_signature_that_minisign_made_is_recognised_and_names_its_key() {
    let signed = by_minisign(SIGNATURE).unwrap().unwrap();
    assert_eq!(signed.to_string(), "302BEBDB37501048", "as minisign writes it");
    assert_eq!(by_minisign(&SIGNATURE.replace('\n', "\r\n")), Ok(Some(signed)));
}

#[test]
fn any_of_the_keys_will_do_and_no_other() {
    let (ours, theirs, stranger) = (Signer::new(1), Signer::new(2), Signer::new(3));
    let trust = signed_by(&[&key_of(&ours), &key_of(&theirs)]);
    for signer in [&ours, &theirs] {
        let signed = trust.check(&file(POLICY, Some(signer.sign(POLICY).as_bytes())), None);
        assert_eq!(signed, Ok(Some(key_of(signer).id())));
    }
    let key = key_of(&stranger).id();
    assert_eq!(
        trust.check(&file(POLICY, Some(stranger.sign(POLICY).as_bytes())), None),
        Err(Distrust::UnknownKey { key })
    );
}

#[test]
fn a_signature_is_of_the_bytes_and_of_its_own_comment() {
    let key = KEY.parse::<PublicKey>().unwrap().id();
    let other = file(b"a polecy", Some(SIGNATURE.as_bytes()));
    let refused = signed_by(&[&KEY.parse().unwrap()]).check(&other, None);
    assert_eq!(refused, Err(Distrust::DoesNotFit { key }));
    let changed = SIGNATURE.replace("trusted comment: v", "trusted comment: w");
    assert_eq!(by_minisign(&changed), Err(Distrust::DoesNotFit { key }));
}

#[test]
fn a_legacy_signature_is_refused_and_does_not_pass_as_the_other_kind() {
    let key = KEY.parse::<PublicKey>().unwrap().id();
    assert_eq!(by_minisign(LEGACY), Err(Distrust::Legacy { key }));
    assert_eq!(by_minisign(&LEGACY.replace("\nRWR", "\nRUR")), Err(Distrust::DoesNotFit { key }));
}

#[test]
fn a_list_and_signatures_must_both_hold() {
    let signer = Signer::new(1);
    let good = file(POLICY, Some(signer.sign(POLICY).as_bytes()));
    let allow = Some([FileDigest::of(&good)].into());
    let trust = Trust { allow, ..signed_by(&[&key_of(&signer)]) };
    assert_eq!(trust.check(&good, None), Ok(Some(key_of(&signer).id())));
    assert_eq!(trust.check(&file(POLICY, None), None), Err(Distrust::Unsigned));
    let other = file(b"another", Some(signer.sign(b"another").as_bytes()));
    assert!(matches!(trust.check(&other, None), Err(Distrust::NotAllowed { .. })));
}

#[test]
fn each_refusal_says_what_to_do() {
    let key = KEY.parse::<PublicKey>().unwrap().id();
    let refusals = [
        Distrust::Unsigned,
        Distrust::Malformed,
        Distrust::UnknownKey { key },
        Distrust::DoesNotFit { key },
        Distrust::Legacy { key },
    ];
    insta::assert_snapshot!(refusals.map(|refusal| refusal.to_string()).join("\n"), @"
    the file is not signed: no `.wasm.minisig` lies beside it; sign it with `minisign -S -m NAME.wasm`, and put the signature beside it
    the `.wasm.minisig` beside the file is not a signature of minisign; copy what `minisign -S -m NAME.wasm` made there, the whole of it
    the file is signed with the key 302BEBDB37501048, which is not trusted here; sign it with a key whose public half is in `public_keys` under [policies], or add this key's there and send SIGHUP
    the signature with the key 302BEBDB37501048 does not fit the file: one of the two was changed; copy the policy and its signature again, both from the same build
    the signature with the key 302BEBDB37501048 is of the legacy kind, which signs the file and not its hash; sign it again with minisign 0.10 or newer, without -l
    ");
}

#[test]
fn a_digest_is_written_with_its_kind() {
    let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let digest = FileDigest::of(&file(b"abc", None));
    assert_eq!(digest.to_string().parse(), Ok(digest.clone()));
    assert_eq!(format!("sha256:{}", digits.to_uppercase()).parse(), Ok(digest));
    for wrong in
        [digits, "", "sha256:", "sha512:00", &format!("sha256:{digits}0"), &format!("sha256:{}g", &digits[1..])]
    {
        assert_eq!(wrong.parse::<FileDigest>(), Err(InvalidDigest), "{wrong}");
    }
}

#[test]
fn a_text_that_is_no_key_is_no_key() {
    for wrong in
        ["", "RW", "minisign.pub", &KEY[1..], &KEY.replace("RWR", "AWR"), &format!("untrusted comment: k\n{KEY}")]
    {
        assert_eq!(wrong.parse::<PublicKey>().unwrap_err(), InvalidPublicKey, "{wrong}");
    }
}

mod any_file {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn beside_a_policy_is_refused_without_a_panic(signature in any::<Vec<u8>>()) {
            let trust = signed_by(&[&KEY.parse().unwrap()]);
            prop_assert!(trust.check(&file(POLICY, Some(&signature)), None).is_err());
        }

        #[test]
        fn that_was_a_signature_is_refused_without_a_panic(at in 0..SIGNATURE.len(), new in any::<u8>()) {
            let mut signature = SIGNATURE.as_bytes().to_vec();
            prop_assume!(signature[at] != new);
            signature[at] = new;
            let first_line = SIGNATURE.find('\n').unwrap();
            // The first comment is not signed.
            prop_assume!(at > first_line || (at == first_line && new != b'\r'));
            // A line may end in either way, and the last one may not end at all.
            prop_assume!(at != SIGNATURE.len() - 1);
            let trust = signed_by(&[&KEY.parse().unwrap()]);
            prop_assert!(trust.check(&file(POLICY, Some(&signature)), None).is_err(), "{}", String::from_utf8_lossy(&signature));
        }
    }
}
