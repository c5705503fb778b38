//! The clock by which pg_cron starts jobs.

use anyhow::{Result, ensure};
use postgres::{Client, NoTls};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;
use windrow::sandbox::Postgres;
use windrow::schedule::Schedule;

use super::{apply, told};
use crate::rig::{self, W};

/// A schedule with an hour is in UTC, and pg_cron may count by another clock, from its version 1.5 on. An earlier one has no such
/// setting, and the server takes it for one of the session.
pub(super) fn by_another_clock(server: &mut Postgres, mut client: Client) -> Result<Client> {
    let known = "SELECT count(*) FROM pg_settings WHERE name = 'cron.timezone'";
    let known = rig::number(&mut client, known)? == 1;
    let at_night = Graph {
        schedules: vec![Schedule::parse("17 3 * * *").expect("a schedule")],
        ..rig::graph()
    };
    let at_night = render::bundle(&at_night, Dialect::Postgres)?;
    let schedule = ["10_control.sql", "11_spec.sql", "60_schedule.sql"];
    let hourly = rig::bundle()?;
    let cases = [
        (&hourly, "Europe/Berlin", "always", "ok: job "),
        (&at_night, "Europe/Berlin", "always", "notice: job "),
        (
            &at_night,
            "Asia/Tokyo",
            "daily 03:00-04:00 UTC",
            "violation: job ",
        ),
        (
            &at_night,
            "Asia/Tokyo",
            "daily 03:00-04:00 Asia/Tokyo",
            "notice: job ",
        ),
        (&at_night, "Etc/UTC", "always", "ok: job "),
        (&hourly, "GMT", "always", "ok: job "),
    ];
    for (bundle, zone, hours, expected) in cases {
        if known {
            client.batch_execute(&format!("ALTER SYSTEM SET cron.timezone = '{zone}'"))?;
            server.restart()?;
            client = Client::connect(&server.url("ds", "postgres"), NoTls)?;
        } else {
            client.batch_execute(&format!("SET cron.timezone = '{zone}'"))?;
        }
        client.batch_execute(&format!(
            r#"SELECT {W}.set_windows('{{"windows": "{hours}"}}')"#
        ))?;
        apply(&mut client, bundle, &schedule)?;
        let said = told(&mut client, "")?;
        let clock = format!("by the clock of {zone} (cron.timezone), not in UTC");
        ensure!(
            said.starts_with(expected)
                && said.contains(&clock) != expected.starts_with("ok")
                && said.contains("no start falls in a window") == expected.starts_with("violation"),
            "{zone}, {hours}: {said}"
        );
        // The windows are those of the same clock.
        let opens = rig::texts(
            &mut client,
            &format!(
                "SELECT concat_ws(': ', c ->> 'severity', c ->> 'detail')
                 FROM json_array_elements({W}.verify() -> 'checks') AS c WHERE c ->> 'check' = 'windows'"
            ),
        )?;
        ensure!(
            opens[0].starts_with("violation: ") == expected.starts_with("violation")
                && opens[0].contains(&format!("in {zone}) falls in one"))
                    == expected.starts_with("violation"),
            "{zone}, {hours}: {opens:?}"
        );
        // Who may not read the setting is told nothing of it.
        if known {
            let alone = format!("SET ROLE {W}_schedule");
            ensure!(!told(&mut client, &alone)?.contains("clock"), "{zone}");
            client.batch_execute("RESET ROLE")?;
        }
    }
    let reset = if known { "" } else { "RESET cron.timezone; " };
    client.batch_execute(&format!(
        "{reset}SELECT {W}.set_windows('{{\"windows\": null}}')"
    ))?;
    Ok(client)
}
