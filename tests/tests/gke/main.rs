//! GKE from nothing and back: what is asked, in which order, what is refused, what is left when something fails.

mod campaign;
mod cleanup;
mod desk;
mod gpus;
mod provision;
