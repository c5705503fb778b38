{{ session }}

-- A batch first locks all rows of the root table that it deletes. A writer that names such a family, or a row in it, asks for a
-- lock on the same rows first, as a foreign key would: it waits until the batch has committed, and then finds no parent. If the
-- writer comes first, the batch skips the family (LOCKED). The writer's own innodb_lock_wait_timeout limits how long it waits.
-- Creating a trigger waits for the writers of its table, and they wait for it: this long at most.
--# set lock_wait_timeout
SET SESSION lock_wait_timeout = 5;
{% for guard in guards %}
--# grant trigger on {{ guard.table_name }}
GRANT TRIGGER ON {{ guard.table }} TO {{ owner }};
--# create trigger {{ guard.on_insert }}
CREATE TRIGGER {{ guard.on_insert }}
BEFORE INSERT ON {{ guard.table }} FOR EACH ROW
{{ <w.orphan_guard guard changes={false} /> }};

--# create trigger {{ guard.on_update }}
CREATE TRIGGER {{ guard.on_update }}
BEFORE UPDATE ON {{ guard.table }} FOR EACH ROW
{{ <w.orphan_guard guard changes={true} /> }};
{% for trigger in guard.earlier -%}
--# drop trigger {{ trigger }} of earlier versions
DROP TRIGGER IF EXISTS {{ trigger }};
{% endfor %}
{%- endfor %}
{%- for trigger in triggers %}
--# register trigger {{ trigger.name }}
REPLACE INTO {{ control }}.known_trigger (name, hash)
VALUES ({{ trigger.name }}, {{ trigger.hash }});
{%- endfor %}
