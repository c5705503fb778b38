//! Everything that needs a server, in one binary so that it links once.

mod agree;
mod camunda;
mod cases;
mod cli;
mod composite;
mod crash;
mod cron;
mod demo;
mod events;
mod generated;
mod idempotence;
mod live;
mod named;
mod oracle;
mod poison;
mod rig;
mod rights;
mod rivals;
mod roles;
mod sandbox;
mod session;
mod single;
mod squawk;
mod support;
mod tidy;
mod yworkflow;
