//! What is demanded of policy files: digests and public keys.

use toml::Spanned;

use super::section::Section;
use crate::policy::trust::{FileDigest, PublicKey, Trust};

/// How `allow` and `public_keys` of `[policies]` are written.
pub(super) fn read_trust(section: &Section<'_>) -> Trust {
    let allow = read_list(section, "allow", |text| read_digest(section, text));
    let keys = read_list(section, "public_keys", |text| read_key(section, text));
    Trust { allow: allow.map(|allow| allow.into_iter().map(Spanned::into_inner).collect()), public_keys: keys }
}

/// Each item of a list, all of them reported that are wrong.
fn read_list<'d, T>(
    section: &Section<'d>,
    key: &'static str,
    read: impl Fn(&Spanned<&'d str>) -> Option<T>,
) -> Option<Vec<T>> {
    let texts = section.texts(key)?;
    if texts.is_empty() {
        let span = section.value(key)?.span();
        let message = format!("`{key}` is empty, so that no policy file could ever be loaded");
        section.problems.error(&span, message, format!("list at least one, or leave `{key}` out to demand none"));
    }
    Some(texts.iter().filter_map(read).collect())
}

/// A digest, or a report of what is wrong with it.
pub(super) fn read_digest(section: &Section<'_>, text: &Spanned<&str>) -> Option<Spanned<FileDigest>> {
    let written = *text.get_ref();
    match written.parse() {
        Ok(digest) => Some(Spanned::new(text.span(), digest)),
        Err(_) => {
            let with_prefix = format!("sha256:{}", written.to_ascii_lowercase());
            let cure = match with_prefix.parse::<FileDigest>() {
                Ok(digest) => format!("write \"{digest}\""),
                Err(_) => {
                    "write \"sha256:\" and then the 64 hexadecimal digits that `sha256sum NAME.wasm` prints".into()
                }
            };
            section.problems.error(&text.span(), "this is not a digest", cure);
            None
        }
    }
}

fn read_key(section: &Section<'_>, text: &Spanned<&str>) -> Option<PublicKey> {
    let key = text.get_ref().parse().ok();
    if key.is_none() {
        section.problems.error(
            &text.span(),
            "this is not a public key of minisign",
            "write the second line of the `.pub` file that `minisign -G` made; it begins with RW",
        );
    }
    key
}
