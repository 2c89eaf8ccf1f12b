//! TLS outside HTTP: rustls with ring, and the authorities of this machine or of a file.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Secures a connection with TLS; the server must show a certificate of this name. `section` is the channel's section
/// in the configuration, for error texts, and `authorities` its `ca_file`.
///
/// # Errors
/// The authorities can't be read, the server isn't the expected one, or it doesn't speak TLS. The error names the fix.
pub(super) async fn shaken(
    stream: TcpStream,
    host: &str,
    authorities: Option<&Path>,
    section: &str,
) -> Result<TlsStream<TcpStream>, String> {
    let file = authorities.map(Path::to_owned);
    // Loading the machine's authorities takes longer than this thread may be blocked.
    let read = tokio::task::spawn_blocking(move || config(file.as_deref())).await.map_err(|error| error.to_string())?;
    let config = read.map_err(|why| format!("TLS: {why}; correct {section}.ca_file"))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("TLS: {host:?}: {error}"))?;
    let shaken = tokio_rustls::TlsConnector::from(config).connect(name, stream).await;
    shaken.map_err(|error| {
        let fix = if found(&error).is_some() { fix(&error, section) } else { nobody(section) };
        format!("TLS: {error}{fix}")
    })
}

fn nobody(section: &str) -> String {
    format!("; the server doesn't speak TLS at this port: correct the scheme and the port in {section}")
}

/// The fix for a TLS error among the causes, with a semicolon before it; else empty.
pub(super) fn fix(error: &(dyn Error + 'static), section: &str) -> String {
    use CertificateError as Bad;
    let wrong = match found(error) {
        Some(rustls::Error::InvalidCertificate(wrong)) => wrong,
        Some(rustls::Error::InvalidMessage(_)) => return nobody(section),
        _ => return String::new(),
    };
    match wrong {
        Bad::UnknownIssuer => {
            format!("; its authority isn't trusted: set {section}.ca_file to the certificate of a private authority")
        }
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
            format!("; write the name in the certificate into the address in {section}")
        }
        Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
            "; renew the server's certificate, or correct the clock of this machine".into()
        }
        _ => "; the server needs another certificate".into(),
    }
}

/// The rustls error among the causes. The error inside an I/O error isn't among its causes.
fn found<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let carried = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    if let Some(carried) = carried {
        return found(carried);
    }
    error.downcast_ref().or_else(|| error.source().and_then(found))
}

fn config(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    // It fails if another part of the process has chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(path) = authorities else {
        return ClientConfig::with_platform_verifier().map(Arc::new).map_err(|error| error.to_string());
    };
    let told = |error: &dyn std::fmt::Display| format!("{} holds no usable certificates: {error}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| told(&error))? {
        roots.add(certificate.map_err(|error| told(&error))?).map_err(|error| told(&error))?;
    }
    if roots.is_empty() {
        return Err(told(&"there is no BEGIN CERTIFICATE in it"));
    }
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}
