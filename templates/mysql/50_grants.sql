{{ session }}

-- operator: runs, previews, sets policies and holds, pauses; no rights on the application's tables.
-- auditor: previews, reads the ledger and the metrics.
-- A member of a role has its rights once the role is active: SET DEFAULT ROLE makes it so at every login.
--# create roles
CREATE ROLE IF NOT EXISTS {{ operator }}, {{ auditor }};
{%- if maria %}
-- Only the creator of a role may grant it, but anyone may find that it is granted.
--# look for the grant of {{ auditor }} to {{ operator }}
SET @windrow_statement = (
    SELECT IF(COUNT(*) = 0, {{ grant_auditor }}, 'DO 0')
    FROM mysql.roles_mapping AS m
    WHERE m.host = ''
      AND m.user = {{ operator_literal }}
      AND m.role = {{ auditor_literal }}
);
--# parse the grant of {{ auditor }} to {{ operator }}
PREPARE windrow_statement FROM @windrow_statement;
--# grant {{ auditor }} to {{ operator }}
EXECUTE windrow_statement;
--# forget the grant of {{ auditor }} to {{ operator }}
DEALLOCATE PREPARE windrow_statement;
{%- else %}
--# grant {{ auditor }} to {{ operator }}
GRANT {{ auditor }} TO {{ operator }};
{%- endif %}

-- What only an earlier spec needed is revoked right by right, so that no run lacks one for a moment. What was granted by hand for the
-- members of a cluster is kept. An account that may not read the rights of others finds nothing to revoke.
--# look for rights that the spec no longer needs
SET @windrow_statements = (
    SELECT JSON_ARRAYAGG(CONCAT('REVOKE ', g.given, {{ from_owner }}))
    FROM (
        SELECT h.given FROM (
            {{ held | indent(width=12) }}
        ) AS h LEFT JOIN (
            {{ needed | indent(width=12) }}
        ) AS n ON n.name = h.object AND FIND_IN_SET(h.privilege_type, n.rights) > 0
        WHERE h.role = {{ owner_literal }}
          AND h.home <> {{ control_literal }}
{%- if throttles.reads_more %}
          -- Rights for the SQL of the spec are granted by hand.
          AND h.privilege_type NOT LIKE 'SELECT%'
{%- endif %}
          AND n.name IS NULL
{%- if not maria and not throttles.sees_history %}
        UNION ALL
        SELECT 'PROCESS ON *.*' FROM information_schema.user_privileges AS u
        WHERE u.privilege_type = 'PROCESS'
          AND SUBSTR(SUBSTRING_INDEX(u.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(u.grantee, '@', 1)) - 2) = {{ owner_literal }}
{%- endif %}
    ) AS g
);
--# revoke rights that the spec no longer needs
CALL {{ control }}.run_texts(@windrow_statements);
-- TRIGGER lets verify() see what acts when the tables of the ledger are written to.
--# grant {{ control }} to {{ owner }}
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES, EXECUTE, EVENT, TRIGGER
{%- if maria %}, SHOW VIEW{% endif %}{% if drops %}, CREATE, ALTER, DROP{% endif %} ON {{ control }}.* TO {{ owner }};

-- What the routines need from the application, and no more: FOR UPDATE needs DELETE, too.
{% for table in tables -%}
--# grant on {{ table.name }}
GRANT SELECT{% if table.deleted %}, DELETE{% endif %}{% if table.dropped %}, INSERT, CREATE, ALTER, DROP, TRIGGER{% endif %}
{%- if table.updates %}, UPDATE ({{ table.updates }}){% endif %} ON {{ table.table }} TO {{ owner }};
{% endfor -%}
{% for archive in archives -%}
--# grant insert on {{ archive.table_name }}
GRANT INSERT ON {{ archive.table }} TO {{ owner }};
{% endfor -%}
{% for definition in definitions -%}
--# grant select on {{ definition.name }}
GRANT SELECT ON {{ definition.table }} TO {{ owner }};
{% endfor -%}
{% for table in referring -%}
--# grant select on {{ table }}
GRANT SELECT ON {{ table }} TO {{ owner }};
{% endfor %}
{%- for rule in rules %}{% if rule.single %}{% for reference in rule.single.references -%}
--# grant select on {{ reference }}
GRANT SELECT ON {{ reference }} TO {{ owner }};
{% endfor %}{% endif %}{% endfor %}
{%- if maria %}
-- Without this, a role does not see the bodies of its own routines, which verify() compares.
--# grant bodies
GRANT SELECT ON mysql.proc TO {{ owner }};
-- Nor does it see the foreign keys of a table on which it has no right; strangers() looks for them. Of all rights, this one
-- shows the least: no row of a table.
--# grant show view on {{ schema }}
GRANT SHOW VIEW ON {{ schema_pattern }}.* TO {{ owner }};
{%- else %}
-- If the reader of a view has rights through a role, MySQL overlooks the definer's rights on single tables: the view metrics,
-- which joins policies with roots, needs them on the database. SELECT only, and nobody can log in as the owner.
--# grant select on {{ schema }}
GRANT SELECT ON {{ schema_pattern }}.* TO {{ owner }};
{%- endif %}

-- A table of another database may refer to these, too, and act on them. REFERENCES on everything shows its foreign keys and no
-- row.{% if maria %} PROCESS lets a batch find them without opening every table of the server.{% endif %} If the installer may not grant it, verify() reports what is not seen.
--# look for the right to grant references
SET @windrow_statement = (
    SELECT IF(COUNT(*) = {% if maria %}2{% else %}1{% endif %}, {{ grant_references }}, 'DO 0')
    FROM information_schema.user_privileges AS u
    WHERE u.privilege_type IN ('REFERENCES'{% if maria %}, 'PROCESS'{% endif %})
      AND u.is_grantable = 'YES'
      AND u.grantee = CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - LOCATE('@', REVERSE(CURRENT_USER()))), '''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')
);
--# parse the grant of references
PREPARE windrow_statement FROM @windrow_statement;
--# grant references on all to {{ owner }}
EXECUTE windrow_statement;
--# forget the grant of references
DEALLOCATE PREPARE windrow_statement;

{%- if throttles.heartbeat %}
--# grant select on {{ throttles.heartbeat.name }}
GRANT SELECT ON {{ throttles.heartbeat.table }} TO {{ owner }};
{%- endif %}
{%- if throttles.sees_history and not maria %}
-- The spec lets runs wait for old snapshots: only an account that may see all processes can read the length of the history list.
--# grant process to {{ owner }}
GRANT PROCESS ON *.* TO {{ owner }};
{%- endif %}
{%- if throttles.sees_members and not maria %}
-- The spec lets runs wait for members of a group that are behind.
--# grant select on replication_group_member_stats
GRANT SELECT ON performance_schema.replication_group_member_stats TO {{ owner }};
{%- endif %}

-- An installation that was armed by an earlier version's checks remains armed.
--# identify the server
CALL {{ control }}.server_identity(@windrow_identity);
--# update table {{ control }}.control
UPDATE {{ control }}.control AS c
SET c.server_identity = @windrow_identity
WHERE c.only_row = true
  AND c.server_identity = {% if maria %}CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id, {{ control_literal }}){% else %}CONCAT_WS(' ', @@server_uuid, @@hostname, @@port, {{ control_literal }}){% endif %};

-- Nobody else may call anything, and these roles only what is meant to be called.
{%- if archives or keeps or drops %}
-- The rows of the archive, and those that are out of their table, are the application's: grant access by hand to those who may read them.
-- Only what is granted can be revoked, so it is granted first.
--# grant select to {{ auditor }}
GRANT SELECT ON {{ control }}.* TO {{ auditor }};
--# revoke select from {{ auditor }}
REVOKE SELECT ON {{ control }}.* FROM {{ auditor }};
{%- for name in readable %}
--# grant select on {{ name }} to {{ auditor }}
GRANT SELECT ON {{ name }} TO {{ auditor }};
{%- endfor %}
{%- else %}
--# grant select to {{ auditor }}
CALL {{ control }}.let_read();
{%- endif %}
{% for routine in auditor_routines -%}
--# grant {{ routine }} to {{ auditor }}
GRANT EXECUTE ON PROCEDURE {{ control }}.{{ routine }} TO {{ auditor }};
{% endfor -%}
{% for routine in operator_routines -%}
--# grant {{ routine }} to {{ operator }}
GRANT EXECUTE ON PROCEDURE {{ control }}.{{ routine }} TO {{ operator }};
{% endfor -%}

-- An installation on an armed server accepts the tables of the spec as they are now.
--# note the catalog
CALL {{ control }}.note_installed();
