//! A real proxy as a child process.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::http;
use super::binary::{Found, Product};
use super::configs::{self, Ports, Way};
use super::metrics::Source;
use super::pinning::command;
use super::servers::ended;
use crate::failure::{Failure, Kind, Result};
use crate::process::{Child, Command, Session};

/// How long it may take to be ready; agentgateway takes 20 ms, Envoy half a second.
const READY: Duration = Duration::from_secs(30);

/// How long one question about readiness may take.
const ANSWER: Duration = Duration::from_secs(2);

/// How long it may take to check its file.
const CHECK: Duration = Duration::from_secs(30);

/// How long it may take to end when asked to: agentgateway drains for up to 5 s.
const GRACE: Duration = Duration::from_secs(8);

/// Where a proxy runs and listens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'a> {
    /// The port for clients; a free one when absent.
    pub(super) port: Option<u16>,
    /// Its cores; all when absent.
    pub(super) cores: Option<&'a str>,
}

/// A proxy that is ready.
#[derive(Debug)]
pub(super) struct Proxy {
    child: Child,
    product: Product,
    ports: Ports,
}

impl Proxy {
    /// Starts the proxy as asked, with its file in `folder`, and waits until it is ready.
    ///
    /// # Errors
    /// A usage failure when the port is in use or the program refuses its file; a measurement failure when it does not
    /// become ready.
    pub(super) fn start(found: &Found, asked: Asked<'_>, way: &Way, folder: &Path, session: &Session) -> Result<Self> {
        let ports = free_ports(found.product, asked.port)?;
        let name = found.product.name();
        let file = folder.join(format!("{name}.yaml"));
        let config = match found.product {
            Product::Agentgateway => configs::agentgateway(ports, way),
            Product::Envoy => configs::envoy(ports, way),
        };
        fs_err::write(&file, reports::yaml::to_string(&config).map_err(Failure::internal)?)?;
        check(found, &file, session)?;
        let program = match found.product {
            Product::Agentgateway => command(name, &found.path, asked.cores).arg("-f").arg(&file),
            Product::Envoy => {
                // The default base id is shared by all Envoys of a machine; a log level above info hides what fails.
                command(name, &found.path, asked.cores).arg("-c").arg(&file).args([
                    "--use-dynamic-base-id",
                    "--log-level",
                    "warning",
                ])
            }
        };
        let child = program.stdin_open_while_held().grace(GRACE).spawn(session).map_err(ended)?;
        let proxy = Self { child, product: found.product, ports };
        proxy.wait(session)?;
        Ok(proxy)
    }

    fn wait(&self, session: &Session) -> Result<()> {
        let url = match self.product {
            Product::Agentgateway => format!("http://127.0.0.1:{}/healthz/ready", self.ports.ready),
            Product::Envoy => format!("http://127.0.0.1:{}/ready", self.ports.admin),
        };
        let name = self.product.name();
        let deadline = Instant::now() + READY;
        loop {
            self.child.check().map_err(|error| {
                error.failure(Kind::Measurement).hint(format!("{name} ended before it was ready; its log says why"))
            })?;
            let answered = http::get(&url, ANSWER).and_then(http::Answer::success);
            let listens = || std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports.listen)).is_ok();
            match answered {
                Ok(_) if listens() => return Ok(()),
                Ok(_) if Instant::now() < deadline => {}
                Err(_) if Instant::now() < deadline => {}
                other => {
                    let seen =
                        other.map_or_else(|error| error.to_string(), |_| "it is ready and does not listen".into());
                    return Err(Failure::measurement(format!(
                        "{name} is not ready after {} s: {seen}",
                        READY.as_secs()
                    ))
                    .hint("its log is in the treatment's work folder"));
                }
            }
            session.sleep(Duration::from_millis(20))?;
        }
    }

    /// Where clients send requests.
    pub(super) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.listen)
    }

    /// Where its metrics are.
    pub(super) fn source(&self) -> Source {
        let url = match self.product {
            Product::Agentgateway => format!("http://127.0.0.1:{}/metrics", self.ports.metrics),
            Product::Envoy => format!("http://127.0.0.1:{}/stats/prometheus", self.ports.admin),
        };
        Source { name: self.product.name().to_owned(), url }
    }

    /// The process.
    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// The process, to be ended.
    pub(super) fn into_child(self) -> Child {
        self.child
    }
}

/// Lets the program check its own file.
fn check(found: &Found, file: &Path, session: &Session) -> Result<()> {
    let name = found.product.name();
    let check = match found.product {
        Product::Agentgateway => {
            Command::new(format!("{name} --validate-only"), &found.path).arg("-f").arg(file).arg("--validate-only")
        }
        Product::Envoy => Command::new(format!("{name} --mode validate"), &found.path).arg("-c").arg(file).args([
            "--mode",
            "validate",
            "--log-level",
            "error",
        ]),
    };
    check.timeout(CHECK).run(session).map(drop).map_err(|error| {
        error.failure(Kind::Usage).hint(format!(
            "this version of {name} ({}) does not take the configuration that was generated for it: {}",
            found.version,
            file.display()
        ))
    })
}

/// Ports that nobody listens on at this moment; the one for clients is `given` if one was.
fn free_ports(product: Product, given: Option<u16>) -> Result<Ports> {
    // All at once, so that none is given twice. The proxy takes them a moment later; if another program is faster, the
    // proxy ends with an error that says so.
    let any = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listen = match given {
        None => any()?,
        // agentgateway listens on all interfaces, so the port must be free on all.
        Some(port) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).map_err(|error| {
            Failure::usage(format!("{} cannot listen on port {port}: {error}", product.name()))
                .hint("leave proxy.port out to take a free one")
        })?,
    };
    let others = [any()?, any()?, any()?];
    let port = |listener: &TcpListener| Ok::<_, std::io::Error>(listener.local_addr()?.port());
    Ok(Ports { listen: port(&listen)?, admin: port(&others[0])?, metrics: port(&others[1])?, ready: port(&others[2])? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_before_anything_starts() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let failure = free_ports(Product::Agentgateway, Some(port)).unwrap_err();
        assert_eq!(failure.kind, Kind::Usage);
        assert!(failure.to_string().contains(&format!("agentgateway cannot listen on port {port}")), "{failure}");
    }

    #[test]
    fn free_ports_are_all_different() {
        let ports = free_ports(Product::Envoy, None).unwrap();
        let all = [ports.listen, ports.admin, ports.metrics, ports.ready];
        let different: std::collections::BTreeSet<_> = all.into_iter().collect();
        assert_eq!(different.len(), 4, "{ports:?}");
    }
}
