-- From Airflow 3.1 back to 3.0, as far as the spec is about it; by Airflow's own migrations.

DROP TABLE hitl_detail;
DROP TABLE dag_favorite;
DROP TABLE task_inlet_asset_reference;
ALTER TABLE dag_run DROP COLUMN triggering_user_name;
ALTER TABLE deadline DROP FOREIGN KEY deadline_trigger_id_fkey;
ALTER TABLE deadline DROP KEY deadline_trigger_id_fkey, DROP KEY deadline_callback_state_time_idx;
ALTER TABLE deadline DROP COLUMN callback, DROP COLUMN callback_state, DROP COLUMN trigger_id;
ALTER TABLE deadline ADD COLUMN callback varchar(500) NOT NULL, ADD COLUMN callback_kwargs json,
    ADD COLUMN dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;
ALTER TABLE deadline ADD CONSTRAINT deadline_dag_id_fkey FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE;
ALTER TABLE deadline RENAME COLUMN deadline_time TO deadline;
ALTER TABLE task_instance DROP FOREIGN KEY task_instance_dag_version_id_fkey;
ALTER TABLE task_instance ADD CONSTRAINT task_instance_dag_version_id_fkey
    FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE;
