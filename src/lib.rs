//! windrow compiles a table dependency graph and its retention rules into SQL that cleans a workflow engine's
//! history inside the database.
//!
//! ```text
//! spec ──▶ graph ──▶ plan ──▶ render ──▶ bundle ──▶ db
//!                    dialect ──▶┘                 ▲
//! cli ─▶ commands ─────────────(use everything)───┘   ui ◀─ commands, main
//! ```

pub mod adapt;
pub mod answers;
pub mod bundle;
pub mod calls;
pub mod catalog;
pub mod cli;
pub mod column;
pub mod commands;
pub mod db;
pub mod demo;
pub mod diagnostic;
pub mod dialect;
pub mod draw;
pub mod drift;
pub mod facts;
pub mod failure;
pub mod fit;
pub mod fleet;
pub mod forecast;
pub mod graph;
pub mod inspect;
pub mod interrupt;
pub mod lint;
pub mod markup;
pub mod migrations;
pub mod page;
pub mod plan;
pub mod render;
pub mod report;
pub mod sandbox;
pub mod schedule;
pub mod spec;
pub mod ui;
pub mod version;
