//! What a killed run has taken out of a table, where the run that finds it is another than the one that took it.

use serde_json::json;
use windrow::dialect::Dialect;

use super::{PAST, armed, ids, leave, ledger, taken};
use crate::partition::only;

/// The rows are out of the table, and not judged.
const TAKEN: &[&str] = &["INTENT taking", "TWIN", "SWAP"];

/// The run that took a partition had another retention than the one that settles it, or another time.
pub(super) fn what_is_not_due_for_the_run_that_settles_it_goes_back(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-due");
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    // The partition ends on 1 June: 50 days before, and with the lag of a day, 91.
    for (as_of, retention) in [
        ("2025-07-21T00:00:00Z", None),
        ("2025-08-30T23:59:59Z", None),
        ("2025-07-01T23:59:59Z", Some("30d")),
    ] {
        leave(&mut installation, TAKEN);
        assert_eq!(ids(&mut installation), "6");
        let mut options = json!({"as_of": as_of});
        if let Some(retention) = retention {
            options["retention"] = json!(retention);
        }
        let run = installation.run(options).expect("a run");
        assert_eq!(
            (&run["status"], &only(&run)["skipped_samples"]),
            (&json!("done"), &json!({"RETENTION_NOT_REACHED": [PAST]})),
            "{run}"
        );
        assert_eq!(ids(&mut installation), "3 4 6", "{run}");
        assert_eq!(ledger(&mut installation), [""; 0]);
        assert_eq!(taken(&mut installation), 0);
    }
    for options in [
        json!({"as_of": "2025-08-31T00:00:00Z"}),
        json!({"as_of": "2025-07-02T00:00:00Z", "retention": "30d"}),
    ] {
        leave(&mut installation, TAKEN);
        let run = installation.run(options).expect("a run");
        assert_eq!(only(&run)["rows"], 2, "{run}");
        assert_eq!(taken(&mut installation), 0);
        assert_eq!(ids(&mut installation), "6");
        installation.execute(
            "INSERT INTO event_log (id, logged_at, message) VALUES (3, '2025-01-01', 'c'), (4, '2025-05-01', 'd')",
        );
    }
}
