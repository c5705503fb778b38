use serde_json::{Value, json};

use super::*;

/// Takes each field out of a document, wherever it is: reading it must fail by name, unless the field is listed.
fn each_field_is_missed<T: DeserializeOwned>(what: &str, document: &Value, may_lack: &[&str]) {
    assert!(
        read::<T>(what, document).is_ok(),
        "{what}: {:?}",
        read::<T>(what, document).err()
    );
    let mut missed = 0;
    for path in fields(document, "") {
        let (parent, name) = path.rsplit_once('/').expect("a path");
        let mut lacks = document.clone();
        let object = lacks.pointer_mut(parent).and_then(Value::as_object_mut);
        object.expect("an object").remove(name);
        let error = read::<T>(what, &lacks).err();
        if may_lack.iter().any(|it| path.ends_with(it)) {
            assert!(error.is_none(), "{what} without {path}: {error:?}");
            continue;
        }
        let error = error.unwrap_or_else(|| panic!("{what} is read without {path}"));
        let text = format!("{:#}", anyhow::Error::from(error));
        let told = format!("cannot read the answer of `{what}`: missing field `{name}`");
        assert_eq!(text, told);
        missed += 1;
    }
    assert!(missed > 0, "{what}");
}

/// The fields of a document and of the objects in it, but for those whose names are data.
fn fields(value: &Value, path: &str) -> Vec<String> {
    let names_are_data = [
        "tables",
        "skipped",
        "skipped_samples",
        "refused",
        "findings",
    ];
    match value {
        Value::Object(object) => object
            .iter()
            .flat_map(|(name, value)| {
                let path = format!("{path}/{name}");
                let below = if names_are_data.contains(&name.as_str()) {
                    Vec::new()
                } else {
                    fields(value, &path)
                };
                std::iter::once(path).chain(below)
            })
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .flat_map(|(at, value)| fields(value, &format!("{path}/{at}")))
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_document_that_lacks_a_field_is_an_error_and_not_a_0() {
    each_field_is_missed::<RunAnswer>(
        "run",
        &json!({"run": 12, "status": "done", "reason": null, "dry_run": false, "trigger": "MANUAL", "duration_ms": 2000,
            "rules": [{"rule": "r", "families": 1, "rows": 2, "batches": 1, "retries": 0, "tables": {"t": 2},
                "passes": [{"pass": "orphan", "rows": 1, "sample_keys": [1]}], "skipped_families": 3, "skipped": {"HELD": 3},
                "skipped_samples": {"HELD": ["17"]}, "failures": [{"key": "1", "sqlstate": "23503", "message": "no"}]}],
            "refused": {"5": "HELD"}}),
        &["/passes", "/refused"],
    );
    let refused = read::<RunAnswer>("run", &json!({"run": null, "status": "refused"})).err();
    let text = format!("{:#}", anyhow::Error::from(refused.unwrap_or_default()));
    assert_eq!(
        text,
        "cannot read the answer of `run`: missing field `reason`"
    );
    each_field_is_missed::<Preview>(
        "preview",
        &json!({"spec": "demo", "as_of": "2026-01-01T00:00:00Z", "armed": false, "paused": false,
            "rules": [{"rule": "r", "root": "t", "families": 1, "rows": 2, "tables": {"t": 2}, "oldest_end_time": null,
                "sample_roots": ["1"], "skipped_families": 2, "skipped": {"HELD": 2}, "skipped_samples": {"HELD": ["5"]},
                "without_policy": 3, "run_families": 1, "limited": true, "batches": 1, "estimated_seconds": null}]}),
        &["/without_policy"],
    );
    each_field_is_missed::<Verification>(
        "verify",
        &json!({"clean": false, "checks": [{"check": "orphans", "object": "t.a", "severity": "ok", "count": 0, "detail": ""}]}),
        &[],
    );
    each_field_is_missed::<Vec<Setting>>(
        "settings",
        &json!([{"rule": "r", "name": "nice", "value": 1, "unit": "%", "spec_value": 0, "takes": "0 to 10000",
            "changed_at": null, "changed_by": null}]),
        &[],
    );
    each_field_is_missed::<Vec<Window>>(
        "windows",
        &json!([{"written": "daily 01:00-05:30", "days": "1234567", "begins": "01:00", "ends": "05:30:00", "zone": "UTC"}]),
        &[],
    );
    each_field_is_missed::<Outlook>(
        "outlook",
        &json!({"as_of": "2026-01-01T00:00:00Z", "rules": [{"families": 3, "complete": true, "parts": [{"from": "2025-01-01T00:00:00", "families": 3}], "ahead": null}]}),
        &[],
    );
    each_field_is_missed::<Archived>(
        "archive_list",
        &json!({"rows": 1, "runs": [{"run": 1, "archived_at": null, "started_by": null, "rules": ["r"], "rows": 1,
            "tables": {"t": 1}, "restored": null, "dropped": null}]}),
        &[],
    );
    each_field_is_missed::<Restored>(
        "archive_restore",
        &json!({"rows": 1, "tables": {"t": 1}, "holds": 1, "not_held": 0, "not_archived": ["u"]}),
        &[],
    );
    each_field_is_missed::<Hold>(
        "set_hold",
        &json!({"rule": "r", "key": "1", "reason": "audit", "until": null, "placed_by": "a",
            "placed_at": "2026-01-01", "absent": true}),
        &[],
    );
    each_field_is_missed::<Policy>(
        "set_policy",
        &json!({"rule": "r", "scope": "1", "enabled": true, "retention_seconds": 1, "artifacts": true, "note": null,
            "changed_by": "a", "changed_at": "2026-01-01"}),
        &[],
    );
    each_field_is_missed::<Vec<SettingChange>>(
        "changes of settings",
        &json!([{"rule": "r", "name": "rate", "old_value": null, "new_value": 1, "changed_by": "a", "changed_at": "2026-01-01"}]),
        &[],
    );
    each_field_is_missed::<Vec<Artifact>>(
        "artifacts",
        &json!([{"artifact_id": 1, "run_id": 1, "host": null, "path": "/p", "attempts": 0,
            "next_attempt_at": null, "last_error": null, "given_up": false}]),
        &[],
    );
    each_field_is_missed::<Vec<PastRun>>(
        "history",
        &json!([{"run_id": 1, "trigger": "MANUAL", "dry_run": false, "status": "done", "reason": null, "started_by": "a",
            "started_at": "2026-01-01",
            "seconds": null, "families": 1, "batches": 1, "deleted_rows": 1, "changed_rows": 0}]),
        &[],
    );
}

#[test]
fn a_status_that_lacks_a_field_is_an_error_and_not_a_0() {
    each_field_is_missed::<Status>(
        "status",
        &json!({
            "control": {"installed_at": "2026-01-01", "installed_by": "a", "armed": true, "armed_at": "2026-01-01", "armed_by": "a",
                "paused": false, "paused_at": null, "paused_by": null, "paused_reason": null,
                "forced_install": {"at": "2026-01-01", "by": "a", "findings": [{"code": "x"}]}},
            "paused_rules": [{"rule": "r", "paused_at": "2026-01-01", "paused_by": "a", "reason": null}],
            "refusals": [{"server": "s", "since": "2026-01-01", "reason": "no window is open"}],
            "scheduling": {"suspended": false, "failed_runs": 0, "last_error": null},
            "policies": 1, "holds": 2, "absent_holds": 0, "windows": ["always"], "window_open": true,
            "artifacts_waiting": 0, "artifacts_given_up": 0,
            "running": [{"run_id": 7, "rule": "r", "families": 1, "deleted_rows": 2, "batches": 3, "started_at": "2026-01-01",
                "worker": null, "waiting_for": null, "waiting_since": null, "server": "other"}],
            "last_run": {"run_id": 6, "status": "done", "reason": "nothing left", "finished_at": "2026-01-01"},
            "rules": [{"rule": "r", "families": 1, "rows": 2.5, "oldest_age_seconds": null, "counted_at": null, "due_per_hour": 1.5,
                "deleted_per_hour": null, "last_look": 6, "last_look_status": "done"}],
            "undeletable": [{"rule": "r", "reason": "HELD", "families": 1, "sample_key": "17", "oldest_age_seconds": 5.5}]}),
        &["/running/0/server"],
    );
}

#[test]
fn what_a_scheduled_run_waits_for_is_as_it_should_be() {
    let refused = |reason: &str| {
        let document = json!({"run": null, "status": "refused", "reason": reason});
        read::<RunAnswer>("run", &document).is_ok_and(|answer| answer.is_found())
    };
    assert!(!refused("no window is open: daily 01:00-05:00"));
    assert!(!refused("nothing left"));
    assert!(refused("run 11 is in progress"));
    let stopped = json!({"run": 1, "status": "stopped", "reason": "run_families", "dry_run": false, "trigger": "MANUAL", "duration_ms": 1, "rules": []});
    assert!(read::<RunAnswer>("run", &stopped).is_ok_and(|answer| !answer.is_found()));
}

#[test]
fn a_run_that_only_waited_asks_for_a_look() {
    let waited = |reason: &str, rows: i64, batches: i64, retries: i64| {
        let idle = json!({"rule": "a", "families": 0, "rows": 0, "batches": 1, "tables": {}, "skipped_families": 0, "skipped": {},
            "skipped_samples": {}, "retries": 0, "failures": []});
        let mut rule = idle.clone();
        for (field, value) in [("rows", rows), ("batches", batches), ("retries", retries)] {
            rule[field] = value.into();
        }
        let document = json!({"run": 1, "status": "stopped", "reason": reason, "dry_run": false, "trigger": "SCHEDULED",
            "duration_ms": 1, "rules": [idle, rule]});
        let answer = read::<RunAnswer>("run", &document).expect("a run");
        let RunAnswer::Run(run) = &answer else {
            panic!("{document}")
        };
        let what = run.only_waited().map(str::to_owned);
        assert_eq!(answer.is_found(), what.is_some(), "{document}");
        what
    };
    let replica = "time budget spent while waiting for replica db2, which is 700 seconds behind";
    let what = Some("replica db2, which is 700 seconds behind");
    assert_eq!(waited(replica, 0, 0, 0).as_deref(), what);
    assert_eq!(waited(replica, 5, 1, 0), None);
    assert_eq!(
        waited(replica, 0, 1, 0),
        None,
        "it kept all that it looked at"
    );
    let other = "time budget spent while waiting for worker 2, which is at rule a";
    assert_eq!(waited(other, 0, 0, 0), None);
    let locks = Some("locks of other sessions");
    assert_eq!(waited("time budget spent", 0, 0, 2).as_deref(), locks);
    assert_eq!(waited("time budget spent", 0, 0, 0), None, "it searched");
    assert_eq!(waited("time budget spent", 0, 1, 2), None);
}

#[test]
fn a_time_of_the_clock_is_a_minute_of_the_day() {
    let window = |begins: &str| {
        let document = json!({"written": "w", "days": "1", "begins": begins, "ends": "05:30:00", "zone": "UTC"});
        read::<Window>("windows", &document)
            .ok()
            .map(|it| (it.begins, it.ends))
    };
    assert_eq!(window("01:07"), Some((67, 330)));
    assert_eq!(window("early"), None);
}
