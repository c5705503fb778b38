//! Everything that can be seen from outside the crate.

mod cases;
