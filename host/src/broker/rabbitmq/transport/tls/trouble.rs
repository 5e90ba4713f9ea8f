//! What a broken handshake means, and what to do about it.

use std::io;

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

use super::super::DialError;

/// What TLS said, where this error comes from it.
pub(in crate::broker::rabbitmq::transport) fn trouble(error: &io::Error) -> Option<DialError> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(problem) => certificate(problem),
        Error::InvalidMessage(_) => DialError::new(
            "what answers there speaks no TLS",
            "write amqp:// for it, or the port of its TLS listener (usually 5671), in",
        ),
        Error::AlertReceived(alert) => alert_received(*alert),
        other => DialError::new(format!("TLS: {other}"), "see the broker's own log, or correct"),
    })
}

fn certificate(problem: &CertificateError) -> DialError {
    match problem {
        CertificateError::UnknownIssuer => DialError::new(
            "its certificate is signed by nobody whom this host trusts",
            "name the file of the CA that signed it as `ca` in the `tls` beside",
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => DialError::new(
            "its certificate has expired",
            "renew it at the broker (or set this machine's clock right), or correct",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => DialError::new(
            "its certificate is not valid yet",
            "set this machine's clock right, renew the certificate at the broker, or correct",
        ),
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => DialError::new(
            format!("its certificate is not for this host but for {}", presented.join(", ")),
            "write a name that the certificate is for as the host in",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => DialError::new(
            "its certificate is not for this host",
            "write a name that the certificate is for as the host in",
        ),
        CertificateError::BadSignature => DialError::new(
            "its certificate is not signed by the CA that it names",
            "name the file of the CA that signed it as `ca` in the `tls` beside",
        ),
        other => {
            DialError::new(format!("its certificate cannot be used ({other})"), "renew it at the broker, or correct")
        }
    }
}

fn alert_received(alert: AlertDescription) -> DialError {
    match alert {
        AlertDescription::CertificateRequired | AlertDescription::HandshakeFailure => DialError::new(
            format!("the broker ended the TLS handshake ({alert:?}): as a rule, it wants a client certificate"),
            "give `certificate` and `key` in the `tls` beside",
        ),
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked => DialError::new(
            format!("the broker does not accept our certificate ({alert:?})"),
            "give one that is valid and signed by a CA that the broker trusts as `certificate` in the `tls` beside",
        ),
        other => DialError::new(
            format!("the broker ended the TLS handshake ({other:?})"),
            "see the broker's own log, or correct",
        ),
    }
}
