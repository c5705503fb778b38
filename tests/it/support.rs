//! What several tests share: databases, the graph under test, and the model that says what should happen.

pub(crate) mod browser;
pub(crate) mod camunda;
pub(crate) mod database;
pub(crate) mod defect;
pub(crate) mod effort;
mod explained;
pub(crate) mod graphs;
pub(crate) mod history;
pub(crate) mod installation;
pub(crate) mod keyed;
pub(crate) mod meanwhile;
pub(crate) mod oracle;
pub(crate) mod patience;
mod pool;
pub(crate) mod systems;
mod tables;
pub(crate) mod world;
