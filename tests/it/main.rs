//! The integration tests, in one binary.

mod demo;
mod oracle;
mod sandbox;
mod support;
