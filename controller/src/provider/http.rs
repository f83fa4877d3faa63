//! Plain HTTP to servers and proxies: one request a connection, small answers, a deadline.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Answers larger than this are not ours.
const LARGEST_ANSWER: u64 = 16 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The body; bytes that are not UTF-8 are replaced.
    pub(crate) body: String,
}

impl Answer {
    /// The body of a successful answer.
    ///
    /// # Errors
    /// When the status is not 2xx; the error carries the body's beginning.
    pub(crate) fn success(self) -> io::Result<String> {
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
pub(crate) fn get(url: &str, deadline: Duration) -> io::Result<Answer> {
    exchange("GET", url, "", deadline)
}

/// `POST url` with a JSON body; an empty one is sent as no body.
///
/// # Errors
/// When nothing answers within `deadline`, or not in HTTP.
pub(crate) fn post(url: &str, body: &str, deadline: Duration) -> io::Result<Answer> {
    exchange("POST", url, body, deadline)
}

fn exchange(method: &str, url: &str, body: &str, deadline: Duration) -> io::Result<Answer> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{method} {url}: {error}"));
    let (address, path) = split(url).map_err(named)?;
    (|| {
        let mut stream = TcpStream::connect_timeout(&address, deadline)?;
        stream.set_read_timeout(Some(deadline))?;
        stream.set_write_timeout(Some(deadline))?;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        // In one write: small ones wait for each other's acknowledgement.
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(LARGEST_ANSWER).read_to_end(&mut answer)?;
        parse(&answer)
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

fn parse(answer: &[u8]) -> io::Result<Answer> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(invalid)?;
    let (head, body) = (String::from_utf8_lossy(&answer[..end]), &answer[end + 4..]);
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).ok_or_else(invalid)?;
    let status = status.parse().map_err(|_| invalid())?;
    let chunked = head.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("transfer-encoding:") && line.contains("chunked")
    });
    let body = if chunked { unchunked(body).ok_or_else(invalid)? } else { body.to_vec() };
    Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// The content of a chunked body; `None` when it is cut short.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..line]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        let begin = line + 2;
        body.extend(rest.get(begin..begin.checked_add(size)?)?);
        rest = rest.get(begin + size + 2..)?;
    }
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
            asked.starts_with("POST /v1/completions HTTP/1.1\r\n") && asked.ends_with("\r\n\r\n{\"n\":1}"),
            "{asked}"
        );
    }

    #[test]
    fn a_refusal_carries_its_status_and_reason() {
        let (url, server) = serve(b"HTTP/1.1 503 Service Unavailable\r\n\r\nno endpoint\n");
        let error = get(&url, DEADLINE).unwrap().success().unwrap_err();
        assert_eq!(error.to_string(), "answered with status 503: no endpoint");
        assert!(server.join().unwrap().starts_with("GET / HTTP/1.1\r\n"));
    }

    #[test]
    fn a_chunked_answer_is_put_together() {
        let (url, server) =
            serve(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\none\r\n4\r\n two\r\n0\r\n\r\n");
        assert_eq!(get(&url, DEADLINE).unwrap().body, "one two");
        server.join().unwrap();
        let (url, server) = serve(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\none");
        assert!(get(&url, DEADLINE).is_err(), "an answer that is cut short is not one");
        server.join().unwrap();
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
