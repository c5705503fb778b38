{{ session }}

-- drop_shadows_of_tables: a temporary table of the session that has the name of a table of the application would hide it. It reads
-- no table to know the names: where the caller has switched autocommit off, that would begin a transaction.
--# create procedure {{ control }}.drop_shadows_of_tables
CREATE PROCEDURE {{ control }}.drop_shadows_of_tables()
SQL SECURITY DEFINER
COMMENT 'Drops the temporary tables of the session that have the name of a table of the application which the routines read.'
BEGIN
{%- filter fit %}
    DROP TEMPORARY TABLE IF EXISTS
{%- for name in shadows %}
        {{ name }}{% if loop.last %};{% else %},{% endif %}
{%- endfor %}
{%- endfilter %}
END;
