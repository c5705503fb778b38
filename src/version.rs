//! Which windrow this is. What is generated does not know: its bytes depend on the spec and the kernel alone.

/// The version, and the commit and its date where a release was built of one.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("WINDROW_BUILT_FROM"),
    ")"
);
