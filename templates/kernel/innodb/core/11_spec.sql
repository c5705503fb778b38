-- The rules of the spec, in the order in which a run takes them.
--# register the rules
CALL register_rules(@windrow_document);
