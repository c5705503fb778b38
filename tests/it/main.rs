//! The integration tests, in one binary.

mod demo;
mod sandbox;
