//! Everything that needs a server, in one binary so that it links once.

mod acting;
mod adopted;
mod agree;
mod airflow;
mod alike;
mod answers;
mod archive;
mod backups;
mod beneath;
mod between;
mod binlog;
mod bound;
mod bound_of;
mod bytes;
mod camunda;
mod cases;
mod catalogs;
mod chores;
mod claims;
mod cli;
mod cluster;
mod collated;
mod composite;
mod crash;
mod cron;
mod crossing;
mod debris;
mod deeds;
mod defaults;
mod demo;
mod docs;
mod downstream;
mod encodings;
mod endings;
mod epochs;
mod events;
mod facts;
mod fleet;
mod forward;
mod from_plain;
mod gathered;
mod generated;
mod guard;
mod halfway;
mod harness;
mod hatch;
mod heavy;
mod held;
mod hostile;
mod idempotence;
mod inspect;
mod instants;
mod interrupted;
mod kept;
mod kernel;
mod kinds;
mod languages;
mod late;
mod lent;
mod limits;
mod live;
mod migrations;
mod minimum;

mod mlflow;
mod monitoring;
mod moves;
mod named;
mod namesakes;
mod newest;
mod nodes;
mod nulls;
mod oddities;
mod one_day;
mod oracle;
mod orphan_guard;
mod orphaned;
mod overtaken;
mod pace;
mod page;
mod partition;
mod parts;
mod plan;
mod poison;
mod pooled;
mod prefect;
mod printed;
mod prove;
mod reference;
mod rekeyed;
mod replicas;
mod rig;
mod rights;
mod rivals;
mod roles;
mod runner;
mod sandbox;
mod scale;
mod scopes;
mod served;
mod session;
mod set_null;
mod several;
mod shapes;
mod sight;
mod single;
mod spelled;
mod squats;
mod squawk;
mod subflows;
mod support;
mod tidy;
mod tls;
mod told;
mod turns;
mod tutorial;
mod types;
mod unarchive;
mod undated;
mod unnamed;
mod unsigned;
mod upgrade;
mod versions;
mod windows;
mod work_tables;
mod workers;
mod worlds;
mod years;
mod yworkflow;
mod zero;

harness::tests! {
    within: [
        acting::tests,
        adopted::tests,
        agree::tests,
        airflow::tests,
        alike::tests,
        answers::tests,
        archive::tests,
        backups::tests,
        beneath::keepers::tests,
        beneath::moved::tests,
        beneath::rootless::tests,
        beneath::strangers::tests,
        beneath::tests,
        beneath::timed::tests,
        between::tests,
        binlog::tests,
        bound::tests,
        bound_of::tests,
        bytes::tests,
        camunda::tests,
        cases::tests,
        catalogs::tests,
        chores::tests,
        claims::tests,
        cli::tests,
        cluster::tests,
        collated::tests,
        composite::tests,
        crash::tests,
        cron::tests,
        crossing::tests,
        debris::tests,
        deeds::tests,
        defaults::tests,
        demo::tests,
        docs::tests,
        downstream::tests,
        encodings::tests,
        endings::tests,
        epochs::tests,
        events::tests,
        facts::tests,
        fleet::tests,
        forward::tests,
        from_plain::tests,
        gathered::tests,
        generated::tests,
        guard::tests,
        halfway::tests,
        hatch::tests,
        heavy::tests,
        held::tests,
        hostile::tests,
        idempotence::tests,
        inspect::tests,
        instants::tests,
        interrupted::tests,
        kept::tests,
        kernel::tests,
        kinds::tests,
        languages::tests,
        late::tests,
        lent::tests,
        limits::tests,
        live::tests,
        migrations::tests,
        minimum::tests,
        mlflow::tests,
        monitoring::tests,
        moves::tests,
        named::tests,
        namesakes::tests,
        newest::tests,
        nodes::tests,
        nulls::tests,
        oddities::tests,
        one_day::tests,
        oracle::tests,
        orphan_guard::tests,
        orphaned::tests,
        overtaken::tests,
        pace::tests,
        page::tests,
        partition::tests,
        parts::tests,
        plan::tests,
        plan::histories::tests,
        plan::uncounted::tests,
        poison::tests,
        pooled::tests,
        prefect::tests,
        printed::tests,
        prove::tests,
        reference::tests,
        rekeyed::tests,
        replicas::tests,
        rights::tests,
        rivals::tests,
        roles::tests,
        runner::tests,
        sandbox::tests,
        scale::tests,
        scopes::tests,
        served::tests,
        session::tests,
        set_null::tests,
        several::tests,
        shapes::tests,
        sight::tests,
        single::lists::tests,
        single::places::tests,
        single::tests,
        spelled::tests,
        squats::tests,
        squawk::tests,
        subflows::tests,
        tidy::tests,
        tls::tests,
        told::tests,
        turns::tests,
        tutorial::tests,
        types::tests,
        unarchive::tests,
        undated::tests,
        unnamed::tests,
        unsigned::tests,
    upgrade::tests,
        versions::tests,
        windows::tests,
        work_tables::tests,
        workers::kinds::tests,
        workers::sweeps::tests,
        workers::tests,
        worlds::tests,
        years::tests,
        yworkflow::tests,
        zero::tests,
    ],
}

fn main() -> std::process::ExitCode {
    harness::main(tests())
}
