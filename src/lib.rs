//! windrow compiles a table dependency graph and its retention rules into SQL that cleans a workflow engine's
//! history inside the database.
//!
//! ```text
//! spec ──▶ graph ──▶ plan ──▶ render ──▶ bundle ──▶ db
//!                    dialect ──▶┘                 ▲
//! cli ─▶ commands ─────────────(use everything)───┘   ui ◀─ commands, main
//! ```

pub mod bundle;
pub mod diagnostic;
pub mod graph;
pub mod lint;
pub mod spec;
