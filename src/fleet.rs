//! Many databases under one command: the inventory, and which of its databases a call is about.
//!
//! An inventory names servers, and the spec of each. A server may have many databases of the same application, such as one for
//! each tenant; each of them is a target of its own.

mod inventory;
mod password;
mod target;
#[cfg(test)]
mod tests;

pub use inventory::{Inventory, Unknown, parse, without_values};
pub use password::Password;
pub use target::Target;
