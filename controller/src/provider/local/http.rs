//! Plain HTTP to our own servers on loopback: one request a connection, small answers, a deadline.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Answers larger than this are not ours.
const LARGEST_ANSWER: u64 = 16 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The status code.
    pub(super) status: u16,
    /// The body; bytes that are not UTF-8 are replaced.
    pub(super) body: String,
}

impl Answer {
    /// The body of a successful answer.
    ///
    /// # Errors
    /// When the status is not 2xx; the error carries the body's beginning.
    pub(super) fn success(self) -> io::Result<String> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let beginning: String = self.body.chars().take(200).collect();
        Err(io::Error::other(format!("answered with status {}: {}", self.status, beginning.trim())))
    }
}

/// `GET url`.
///
/// # Errors
/// When nothing answers within `deadline`, or not in HTTP.
pub(super) fn get(url: &str, deadline: Duration) -> io::Result<Answer> {
    exchange("GET", url, "", deadline)
}

/// `POST url` with a JSON body; an empty one is sent as no body.
///
/// # Errors
/// When nothing answers within `deadline`, or not in HTTP.
pub(super) fn post(url: &str, body: &str, deadline: Duration) -> io::Result<Answer> {
    exchange("POST", url, body, deadline)
}

fn exchange(method: &str, url: &str, body: &str, deadline: Duration) -> io::Result<Answer> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{method} {url}: {error}"));
    let (address, path) = split(url).map_err(named)?;
    (|| {
        let mut stream = TcpStream::connect_timeout(&address, deadline)?;
        stream.set_read_timeout(Some(deadline))?;
        stream.set_write_timeout(Some(deadline))?;
        // HTTP/1.0: the answer ends where the connection does, and is never chunked.
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        // In one write: small ones wait for each other's acknowledgement.
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(LARGEST_ANSWER).read_to_end(&mut answer)?;
        parse(&String::from_utf8_lossy(&answer))
    })()
    .map_err(named)
}

/// `http://127.0.0.1:8000/path` as address and path; names are not looked up.
fn split(url: &str) -> io::Result<(SocketAddr, &str)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not an http:// URL with an address and a port");
    let rest = url.strip_prefix("http://").ok_or_else(invalid)?;
    let (address, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    Ok((address.parse().map_err(|_| invalid())?, path))
}

fn parse(answer: &str) -> io::Result<Answer> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(invalid)?;
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).ok_or_else(invalid)?;
    Ok(Answer { status: status.parse().map_err(|_| invalid())?, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one connection with `answer` and returns what it was asked.
    fn serve(answer: &'static [u8]) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = vec![0; 4096];
            let read = stream.read(&mut asked).unwrap();
            stream.write_all(answer).unwrap();
            String::from_utf8_lossy(&asked[..read]).into_owned()
        });
        (url, thread)
    }

    const DEADLINE: Duration = Duration::from_secs(10);

    #[test]
    fn an_answer_is_read_to_the_end_of_its_connection() {
        let (url, server) = serve(b"HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\nbody");
        let answer = post(&format!("{url}/v1/completions"), "{\"n\":1}", DEADLINE).unwrap();
        assert_eq!(answer.success().unwrap(), "body");
        let asked = server.join().unwrap();
        assert!(
            asked.starts_with("POST /v1/completions HTTP/1.0\r\n") && asked.ends_with("\r\n\r\n{\"n\":1}"),
            "{asked}"
        );
    }

    #[test]
    fn a_refusal_carries_its_status_and_reason() {
        let (url, server) = serve(b"HTTP/1.1 503 Service Unavailable\r\n\r\nno endpoint\n");
        let error = get(&url, DEADLINE).unwrap().success().unwrap_err();
        assert_eq!(error.to_string(), "answered with status 503: no endpoint");
        assert!(server.join().unwrap().starts_with("GET / HTTP/1.0\r\n"));
    }

    #[test]
    fn whatever_is_not_http_is_an_error_that_names_the_request() {
        let (url, server) = serve(b"hello");
        assert!(get(&url, DEADLINE).unwrap_err().to_string().starts_with(&format!("GET {url}: ")));
        server.join().unwrap();
        for url in ["https://127.0.0.1:1/", "http://localhost:80/", "127.0.0.1:80"] {
            assert_eq!(get(url, DEADLINE).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{url}");
        }
    }
}
