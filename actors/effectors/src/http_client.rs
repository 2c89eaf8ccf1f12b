//! HTTP clients: TLS is rustls with ring's primitives.

use std::path::{Path, PathBuf};

use reqwest::{Certificate, Client, ClientBuilder};

/// Which certificates are trusted.
#[derive(Clone, Debug)]
pub enum Roots {
    /// None: only for servers with plain `http`.
    Nobody,
    /// The authorities that this machine trusts.
    System,
    /// Only these.
    These(Vec<Certificate>),
}

/// A file of certificates is unusable.
#[derive(Debug, thiserror::Error)]
#[error("{path} holds no usable certificates: {why}")]
pub struct BadRoots {
    path: PathBuf,
    why: String,
}

impl Roots {
    /// The authorities that a server at this address needs.
    ///
    /// # Errors
    /// The file of authorities can't be read, or contains no certificate in PEM form.
    pub fn of(url: &str, authorities: Option<&Path>) -> Result<Self, BadRoots> {
        if !url.to_ascii_lowercase().starts_with("https:") {
            return Ok(Self::Nobody);
        }
        let Some(path) = authorities else { return Ok(Self::System) };
        let bad = |why: String| BadRoots { path: path.to_owned(), why };
        let text = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let found = Certificate::from_pem_bundle(&text).map_err(|error| bad(error.to_string()))?;
        if found.is_empty() {
            return Err(bad("there is no BEGIN CERTIFICATE in it".into()));
        }
        Ok(Self::These(found))
    }
}

/// A client's builder. Errors come when it is built: [`Roots::System`] needs authorities on this machine.
pub fn builder(roots: &Roots) -> ClientBuilder {
    // It fails if another part of the process has chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match roots {
        Roots::Nobody => Client::builder().tls_certs_only([]),
        Roots::System => Client::builder(),
        Roots::These(certificates) => Client::builder().tls_certs_only(certificates.iter().cloned()),
    }
}
