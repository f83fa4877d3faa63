//! Where treatments run: local, kind, kube, gke.
