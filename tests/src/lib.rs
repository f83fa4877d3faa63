//! Scripted fakes and helpers for the end-to-end tests.
