//! Servers on this computer that answer by a script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::Value;

/// Starts a server on this computer that reads one request a connection, hands it to `answer` and lets it write. Returns its address.
pub fn listening(answer: impl Fn(&str, &Value, &mut TcpStream) + Send + 'static) -> String {
    listening_raw(move |head, body, stream| answer(head, &serde_json::from_str(body).unwrap_or_default(), stream))
}

/// The same, with a thread for each connection.
pub fn listening_at_once(answer: impl Fn(&str, &Value, &mut TcpStream) + Send + Sync + 'static) -> String {
    let answer = Arc::new(answer);
    serving(move |stream| {
        let answer = Arc::clone(&answer);
        std::thread::spawn(move || {
            answer_one(stream, &|head, body, stream| answer(head, &serde_json::from_str(body).unwrap_or_default(), stream));
        });
    })
}

/// The same as [`listening`], with the body as it was sent.
pub fn listening_raw(answer: impl Fn(&str, &str, &mut TcpStream) + Send + 'static) -> String {
    serving(move |stream| answer_one(stream, &answer))
}

fn serving(serve: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
    address
}

/// Reads a request and has it answered.
fn answer_one(mut stream: TcpStream, answer: &dyn Fn(&str, &str, &mut TcpStream)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    answer(&head, &String::from_utf8_lossy(&body), &mut stream);
}

/// Writes an answer with a body.
pub fn write_answer(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n{body}", body.len());
}

/// Sends a request to a server on this computer, and returns the body of its answer. `headers`: lines that each end with CRLF.
pub fn request(method: &str, address: &str, headers: &str, body: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host).unwrap();
    let path = if path.is_empty() { "/" } else { path };
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return answer };
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || after.len() < size {
            break;
        }
        whole.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}
