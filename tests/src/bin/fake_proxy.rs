//! A scripted agentgateway: tells a version, takes a file, is ready, and answers completions itself. Proxies inherit no
//! variables of a test's, so what it plays and where it writes down what it was asked are its first arguments.
//!
//! `fake_proxy LOG SCRIPT [agentgateway's own arguments]`, where SCRIPT is `good`, `refuses` (its file), `dies` (before it
//! is ready), `silent` (never ready) or `stranger` (is another program).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, script, own @ ..] = arguments.as_slice() else { return ExitCode::from(64) };
    let mut asked = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("the log opens");
    writeln!(asked, "{}", own.join(" ")).expect("the log takes a line");
    match (script.as_str(), own) {
        ("stranger", _) => println!("cat (GNU coreutils) 9.1"),
        (_, [flag]) if flag == "--version" => {
            println!("{{\"version\":\"v9.9.9\",\"git_revision\":\"abc\",\"build_profile\":\"scripted\"}}");
        }
        (script, [_, file, more @ ..]) => return serve(script, file, more),
        _ => return ExitCode::from(64),
    }
    ExitCode::SUCCESS
}

fn serve(script: &str, file: &str, more: &[String]) -> ExitCode {
    let text = std::fs::read_to_string(file).expect("the file is there");
    if script == "refuses" {
        eprintln!("error: unknown field `inferenceRouting`");
        return ExitCode::FAILURE;
    }
    if more.iter().any(|flag| flag == "--validate-only") {
        return ExitCode::SUCCESS;
    }
    if script == "dies" {
        eprintln!("error: address already in use");
        return ExitCode::FAILURE;
    }
    let after = |key: &str| {
        let rest = text.split_once(key).expect("the key is in the file").1;
        // However the address is quoted: a port stands alone or behind the loopback address.
        let rest = rest.trim_start_matches([' ', '"', '\'']);
        let rest = rest.strip_prefix("127.0.0.1:").unwrap_or(rest);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u16>().expect("a port")
    };
    let ports = [after("readinessAddr:"), after("statsAddr:"), after("- port:")];
    let listeners = ports.map(|port| TcpListener::bind(("127.0.0.1", port)).expect("the port is free"));
    if script == "silent" {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    let threads = listeners.map(|listener| std::thread::spawn(move || listener.incoming().flatten().for_each(answer)));
    for thread in threads {
        thread.join().expect("a listener never panics");
    }
    ExitCode::SUCCESS
}

fn answer(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream can be cloned"));
    let (mut first, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line == "\r\n" {
            break;
        }
        if first.is_empty() {
            first = line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap_or_default();
    let text = match first.split(' ').nth(1) {
        Some("/metrics") => "agentgateway_requests_total{gateway=\"bind/1\"} 1\n",
        Some("/healthz/ready") => "ready\n",
        _ => r#"{"choices":[{"text":"scripted"}]}"#,
    };
    let length = text.len();
    write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}")
        .unwrap_or_default();
}
