//! TLS, and certificates that are replaced while the server runs.

use std::fs;
use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use yore_team::serve::{Listening, ServeError, Serving, Times, TlsFiles};

use super::support::{Client, STUCK, Server, block_on, is_logged, request, settings, short_times};

type Pair = (&'static [u8], &'static [u8]);
const FIRST: Pair = (include_bytes!("../../fixtures/first.cert.der"), include_bytes!("../../fixtures/first.key.der"));
const SECOND: Pair = (include_bytes!("../../fixtures/second.cert.der"), include_bytes!("../../fixtures/second.key.der"));

/// Returns bytes as PEM.
fn pem(label: &str, bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for (number, chunk) in bytes.chunks(3).enumerate() {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let is_there = digit <= chunk.len();
            text.push(if is_there { DIGITS[(bits >> (18 - 6 * digit)) as usize & 63] as char } else { '=' });
        }
        if number % 16 == 15 {
            text.push('\n');
        }
    }
    format!("{text}\n-----END {label}-----\n")
}

fn write(folder: &Path, (certificate, key): Pair) -> TlsFiles {
    let files = TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
    fs::write(&files.certificate, pem("CERTIFICATE", certificate)).unwrap();
    fs::write(&files.key, pem("PRIVATE KEY", key)).unwrap();
    files
}

fn start(folder: &Path, times: Times) -> Server {
    let (server, serving) = settings();
    Server::with(server, Serving { tls: Some(write(folder, FIRST)), times, ..serving })
}

/// Connects, and trusts one certificate only.
fn connect(address: SocketAddr, (certificate, _): Pair, name: &str) -> Client<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate)).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from(name.to_owned()).unwrap()).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(STUCK)).unwrap();
    Client(BufReader::new(StreamOwned::new(connection, stream)))
}

fn is_served(server: &Server, pair: Pair, name: &str) -> bool {
    let mut client = connect(server.address, pair, name);
    std::io::Write::write_all(client.0.get_mut(), &request("GET", "/health", None, None)).is_ok()
        && client.reply().is_some_and(|reply| reply.status == 200)
}

#[test]
fn requests_are_answered_over_tls_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), short_times());
    let mut client = connect(server.address, FIRST, "first.test");
    for _ in 0..3 {
        client.send(request("GET", "/health", None, None));
        assert_eq!(client.reply().unwrap().text(), "ok");
    }
    client.send(request("GET", "/v1/me", Some("x"), Some(&vec![b' '; 1 << 20])));
    assert_eq!(client.reply().unwrap().problem(401), "team/token");
    assert!(!is_served(&server, SECOND, "first.test") && !is_served(&server, FIRST, "other.test"));
    // A client without TLS, and one that never agrees on it, are ended.
    let mut plain = Client::connect(server.address);
    plain.send(request("GET", "/health", None, None));
    assert!(plain.reply().is_none());
    assert!(Client::connect(server.address).closed() < STUCK / 2);
}

#[test]
fn new_certificates_are_used_and_broken_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), Times { reload: Duration::from_millis(50), ..Times::default() });
    let mut kept = connect(server.address, FIRST, "first.test");
    kept.send(request("GET", "/health", None, None));
    assert_eq!(kept.reply().unwrap().status, 200);
    fs::write(folder.path().join("cert.pem"), "-----BEGIN CERTIFICATE-----\nbroken").unwrap();
    assert!(is_logged("the new certificate is not used"));
    assert!(is_served(&server, FIRST, "first.test"), "the old certificate stays");
    // One that does not fit the key is broken as well, until the key follows.
    fs::write(folder.path().join("cert.pem"), pem("CERTIFICATE", SECOND.0)).unwrap();
    assert!(is_logged("the certificate and its key cannot be used"));
    assert!(is_served(&server, FIRST, "first.test"));
    write(folder.path(), SECOND);
    let end = Instant::now() + STUCK;
    while !is_served(&server, SECOND, "second.test") {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(50));
    }
    kept.send(request("GET", "/health", None, None));
    assert_eq!(kept.reply().unwrap().status, 200, "open connections stay");
}

#[test]
fn a_server_does_not_start_with_a_broken_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let open = |files: &TlsFiles| {
        let (_, serving) = settings();
        block_on(Listening::open(Serving { tls: Some(files.clone()), ..serving })).map(|_| ())
    };
    let files = write(folder.path(), FIRST);
    assert!(open(&files).is_ok());
    let exposed = Serving { addresses: vec!["0.0.0.0:0".parse().unwrap()], tls: Some(files.clone()), ..Serving::default() };
    assert!(block_on(Listening::open(exposed)).is_ok());
    for (certificate, key) in [("", "key.pem"), ("missing.pem", "key.pem"), ("key.pem", "key.pem"), ("cert.pem", "cert.pem")] {
        let of = |name: &str| folder.path().join(name);
        let error = open(&TlsFiles { certificate: of(certificate), key: of(key) }).unwrap_err();
        assert!(matches!(error, ServeError::Tls(_)) && !error.to_string().contains("BEGIN"), "{error}");
    }
    fs::write(&files.key, pem("PRIVATE KEY", SECOND.1)).unwrap();
    assert!(matches!(open(&files), Err(ServeError::Tls(_))));
}
