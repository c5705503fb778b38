//! The integration tests, in one binary.

mod cases;
mod cli;
mod demo;
mod generated;
mod oracle;
mod sandbox;
mod squawk;
mod support;
mod tidy;
