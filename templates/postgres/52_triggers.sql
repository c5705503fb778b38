-- Creating a trigger waits for the writers of its table, and they wait for it: this long at most.
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
--# become who installs
RESET ROLE;
{% for guard in guards %}
--# create trigger on {{ guard.table_name }}
CREATE OR REPLACE TRIGGER {{ guard.trigger }}
    AFTER INSERT OR UPDATE OF {{ guard.columns }} ON {{ guard.table }}
    FOR EACH ROW EXECUTE FUNCTION {{ control }}.{{ guard.function }}();
{% endfor %}