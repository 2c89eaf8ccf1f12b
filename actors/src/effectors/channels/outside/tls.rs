//! TLS for what isn't HTTP: rustls with ring, and this machine's authorities or those of a file.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;

/// A client's configuration.
///
/// # Errors
/// The authorities can't be read.
pub(super) fn config(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    // It fails when another part of the process has chosen already.
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
