//! Everything that needs a server, in one binary so that it links once.

mod crash;
mod cron;
mod demo;
mod poison;
mod rig;
mod rivals;
mod roles;
mod sandbox;
