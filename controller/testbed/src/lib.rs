//! Embedded model servers and routers: a deterministic engine with a real-time and a virtual-time driver.
