-- From Airflow 3.3 back to 3.1, as far as the spec is about it; by Airflow's own migrations. Indexes that a foreign key needs stay.

-- 3.3.0: states of tasks and assets, tests of connections.
DROP TABLE task_state_store;
DROP TABLE asset_state_store;
DROP TABLE connection_test_request;

-- 3.2.0: partitions, revoked tokens, callbacks in a table of their own, questions to people of earlier tries.
DROP TABLE partitioned_asset_key_log;
DROP TABLE asset_partition_dag_run;
DROP TABLE revoked_token;
DROP TABLE hitl_detail_history;
ALTER TABLE dag_run DROP COLUMN partition_key, DROP COLUMN partition_date;
ALTER TABLE asset_event DROP COLUMN partition_key;
ALTER TABLE backfill_dag_run DROP COLUMN partition_key;
ALTER TABLE deadline DROP FOREIGN KEY deadline_callback_id_fkey, DROP FOREIGN KEY deadline_deadline_alert_id_fkey;
ALTER TABLE deadline DROP KEY deadline_callback_id_idx, DROP KEY deadline_missed_deadline_time_idx;
ALTER TABLE deadline DROP COLUMN callback_id, DROP COLUMN missed, DROP COLUMN deadline_alert_id, DROP COLUMN created_at,
    DROP COLUMN last_updated_at, ADD COLUMN callback json NOT NULL, ADD COLUMN callback_state varchar(20),
    ADD COLUMN trigger_id int;
ALTER TABLE deadline ADD KEY deadline_callback_state_time_idx (callback_state, deadline_time),
    ADD CONSTRAINT deadline_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES `trigger` (id);
DROP TABLE deadline_alert;
DROP TABLE callback;
DROP TABLE asset_watcher;
CREATE TABLE asset_trigger (
    asset_id int NOT NULL,
    trigger_id int NOT NULL,
    PRIMARY KEY (asset_id, trigger_id),
    CONSTRAINT asset_trigger_asset_id_fkey FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT asset_trigger_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES `trigger` (id) ON DELETE CASCADE
);
