-- From Airflow 3.3 back to 3.1, as far as the spec is about it; by Airflow's own migrations.

-- 3.3.0: states of tasks and assets, tests of connections, two indexes.
DROP TABLE task_state_store;
DROP TABLE asset_state_store;
DROP TABLE connection_test_request;
DROP INDEX idx_dag_run_created_dag_version_id;
DROP INDEX ti_dag_version_id;

-- 3.2.0: partitions, revoked tokens, callbacks in a table of their own, questions to people of earlier tries.
DROP TABLE partitioned_asset_key_log;
DROP TABLE asset_partition_dag_run;
DROP TABLE revoked_token;
DROP TABLE hitl_detail_history;
ALTER TABLE dag_run DROP COLUMN partition_key, DROP COLUMN partition_date;
ALTER TABLE asset_event DROP COLUMN partition_key;
ALTER TABLE backfill_dag_run DROP COLUMN partition_key;
ALTER TABLE deadline DROP COLUMN callback_id, DROP COLUMN missed, DROP COLUMN deadline_alert_id, DROP COLUMN created_at,
    DROP COLUMN last_updated_at, ADD COLUMN callback json NOT NULL, ADD COLUMN callback_state varchar(20),
    ADD COLUMN trigger_id integer REFERENCES trigger (id);
CREATE INDEX deadline_callback_state_time_idx ON deadline (callback_state, deadline_time);
DROP TABLE deadline_alert;
DROP TABLE callback;
DROP TABLE asset_watcher;
CREATE TABLE asset_trigger (
    asset_id integer NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
    trigger_id integer NOT NULL REFERENCES trigger (id) ON DELETE CASCADE,
    PRIMARY KEY (asset_id, trigger_id)
);

-- 3.1.8: an index.
DROP INDEX idx_task_reschedule_ti_id_id_desc;
