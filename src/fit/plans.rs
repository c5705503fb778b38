//! The plans of the generated statements, as EXPLAIN shows them, against the sizes of the tables.

use serde_json::Value;

use super::finding::{Finding, Severity, error, notice};
use super::mysql;
use crate::bundle::Probe;
use crate::catalog::Catalog;
use crate::dialect::Dialect;

/// Judges the plan of one statement: `plan` is what the server answered when it was asked to explain it.
pub fn judge_plan(
    probe: &Probe,
    plan: &[Vec<Option<String>>],
    catalog: &Catalog,
    before: &[Finding],
    threshold: i64,
) -> Vec<Finding> {
    let what = &probe.what;
    let mut scans = Vec::new();
    match catalog.dialect {
        Dialect::Postgres => {
            let text = plan.first().and_then(|row| row.first()?.as_deref());
            match serde_json::from_str(text.unwrap_or_default()) {
                Ok(plan) => collect_scans(&plan, &mut scans),
                Err(unreadable) => {
                    let message = format!("the plan of `{what}` cannot be read: {unreadable}");
                    return vec![error("not-explained", &probe.table, message)];
                }
            }
        }
        Dialect::Mysql | Dialect::Mariadb => mysql::collect_scans(probe, plan, catalog, &mut scans),
    }
    scans.sort();
    scans.dedup();
    let mut found = Vec::new();
    for (table, filter) in scans {
        let Some(live) = catalog
            .tables
            .get(&table)
            .filter(|live| live.estimated_rows > threshold)
        else {
            continue;
        };
        let message = format!(
            "`{what}` reads all of its about {} rows, filtered by {filter}",
            live.estimated_rows
        );
        let coming = before.iter().any(|finding| {
            finding.code == "missing-index"
                && finding.severity == Severity::Notice
                && finding.object.split('.').next() == Some(table.as_str())
        });
        found.push(if coming {
            notice("seq-scan", &table, message).help(
                "`20_indexes.sql` creates the missing index; check again after `windrow install`",
            )
        } else {
            error("seq-scan", &table, message).help(
                "create an index that leads with the column, or run ANALYZE if the estimate is wrong",
            )
        });
    }
    found
}

/// A statement that the server did not even plan.
pub fn unplanned(what: &str, table: &str, reason: &str, before: &[Finding]) -> Option<Finding> {
    // What is missing or of another type was reported already; that its statements do not plan says nothing new.
    let told = before.iter().any(|finding| {
        finding.severity == Severity::Error
            && (finding.code.starts_with("missing-") || finding.code == "type-differs")
            && finding.code != "missing-index"
    });
    (!told).then(|| {
        let message = format!("`{what}` cannot be planned: {reason}");
        let found = error("not-explained", table, message);
        match reason.contains("replica identity") {
            true => found.help(
                "docs/downstream.md: give the table a primary key or `ALTER TABLE … REPLICA IDENTITY`, or publish no deletes",
            ),
            false => found,
        }
    })
}

/// Statements that the role of this session may not even plan.
pub fn denied(catalog: &Catalog, statements: &[String]) -> Option<Finding> {
    let first = statements.first()?;
    let message = format!(
        "this role lacks the rights for {} of the statements, e.g. `{first}`",
        statements.len()
    );
    Some(
        error("not-explained", &catalog.schema, message).help(
            "connect as the owner of the tables, or as a role with SELECT and DELETE on them",
        ),
    )
}

fn collect_scans(plan: &Value, scans: &mut Vec<(String, String)>) {
    match plan {
        Value::Array(parts) => parts.iter().for_each(|part| collect_scans(part, scans)),
        Value::Object(node) => {
            if node.get("Node Type").and_then(Value::as_str) == Some("Seq Scan")
                && let Some(table) = node.get("Relation Name").and_then(Value::as_str)
            {
                let filter = node
                    .get("Filter")
                    .and_then(Value::as_str)
                    .unwrap_or("no condition");
                let short: String = filter.chars().take(120).collect();
                scans.push((table.to_owned(), format!("`{short}`")));
            }
            node.values()
                .filter(|value| value.is_array() || value.is_object())
                .for_each(|part| collect_scans(part, scans));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::CatalogTable;

    #[test]
    fn only_a_scan_of_a_big_table_is_found() {
        let plan = plan_of(
            serde_json::json!([{"Plan": {"Node Type": "ModifyTable", "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "big", "Filter": "(x = 1)"},
            {"Node Type": "Seq Scan", "Relation Name": "small"}]}}]),
        );
        let mut catalog = Catalog::default();
        catalog.tables.insert(
            "big".to_owned(),
            CatalogTable {
                estimated_rows: 50_000,
                ..CatalogTable::default()
            },
        );
        catalog.tables.insert(
            "small".to_owned(),
            CatalogTable {
                estimated_rows: 5,
                ..CatalogTable::default()
            },
        );
        let probe = Probe {
            what: "delete from big".to_owned(),
            table: "big".to_owned(),
            sql: String::new(),
            off: Vec::new(),
        };
        let found = judge_plan(&probe, &plan, &catalog, &[], 10_000);
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "error[seq-scan]: `big`: `delete from big` reads all of its about 50000 rows, filtered by `(x = 1)`\n  \
             help: create an index that leads with the column, or run ANALYZE if the estimate is wrong"
            ]
        );
    }

    #[test]
    fn a_plan_that_cannot_be_read_is_no_plan_without_scans() {
        let probe = Probe {
            what: "delete from big".to_owned(),
            table: "big".to_owned(),
            sql: String::new(),
            off: Vec::new(),
        };
        for answer in [vec![], vec![vec![Some("Seq Scan on big".to_owned())]]] {
            let found = judge_plan(&probe, &answer, &Catalog::default(), &[], 10_000);
            let codes: Vec<&str> = found.iter().map(|finding| finding.code).collect();
            assert_eq!(codes, ["not-explained"]);
        }
    }

    fn plan_of(plan: Value) -> Vec<Vec<Option<String>>> {
        vec![vec![Some(plan.to_string())]]
    }
}
