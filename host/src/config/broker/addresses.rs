//! Where a broker is: one address or several, with a password that may be written apart, and TLS.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use crate::broker::TlsSettings;
use crate::config::section::Section;
use crate::config::{Secret, SecretUrl};

/// How the addresses of one kind of broker are written, for messages.
pub(super) struct Addresses {
    /// What to do where there is none.
    pub(super) missing: &'static str,
    /// An example of several.
    pub(super) several: &'static str,
    /// An example with a user and without a password.
    pub(super) with_user: &'static str,
}

impl Addresses {
    /// `url` or `urls`, each read by `read`, with `password` where that is written apart. At least one.
    pub(super) fn read<'d>(
        &self,
        section: &Section<'d>,
        read: impl Fn(&Spanned<Secret>) -> Option<SecretUrl>,
    ) -> Option<Vec<SecretUrl>> {
        let password = section.secret("password");
        let read = |text: &Spanned<Secret>| {
            let url = read(text)?;
            match &password {
                Some(password) => self.with_password(section, url, password),
                None => Some(url),
            }
        };
        let Some(several) = section.value("urls") else {
            return Some(vec![read(&section.required_secret("url", self.missing)?)?]);
        };
        if section.value("url").is_some() {
            let message = format!("{} has both `url` and `urls`", section.title);
            section.problems.error(&several.span(), message, "write all addresses into `urls`, and leave `url` out");
        }
        let items = section.items("urls", self.several)?;
        if items.is_empty() {
            section.problems.error(&several.span(), "`urls` is empty", self.missing);
            return None;
        }
        // All of them are looked at, so that each that is wrong is reported.
        let urls: Vec<_> = items.iter().map(|item| read(&section.secret_of("urls", item)?)).collect();
        urls.into_iter().collect()
    }

    /// The address with a password that is written apart, where it need not be percent-encoded.
    fn with_password(&self, section: &Section<'_>, url: SecretUrl, password: &Spanned<Secret>) -> Option<SecretUrl> {
        let mut url = url.expose().clone();
        let as_example = |verb: &str| format!("write {verb} as {}", self.with_user);
        let (message, cure) = if url.password().is_some() {
            ("there is a password in the address already", "leave one out".to_owned())
        } else if url.username().is_empty() {
            ("there is no user in the address whose password this is", as_example("the user into it,"))
        } else if url.set_password(Some(password.get_ref().expose())).is_err() {
            ("the address cannot take a password", as_example("it"))
        } else {
            return Some(SecretUrl::new(url));
        };
        section.problems.error(&password.span(), message, cure);
        None
    }
}

/// The table `tls`, with its place.
pub(super) fn read_tls(section: &Section<'_>, folder: &Path) -> Option<(Range<usize>, TlsSettings)> {
    let tls = section.section("tls", "the broker's `tls`")?;
    let file = |key| tls.text(key).map(|text| folder.join(text.get_ref()));
    let (ca, certificate, key) = (file("ca"), file("certificate"), file("key"));
    if certificate.is_some() != key.is_some() {
        tls.problems.error(
            &tls.span,
            "a client certificate needs both `certificate` and `key`",
            "write both, or leave both out where the broker wants no client certificate",
        );
    }
    let span = tls.span.clone();
    tls.finish();
    Some((span, TlsSettings { ca, identity: certificate.zip(key) }))
}

/// The settings, which are wrong where no address needs them.
pub(super) fn tls_in_use(
    section: &Section<'_>,
    tls: Option<(Range<usize>, TlsSettings)>,
    is_needed: bool,
    cure: &str,
) -> TlsSettings {
    let Some((span, tls)) = tls else { return TlsSettings::default() };
    if !is_needed {
        section.problems.error(&span, "`tls` is set, and no address of this broker is spoken to over TLS", cure);
    }
    tls
}
