{{ session }}

-- What the kernel knows of the rules.
{% for rule in rules -%}
--# register rule {{ rule.name }}
CALL {{ control }}.register_rule({{ loop.index }}, {{ rule.document }});
{% endfor -%}
