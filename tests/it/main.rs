//! The integration tests, in one binary.

mod cli;
mod demo;
mod sandbox;
