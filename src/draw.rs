//! Drawings of a graph: a tree for the terminal, Graphviz, Mermaid, and a picture with a layout of its own.
//!
//! Pure functions from a graph to text. An arrow leads from a table to what its rows belong to.

mod card;
mod labels;
mod layout;
mod source;
mod svg;
mod text;

pub use source::{dot, mermaid};
pub use svg::{Part, STYLE, parts, svg};
pub use text::text;

#[cfg(test)]
mod tests;
