//! Nothing is measured yet.

fn main() {}
