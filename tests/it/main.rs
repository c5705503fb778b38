//! Everything that needs a server, in one binary so that it links once.

mod cron;
mod crash;
mod demo;
mod poison;
mod rig;
mod rivals;
mod roles;
mod sandbox;
