//! A plain Kubernetes Service: each connection goes to a server chosen at random, and nobody looks at what it carries.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::net::{TcpListener, TcpStream};

use super::backend::lock;
use super::pages::Routed;

/// Connections by server.
#[derive(Debug)]
pub(super) struct Service {
    servers: Vec<SocketAddr>,
    state: Mutex<(Pcg64Mcg, Vec<Routed>)>,
}

impl Service {
    /// A service in front of `servers`; `seed` decides its choices.
    pub(super) fn new(servers: Vec<SocketAddr>, seed: u64) -> Self {
        let routed = vec![Routed::default(); servers.len()];
        Self { servers, state: Mutex::new((Pcg64Mcg::seed_from_u64(seed), routed)) }
    }

    /// Passes connections on until the runtime ends.
    pub(super) async fn run(self: Arc<Self>, listener: TcpListener) {
        loop {
            let Ok((client, _)) = listener.accept().await else { continue };
            let server = self.choose();
            tokio::spawn(async move {
                // An error on either side ends both, as it would with a Service.
                drop(pass(client, server).await);
            });
        }
    }

    /// What was sent where.
    pub(super) fn routed(&self) -> Vec<Routed> {
        lock(&self.state).1.clone()
    }

    fn choose(&self) -> SocketAddr {
        let mut state = lock(&self.state);
        let (random, routed) = &mut *state;
        let chosen = random.random_range(0..self.servers.len());
        routed[chosen].picks += 1;
        self.servers[chosen]
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
