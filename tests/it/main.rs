//! The integration tests, in one binary.

mod sandbox;
