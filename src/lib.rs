//! windrow compiles a table dependency graph and its retention rules into SQL that cleans a workflow engine's
//! history inside the database.

pub mod demo;
pub mod sandbox;
