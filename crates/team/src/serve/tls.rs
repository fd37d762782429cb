//! The certificate of a server, which is read again when its files change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Files of a certificate.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate and those between it and its authority, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// A certificate or a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not PEM, or has not what it should.
    #[error("{} has no {what} in PEM: {source}", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should have.
        what: &'static str,
        /// Why.
        source: pem::Error,
    },
    /// The certificate and the key do not fit, or cannot be used for TLS.
    #[error("the certificate and its key cannot be used: {0}")]
    Unfit(#[from] rustls::Error),
}

/// Time of the last change and length of both files, as far as they could be read.
type Stamp = [Option<(SystemTime, u64)>; 2];

/// The certificate that new connections get.
pub(super) struct Certificates {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
    seen: Mutex<Stamp>,
}

impl Certificates {
    /// Reads a certificate.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        // Noted before the files are read, so that a later change is seen.
        let seen = Mutex::new(stamp(&files));
        let current = RwLock::new(Arc::new(config(&files)?));
        Ok(Self { files, current, seen })
    }

    /// Returns the settings for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads files that have changed, and returns whether they have; the old certificate stays if the new one is broken.
    fn reload(&self) -> Result<bool, TlsError> {
        let stamp = stamp(&self.files);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamp {
            return Ok(false);
        }
        *seen = stamp;
        let config = Arc::new(config(&self.files)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(true)
    }
}

/// Looks at the files again and again.
pub(super) async fn watch(certificates: Arc<Certificates>, every: Duration, log: fn(&str)) {
    loop {
        tokio::time::sleep(every).await;
        let certificates = Arc::clone(&certificates);
        match tokio::task::spawn_blocking(move || certificates.reload()).await {
            Ok(Ok(true)) => log("the certificate was read again"),
            Ok(Err(error)) => log(&format!("the new certificate is not used: {error}")),
            Ok(Ok(false)) | Err(_) => {}
        }
    }
}

fn stamp(files: &TlsFiles) -> Stamp {
    [&files.certificate, &files.key].map(|path| {
        let metadata = path.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    })
}

fn config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let certificate = read(&files.certificate)?;
    let failed = |path: &Path, what, source| TlsError::Pem { path: path.to_owned(), what, source };
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&certificate)
        .collect::<Result<_, _>>()
        .and_then(|chain: Vec<_>| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .map_err(|source| failed(&files.certificate, "certificate", source))?;
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?).map_err(|source| failed(&files.key, "private key", source))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}
