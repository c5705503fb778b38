//! Everything that needs a server, in one binary so that it links once.

mod agree;
mod airflow;
mod archive;
mod camunda;
mod cases;
mod cli;
mod composite;
mod crash;
mod cron;
mod debris;
mod demo;
mod encodings;
mod events;
mod generated;
mod guard;
mod harness;
mod hostile;
mod idempotence;
mod live;
mod monitoring;
mod named;
mod newest;
mod oracle;
mod orphan_guard;
mod pace;
mod plan;
mod poison;
mod pooled;
mod prove;
mod rig;
mod rights;
mod rivals;
mod roles;
mod runner;
mod sandbox;
mod scale;
mod session;
mod set_null;
mod sight;
mod single;
mod squawk;
mod support;
mod tidy;
mod unarchive;
mod windows;
mod workers;
mod worlds;
mod yworkflow;

harness::tests! {
    within: [
        agree::tests,
        airflow::tests,
        archive::tests,
        camunda::tests,
        cases::tests,
        cli::tests,
        composite::tests,
        crash::tests,
        cron::tests,
        debris::tests,
        demo::tests,
        encodings::tests,
        events::tests,
        generated::tests,
        guard::tests,
        hostile::tests,
        idempotence::tests,
        live::tests,
        monitoring::tests,
        named::tests,
        newest::tests,
        oracle::tests,
        orphan_guard::tests,
        pace::tests,
        plan::tests,
        poison::tests,
        pooled::tests,
        prove::tests,
        rights::tests,
        rivals::tests,
        roles::tests,
        runner::tests,
        sandbox::tests,
        scale::tests,
        session::tests,
        set_null::tests,
        sight::tests,
        single::tests,
        squawk::tests,
        tidy::tests,
        unarchive::tests,
        windows::tests,
        workers::tests,
        worlds::tests,
        yworkflow::tests,
    ],
}

fn main() -> std::process::ExitCode {
    harness::main(tests())
}
