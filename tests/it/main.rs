//! The integration tests, in one binary.

mod cases;
mod demo;
mod sandbox;
