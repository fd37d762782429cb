//! Tests against a server on this computer, which every test may reach.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use std::net::IpAddr;

use super::super::network::GivenNames;
use super::*;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers every request by its path, and records the requests.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&requests);
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (heard, answer) = (Arc::clone(&heard), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut request = Vec::new();
                    let mut byte = [0];
                    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                        request.push(byte[0]);
                    }
                    let request = String::from_utf8(request).unwrap();
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    heard.lock().unwrap().push(request);
                    answer(&path, &mut stream);
                });
            }
        });
        Self { port, requests }
    }

    /// Makes a server that gives the same answer to every request.
    fn saying(head: &str, body: &[u8]) -> Self {
        let answer = answer(head, body);
        Self::new(move |_, stream| stream.write_all(&answer).unwrap())
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()).into_bytes();
    answer.extend(body);
    answer
}

fn settings() -> FetchSettings {
    FetchSettings { allowed_addresses: vec![HERE], ..FetchSettings::default() }
}

fn fetch(address: &str) -> Result<Fetched, FetchError> {
    Fetcher::new(settings()).unwrap().fetch(address, &Conditional::default())
}

fn page(fetched: Result<Fetched, FetchError>) -> Page {
    match fetched.unwrap() {
        Fetched::Page(page) => page,
        Fetched::NotModified => panic!("not modified"),
    }
}

#[test]
fn page_comes_with_its_validators_and_the_request_tells_nothing_about_us() {
    let server = Server::saying(
        "200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: \"v1\"\r\nLast-Modified: Fri, 02 Jan 2026 10:00:00 GMT\r\nSet-Cookie: a=b",
        "<p>h\u{e9}</p>".as_bytes(),
    );
    let page = page(fetch(&server.address("/a#part")));
    assert_eq!(page.content, Content::Html("<p>h\u{e9}</p>".to_owned()));
    assert_eq!(page.address, server.address("/a"));
    assert_eq!((page.etag.as_deref(), page.last_modified.as_deref()), (Some("\"v1\""), Some("Fri, 02 Jan 2026 10:00:00 GMT")));
    let request = server.requests().remove(0).to_ascii_lowercase();
    assert!(request.contains(&format!("user-agent: yore/{}\r\n", env!("CARGO_PKG_VERSION"))), "{request}");
    assert!(!request.contains("cookie") && !request.contains("referer") && !request.contains("if-none-match"), "{request}");
}

#[test]
fn known_page_is_asked_for_conditionally_and_only_where_it_came_from() {
    let server = Server::new(|path, stream| {
        let head = if path == "/old" { "302 Found\r\nLocation: /new" } else { "304 Not Modified" };
        stream.write_all(&answer(head, b"")).unwrap();
    });
    let fetcher = Fetcher::new(settings()).unwrap();
    let known = Conditional {
        address: server.address("/new"),
        etag: Some("\"v1\"".to_owned()),
        last_modified: Some("Fri, 02 Jan 2026 10:00:00 GMT".to_owned()),
    };
    assert_eq!(fetcher.fetch(&server.address("/old"), &known).unwrap(), Fetched::NotModified);
    let requests: Vec<String> = server.requests().iter().map(|request| request.to_ascii_lowercase()).collect();
    assert!(!requests[0].contains("if-none-match"), "{}", requests[0]);
    assert!(
        requests[1].contains("if-none-match: \"v1\"") && requests[1].contains("if-modified-since: fri, 02"),
        "{}",
        requests[1]
    );
    // A server that answers 304 to an unconditional request is an error.
    let unasked = fetcher.fetch(&server.address("/new"), &Conditional::default());
    assert!(matches!(unasked, Err(FetchError::Status { status: 304, .. })), "{unasked:?}");
}

#[test]
fn redirections_are_followed_and_counted() {
    let server = Server::new(|path, stream| {
        let step: u32 = path.trim_start_matches('/').parse().unwrap();
        let head = match step {
            0 => "200 OK\r\nContent-Type: text/plain".to_owned(),
            99 => "301 Moved\r\nLocation: /99".to_owned(),
            step => format!("307 Moved\r\nLocation: {}", step - 1),
        };
        stream.write_all(&answer(&head, b"here")).unwrap();
    });
    let page = page(fetch(&server.address("/5")));
    assert_eq!((page.address, page.content), (server.address("/0"), Content::Text("here".to_owned())));
    assert!(matches!(fetch(&server.address("/6")), Err(FetchError::TooManyRedirects { .. })));
    assert!(matches!(fetch(&server.address("/99")), Err(FetchError::TooManyRedirects { .. })));
}

#[test]
fn redirection_to_anything_but_a_public_page_is_refused() {
    let server = Server::new(|path, stream| {
        let target = path.trim_start_matches("/to?");
        stream.write_all(&answer(&format!("302 Found\r\nLocation: {target}"), b"")).unwrap();
    });
    let to = |target: &str| fetch(&server.address(&format!("/to?{target}"))).unwrap_err();
    for private in ["http://127.0.0.2:1/", "http://10.0.0.1/", "//169.254.169.254/latest", "http://[::1]/", "http://0x7f000002/"]
    {
        assert!(matches!(to(private), FetchError::PrivateAddress { .. }), "{private}: {:?}", to(private));
    }
    assert!(matches!(to("file:///etc/passwd"), FetchError::Scheme(_)));
    assert!(matches!(to("http://ada:word@127.0.0.1/"), FetchError::Credentials(_)));
}

#[test]
fn name_that_leads_into_the_private_network_is_refused_wherever_it_appears() {
    let server = Server::new(|path, stream| {
        let head =
            if path == "/" { "200 OK\r\nContent-Type: text/plain" } else { "302 Found\r\nLocation: http://inside.example/" };
        stream.write_all(&answer(head, b"here")).unwrap();
    });
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let names: GivenNames = Box::new(move |name| {
        *count.lock().unwrap() += 1;
        match name {
            "outside.example" => vec!["10.0.0.7".parse().unwrap(), HERE],
            "inside.example" => vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()],
            "mapped.example" => vec!["::ffff:192.168.0.1".parse().unwrap()],
            _ => Vec::new(),
        }
    });
    let fetcher = Fetcher::guarded(settings(), Guard { allow_private: false, allowed: vec![HERE], given: Some(names) }).unwrap();
    let fetch = |address: &str| fetcher.fetch(address, &Conditional::default());
    // The client connects only to the allowed ones of several addresses.
    assert!(fetch(&format!("http://outside.example:{}/", server.port)).is_ok());
    // One look-up for one connection: the checked address is the one that is connected to.
    assert_eq!(*asked.lock().unwrap(), 1);
    let refused = fetch(&format!("http://outside.example:{}/on", server.port)).unwrap_err();
    assert!(matches!(&refused, FetchError::PrivateAddress { host, .. } if host == "inside.example"), "{refused:?}");
    assert!(matches!(fetch("https://mapped.example/"), Err(FetchError::PrivateAddress { .. })));
    assert!(matches!(fetch("https://nobody.example/"), Err(FetchError::UnknownHost(_))));
    assert_eq!(refused.code(), "fetch/private-address");
}

#[test]
fn own_computer_is_private_unless_allowed() {
    let server = Server::saying("200 OK\r\nContent-Type: text/plain", b"here");
    let strict = Fetcher::new(FetchSettings::default()).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let refused = strict.fetch(&format!("http://{host}:{}/", server.port), &Conditional::default());
        assert!(matches!(refused, Err(FetchError::PrivateAddress { .. })), "{refused:?}");
    }
    assert!(server.requests().is_empty());
    let open = Fetcher::new(FetchSettings { allow_private: true, ..FetchSettings::default() }).unwrap();
    assert!(open.fetch(&server.address("/"), &Conditional::default()).is_ok());
}

#[test]
fn body_that_never_ends_in_time_is_given_up() {
    let server = Server::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n");
        for _ in 0..100 {
            if stream.write_all(b".").is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let hasty = FetchSettings { total_timeout: Duration::from_millis(400), ..settings() };
    let began = Instant::now();
    let late = Fetcher::new(hasty).unwrap().fetch(&server.address("/"), &Conditional::default());
    assert!(matches!(late, Err(FetchError::Timeout { .. })), "{late:?}");
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[test]
fn page_over_the_limit_is_refused_whether_announced_or_not() {
    let small = || Fetcher::new(FetchSettings { max_bytes: 1000, ..settings() }).unwrap();
    let announced = Server::saying("200 OK\r\nContent-Type: text/plain", &[b'a'; 1001]);
    let result = small().fetch(&announced.address("/"), &Conditional::default());
    assert!(matches!(result, Err(FetchError::TooLarge { limit: 1000 })), "{result:?}");
    let endless = Server::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n");
        while stream.write_all(&[b'a'; 4096]).is_ok() {}
    });
    let result = small().fetch(&endless.address("/"), &Conditional::default());
    assert!(matches!(result, Err(FetchError::TooLarge { limit: 1000 })), "{result:?}");
    let fitting = Server::saying("200 OK\r\nContent-Type: text/plain", &[b'a'; 1000]);
    assert!(small().fetch(&fitting.address("/"), &Conditional::default()).is_ok());
}

#[test]
fn compressed_page_is_measured_by_what_it_becomes() {
    let bomb = gzip(1 << 15, 200);
    assert!(bomb.len() < 60_000, "{}", bomb.len());
    let server = Server::saying("200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip", &bomb);
    let fetcher = Fetcher::new(FetchSettings { max_bytes: 1 << 20, ..settings() }).unwrap();
    let result = fetcher.fetch(&server.address("/"), &Conditional::default());
    assert!(matches!(result, Err(FetchError::TooLarge { .. })), "{result:?}");
    let fitting = Server::saying("200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip", &gzip(1 << 15, 2));
    assert!(matches!(page(fetch(&fitting.address("/"))).content, Content::Text(text) if text.len() == 1 << 16));
    let odd = Server::saying("200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: br", b"??");
    assert!(matches!(fetch(&odd.address("/")), Err(FetchError::Protocol { .. })));
}

/// `blocks` times `length` spaces in gzip: stored blocks would do, runs make it small. One fixed
/// Huffman block for each: a literal, then copies of 258 bytes from one byte before.
fn gzip(length: usize, blocks: usize) -> Vec<u8> {
    let mut bits = Vec::new();
    let mut push = |value: u32, count: u32, is_code: bool| {
        for at in 0..count {
            let shift = if is_code { count - 1 - at } else { at };
            bits.push((value >> shift) & 1 == 1);
        }
    };
    for block in 0..blocks {
        push(u32::from(block + 1 == blocks), 1, false);
        push(1, 2, false);
        let mut left = length;
        while left > 0 {
            if left == length || left < 258 {
                // A space is literal 32.
                push(0x30 + 32, 8, true);
                left -= 1;
            } else {
                // Length code 285 (258 bytes), distance code 0 (one byte back).
                push(0xc0 + (285 - 280), 8, true);
                push(0, 5, true);
                left -= 258;
            }
        }
        push(0, 7, true);
    }
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    bytes.extend(bits.chunks(8).map(|byte| byte.iter().enumerate().fold(0u8, |sum, (at, bit)| sum | (u8::from(*bit) << at))));
    let total = length * blocks;
    let mut crc = !0u32;
    for _ in 0..total {
        crc ^= 32;
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    bytes.extend((!crc).to_le_bytes());
    bytes.extend((total as u32).to_le_bytes());
    bytes
}

#[test]
fn content_that_is_no_text_is_refused_before_it_is_read() {
    let server = Server::saying("200 OK\r\nContent-Type: video/mp4", b"....");
    let result = fetch(&server.address("/film"));
    assert!(matches!(&result, Err(FetchError::ContentType { content_type, .. }) if content_type == "video/mp4"), "{result:?}");
    let pdf = Server::saying("200 OK\r\nContent-Type: application/pdf", b"%PDF-1.7 \xff");
    assert_eq!(page(fetch(&pdf.address("/"))).content, Content::Pdf(b"%PDF-1.7 \xff".to_vec()));
    let json = Server::saying("200 OK\r\nContent-Type: application/json", b"{}");
    assert_eq!(page(fetch(&json.address("/"))).content, Content::Json("{}".to_owned()));
}

#[test]
fn character_set_of_header_or_page_is_honoured() {
    let text = |head: &str, body: &[u8]| match page(fetch(&Server::saying(head, body).address("/"))).content {
        Content::Html(text) | Content::Text(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text("200 OK\r\nContent-Type: text/plain; charset=ISO-8859-2", b"\xb1"), "\u{105}");
    assert_eq!(text("200 OK\r\nContent-Type: text/plain; Charset=\"koi8-r\"", b"\xf0"), "\u{41f}");
    assert!(text("200 OK\r\nContent-Type: text/html", b"<meta charset='euc-kr'>\xb0\xa1").ends_with('\u{ac00}'));
    assert!(text("200 OK\r\nContent-Type: application/xhtml+xml; charset=iso-8859-1", b"\xe9").ends_with('\u{e9}'));
}

#[test]
fn what_the_server_says_wrong_is_told_by_its_code() {
    let missing = Server::saying("404 Not Found\r\nContent-Type: text/html", b"no");
    let error = fetch(&missing.address("/x?token=abcdef")).unwrap_err();
    assert_eq!(error.code(), "fetch/status");
    assert!(error.to_string().contains("404") && !error.to_string().contains("abcdef"), "{error}");
    let nonsense = Server::new(|_, stream| {
        let _ = stream.write_all(b"what?\r\n\r\n");
    });
    assert_eq!(fetch(&nonsense.address("/")).unwrap_err().code(), "fetch/protocol");
    let closed = {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        listener.local_addr().unwrap().port()
    };
    assert_eq!(fetch(&format!("http://127.0.0.1:{closed}/")).unwrap_err().code(), "fetch/connection");
    let hanging_up = Server::new(|_, _| {});
    assert_eq!(fetch(&hanging_up.address("/")).unwrap_err().code(), "fetch/connection");
    assert_eq!(fetch("https://ada@example.org/").unwrap_err().code(), "fetch/credentials");
}

#[test]
fn proxy_is_used_when_it_is_named() {
    let proxy = Server::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
            request.push(byte[0]);
        }
        let _ = stream.write_all(&answer("200 OK\r\nContent-Type: text/plain", b"by proxy"));
    });
    let settings = FetchSettings { proxy: Some(format!("http://127.0.0.1:{}", proxy.port)), ..FetchSettings::default() };
    let fetcher = Fetcher::new(settings).unwrap();
    let fetched = fetcher.fetch("http://pages.example/a", &Conditional::default());
    assert_eq!(page(fetched).content, Content::Text("by proxy".to_owned()));
    assert!(proxy.requests()[0].starts_with("CONNECT pages.example:80 "), "{:?}", proxy.requests());
    assert!(matches!(fetcher.fetch("http://10.0.0.1/", &Conditional::default()), Err(FetchError::PrivateAddress { .. })));
    let wrong = FetchSettings { proxy: Some("no proxy".to_owned()), ..FetchSettings::default() };
    assert!(matches!(Fetcher::new(wrong), Err(FetchError::Proxy(_))));
}
