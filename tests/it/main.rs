//! The integration tests, in one binary.

mod cases;
mod cli;
mod demo;
mod idempotence;
mod oracle;
mod sandbox;
mod support;
