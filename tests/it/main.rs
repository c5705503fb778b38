//! The integration tests, in one binary.

mod cases;
mod cli;
mod demo;
mod oracle;
mod sandbox;
mod support;
