//! Partitions that are made in advance.

mod innodb;
mod keys;
pub(crate) mod layout;
mod postgres;

use self::keys::{
    a_key_to_the_same_partition_goes_to_the_new_one,
    tables_of_a_rule_get_partitions_with_their_keys,
    what_refers_to_a_partition_that_cannot_be_made_is_not_made,
};
use self::postgres::{
    a_big_default_partition_is_in_the_way, a_run_makes_what_the_model_says,
    a_run_that_cannot_make_partitions_drops_and_ends_red,
    others_that_have_the_table_are_waited_for_and_then_passed_over,
    pg_partman_makes_partitions_and_windrow_drops_them, two_workers_make_what_one_would,
    what_only_a_neighbour_has_is_copied_or_in_the_way,
};
use crate::harness::tests;

tests! {
    mysql_or_mariadb: [
        innodb::a_run_makes_what_the_model_says,
        innodb::others_that_have_the_table_are_waited_for_and_then_passed_over,
        innodb::numbers_go_on_when_partitions_are_made,
        innodb::two_workers_make_what_one_would,
    ],
    on_postgres: [
        a_run_makes_what_the_model_says,
        what_only_a_neighbour_has_is_copied_or_in_the_way,
        others_that_have_the_table_are_waited_for_and_then_passed_over,
        a_run_that_cannot_make_partitions_drops_and_ends_red,
        a_big_default_partition_is_in_the_way,
        two_workers_make_what_one_would,
        tables_of_a_rule_get_partitions_with_their_keys,
        what_refers_to_a_partition_that_cannot_be_made_is_not_made,
        a_key_to_the_same_partition_goes_to_the_new_one,
        pg_partman_makes_partitions_and_windrow_drops_them,
    ],
}
