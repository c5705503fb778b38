-- A table that is scanned waits for every row that somebody holds: an index is always better here, however few the rows.
SET SESSION max_seeks_for_key = 1;
-- MySQL inserts into no view without derived_merge.
/*!80000 SET SESSION optimizer_switch = 'block_nested_loop=off,derived_merge=on'; */
SET SESSION optimizer_search_depth = 62;
/*M! SET SESSION join_cache_level = 0; */
