-- The tables of yWorkflow's JDBC instance store on PostgreSQL: every table, column, default, key and index.
--
-- The keys to state_instance cascade, the one of persistent_attribute does not, and nothing leads with
-- previous_state_instance_id: whoever deletes a state reads the whole history for it.

CREATE TABLE workflow_instance (
    id serial,
    tenant_id varchar(255),
    workflow_definition_id varchar(1024) NOT NULL,
    status varchar(20) NOT NULL,
    created_at timestamp NOT NULL,
    updated_at timestamp NOT NULL,
    CONSTRAINT workflow_instance_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_workflow_instance_tenant ON workflow_instance (tenant_id);
CREATE INDEX idx_workflow_instance_definition ON workflow_instance (workflow_definition_id);
CREATE INDEX idx_workflow_instance_status ON workflow_instance (status);

CREATE TABLE state_instance (
    id serial,
    workflow_instance_id integer NOT NULL,
    state_id varchar(64) NOT NULL,
    transition_id varchar(64),
    started_at timestamp NOT NULL,
    completed_at timestamp,
    due_at timestamp,
    status varchar(64),
    is_active boolean,
    caller varchar(64),
    CONSTRAINT state_instance_pkey PRIMARY KEY (id),
    CONSTRAINT state_instance_workflow_instance_id_fkey
        FOREIGN KEY (workflow_instance_id) REFERENCES workflow_instance (id) ON DELETE CASCADE
);

CREATE INDEX idx_state_instance_active ON state_instance (workflow_instance_id, started_at);
CREATE INDEX idx_state_instance_inactive ON state_instance (workflow_instance_id);

CREATE TABLE state_instance_history (
    state_instance_id integer NOT NULL,
    previous_state_instance_id integer NOT NULL,
    previous_state_instance_order integer,
    CONSTRAINT state_instance_history_pkey PRIMARY KEY (state_instance_id, previous_state_instance_id),
    CONSTRAINT state_instance_history_state_instance_id_fkey
        FOREIGN KEY (state_instance_id) REFERENCES state_instance (id) ON DELETE CASCADE,
    CONSTRAINT state_instance_history_previous_state_instance_id_fkey
        FOREIGN KEY (previous_state_instance_id) REFERENCES state_instance (id) ON DELETE CASCADE
);

CREATE INDEX idx_state_instance_history_order ON state_instance_history (previous_state_instance_order);

CREATE TABLE state_instance_owners (
    state_instance_id integer NOT NULL,
    owner_id varchar(64) NOT NULL,
    CONSTRAINT state_instance_owners_pkey PRIMARY KEY (state_instance_id, owner_id),
    CONSTRAINT state_instance_owners_state_instance_id_fkey
        FOREIGN KEY (state_instance_id) REFERENCES state_instance (id) ON DELETE CASCADE
);

CREATE INDEX idx_state_instance_owners_owner_id ON state_instance_owners (owner_id);

CREATE TABLE persistent_attribute (
    workflow_instance_id integer NOT NULL,
    attribute_name varchar(255) NOT NULL,
    attribute_type varchar(16) NOT NULL,
    string_value text,
    date_value timestamp,
    data_value bytea,
    float_value double precision,
    number_value numeric,
    CONSTRAINT persistent_attribute_pkey PRIMARY KEY (workflow_instance_id, attribute_name),
    CONSTRAINT persistent_attribute_workflow_instance_id_fkey
        FOREIGN KEY (workflow_instance_id) REFERENCES workflow_instance (id)
);
