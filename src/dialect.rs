//! What differs between the servers, and how a value is written for each: the only file that names `sea_query`.

use schemars::JsonSchema;
use sea_query::{
    Alias, Expr, IntoIden, MysqlQueryBuilder, PostgresQueryBuilder, QueryBuilder, QuotedBuilder,
    SimpleExpr,
};
use serde::Deserialize;

use crate::column::{Condition, Epoch, Kind, Literal, Test};

/// The servers that windrow generates for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// PostgreSQL 14 and later.
    #[default]
    Postgres,
    /// MySQL 8.0.21 and later.
    Mysql,
    /// MariaDB 10.6 and later: the SQL of MySQL, but for the few things that this server has of its own.
    Mariadb,
}

/// All dialects, in the order in which they are generated.
pub const DIALECTS: &[Dialect] = &[Dialect::Postgres, Dialect::Mysql, Dialect::Mariadb];

/// What a DBA wants to know of a dialect: plain values, no behaviour.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Folder below `generated/<spec>/`.
    pub folder: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Folder of the templates; MySQL and MariaDB share one.
    pub templates: &'static str,
    /// Longest identifier, in bytes.
    pub identifier_bytes: usize,
    /// Longest name of a role, in bytes.
    pub role_bytes: usize,
    /// Oldest version that the generated SQL is made for: major, minor, patch.
    pub minimum_version: (u32, u32, u32),
    /// What starts the scheduled run.
    pub scheduler: &'static str,
    /// Whether the application's tables are in a schema of the same database, or in another database.
    pub has_schemas: bool,
    /// Whether an index may cover the rows of a condition only.
    pub partial_indexes: bool,
}

impl Dialect {
    /// The facts of this dialect.
    pub const fn facts(self) -> Facts {
        match self {
            Dialect::Postgres => Facts {
                folder: "postgres",
                title: "PostgreSQL",
                templates: "postgres",
                identifier_bytes: 63,
                role_bytes: 63,
                minimum_version: (14, 0, 0),
                scheduler: "pg_cron",
                has_schemas: true,
                partial_indexes: true,
            },
            Dialect::Mysql => Facts {
                folder: "mysql",
                title: "MySQL",
                templates: "mysql",
                identifier_bytes: 64,
                role_bytes: 32,
                // JSON_VALUE.
                minimum_version: (8, 0, 21),
                scheduler: "EVENT",
                has_schemas: false,
                partial_indexes: false,
            },
            Dialect::Mariadb => Facts {
                folder: "mariadb",
                title: "MariaDB",
                templates: "mysql",
                identifier_bytes: 64,
                // It would take 80: the files for the two servers differ only where they must.
                role_bytes: 32,
                minimum_version: (10, 6, 0),
                scheduler: "EVENT",
                has_schemas: false,
                partial_indexes: false,
            },
        }
    }

    /// A quoted identifier.
    pub fn ident(self, name: &str) -> String {
        let mut text = String::new();
        match self {
            Dialect::Postgres => {
                PostgresQueryBuilder.prepare_iden(&Alias::new(name).into_iden(), &mut text)
            }
            Dialect::Mysql | Dialect::Mariadb => {
                MysqlQueryBuilder.prepare_iden(&Alias::new(name).into_iden(), &mut text)
            }
        }
        text
    }

    /// The name of an identifier that may be quoted: the reverse of [`Dialect::ident`].
    pub fn bare(self, ident: &str) -> String {
        let quote = match self {
            Dialect::Postgres => '"',
            Dialect::Mysql | Dialect::Mariadb => '`',
        };
        match ident
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            Some(quoted) => quoted.replace(&format!("{quote}{quote}"), &quote.to_string()),
            None => ident.to_owned(),
        }
    }

    /// A quoted identifier with its schema.
    pub fn qualified(self, schema: &str, name: &str) -> String {
        format!("{}.{}", self.ident(schema), self.ident(name))
    }

    /// A text literal. MySQL and MariaDB read backslashes in it, unless the session says NO_BACKSLASH_ESCAPES: every
    /// generated file sets the mode.
    ///
    /// A quote in it is doubled: migration runners that take a file apart do not all know that a backslash can precede one.
    pub fn text(self, value: &str) -> String {
        let written = self.expression(Expr::val(value));
        let mut text = String::with_capacity(written.len());
        let mut signs = written.chars();
        while let Some(sign) = signs.next() {
            let escaped = if sign == '\\' { signs.next() } else { None };
            match escaped {
                Some('\'') => text.push_str("''"),
                escaped => text.extend([sign].into_iter().chain(escaped)),
            }
        }
        text
    }

    /// A condition on a column: one value with `=`, several with `IN`, none with `IS NULL`.
    pub fn condition(self, condition: &Condition) -> String {
        self.test(&self.ident(&condition.column.name), &condition.test)
    }

    /// The same condition on a column of the row alias `row`.
    pub fn condition_of(self, row: &str, condition: &Condition) -> String {
        let column = self.ident(&condition.column.name);
        self.test(&format!("{row}.{column}"), &condition.test)
    }

    fn test(self, column: &str, test: &Test) -> String {
        let one_of = |column: &str, values: Vec<String>| match &values[..] {
            [value] => format!("{column} = {value}"),
            values => format!("{column} IN ({})", values.join(", ")),
        };
        let literal = |value: &Literal| match value {
            Literal::Integer(number) => number.to_string(),
            Literal::Text(text) => self.text(text),
        };
        match test {
            Test::Null => format!("{column} IS NULL"),
            Test::NotNull => format!("{column} IS NOT NULL"),
            Test::Is(true) => format!("{column} = TRUE"),
            Test::Is(false) => format!("{column} = FALSE"),
            Test::OneOf(values) => one_of(column, values.iter().map(literal).collect()),
            Test::Printed(values) => {
                let printed = match self {
                    Dialect::Postgres => format!("{column}::text"),
                    Dialect::Mysql | Dialect::Mariadb => format!("CAST({column} AS char)"),
                };
                one_of(
                    &printed,
                    values.iter().map(|text| self.text(text)).collect(),
                )
            }
        }
    }

    /// Name of a column type.
    pub const fn kind(self, kind: Kind) -> &'static str {
        match self {
            Dialect::Postgres => match kind {
                Kind::Smallint => "smallint",
                Kind::Integer => "integer",
                Kind::Bigint => "bigint",
                Kind::Uuid => "uuid",
                Kind::Numeric => "numeric",
                Kind::Varchar => "text",
                // Without a length, of any: `char` alone has one character.
                Kind::Char => "bpchar",
                Kind::Bytea => "bytea",
                Kind::Timestamp => "timestamp",
                Kind::Timestamptz => "timestamptz",
            },
            Dialect::Mysql | Dialect::Mariadb => match kind {
                Kind::Smallint => "smallint",
                Kind::Integer => "int",
                Kind::Bigint => "bigint",
                Kind::Uuid => "char(36)",
                Kind::Varchar | Kind::Char => "varchar(255)",
                // No spec for these servers has them.
                Kind::Numeric => "decimal(65)",
                Kind::Bytea => "varbinary(255)",
                Kind::Timestamp | Kind::Timestamptz => "datetime(6)",
            },
        }
    }

    /// The instant that a number counts, of a column or an expression, NULL where it is not above 0; or the end of the day that a
    /// date is. What lies behind the year 9999 is as far away as its end: so it never fails, whatever an application writes.
    pub fn instant(self, value: &str, epoch: Epoch) -> String {
        // The last minute but one of the year 9999, in UTC: no server knows later years.
        let capped = |per_second: i64| 253_402_300_740 * per_second;
        match (self, epoch.per_second()) {
            (Dialect::Postgres, Some(per_second)) => {
                let least = format!("least({value}, {})", capped(per_second));
                let seconds = match per_second {
                    1 => least,
                    _ => format!("{least} / {per_second}.0"),
                };
                format!("CASE WHEN {value} > 0 THEN to_timestamp({seconds}) END")
            }
            (Dialect::Postgres, None) => {
                format!(
                    "CASE WHEN {value} IS NOT NULL THEN (least({value}, '9999-12-30'::date) + 1)::timestamp END"
                )
            }
            (Dialect::Mysql | Dialect::Mariadb, Some(per_second)) => {
                // A double is taken for the decimal that it is written as, which has the microsecond that was meant. With as many
                // digits behind the point as any decimal of the server, none of them is rounded.
                let digits = if self == Dialect::Mysql { 30 } else { 38 };
                // Not LEAST: MariaDB would make a decimal of both, and fail where one is too large.
                let cap = capped(per_second);
                let least =
                    format!("CAST(IF({value} < {cap}, {value}, {cap}) AS DECIMAL(65, {digits}))");
                let microseconds = match 1_000_000 / per_second {
                    1 => least,
                    each => format!("{least} * {each}"),
                };
                format!(
                    "IF({value} > 0, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL FLOOR({microseconds}) MICROSECOND, NULL)"
                )
            }
            (Dialect::Mysql | Dialect::Mariadb, None) => {
                format!("CAST(LEAST({value}, DATE'9999-12-30') + INTERVAL 1 DAY AS datetime(6))")
            }
        }
    }

    /// On MySQL and MariaDB: the number of an instant, to the microsecond, or the least date that says it or a later one, so that what
    /// a column has is compared as it is: what lies before the number says an earlier instant, and all else does not. That holds for
    /// whole numbers and decimals; for doubles as long as they distinguish one microsecond from the next, which they do until 2242.
    pub fn number(self, instant: &str, epoch: Epoch) -> String {
        let Some(per_second) = epoch.per_second() else {
            return format!("DATE({instant} - INTERVAL 1 MICROSECOND)");
        };
        let microseconds = format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {instant})");
        match 1_000_000 / per_second {
            1 => microseconds,
            // A product is exact; a division would keep four digits.
            1_000 => format!("{microseconds} * 0.001"),
            _ => format!("{microseconds} * 0.000001"),
        }
    }

    fn expression(self, expression: SimpleExpr) -> String {
        let mut text = String::new();
        match self {
            Dialect::Postgres => PostgresQueryBuilder.prepare_expr(&expression, &mut text),
            Dialect::Mysql | Dialect::Mariadb => {
                MysqlQueryBuilder.prepare_expr(&expression, &mut text)
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Column;

    #[test]
    fn names_and_texts_are_quoted_as_each_server_reads_them() {
        assert_eq!(Dialect::Postgres.ident("a\"b"), "\"a\"\"b\"");
        assert_eq!(Dialect::Postgres.text("it's \\"), "E'it''s \\\\'");
        for dialect in [Dialect::Mysql, Dialect::Mariadb] {
            assert_eq!(dialect.qualified("a`b", "key"), "`a``b`.`key`");
            assert_eq!(dialect.text("it's \\"), "'it''s \\\\'");
        }
    }

    #[test]
    fn conditions_name_one_value_or_several() {
        let of = |test: Test| Condition {
            column: Column {
                name: "state".to_owned(),
                kind: Kind::Integer,
            },
            test,
        };
        let condition = |values: &[i64]| {
            let values = values.iter().copied().map(Literal::Integer);
            of(Test::OneOf(values.collect()))
        };
        assert_eq!(
            DIALECTS
                .iter()
                .map(|it| it.condition_of("i", &of(Test::Is(false))))
                .collect::<Vec<_>>(),
            [
                "i.\"state\" = FALSE",
                "i.`state` = FALSE",
                "i.`state` = FALSE"
            ]
        );
        assert_eq!(
            Dialect::Mysql.condition_of("i", &of(Test::Null)),
            "i.`state` IS NULL"
        );
        assert_eq!(
            Dialect::Postgres.condition_of("i", &of(Test::NotNull)),
            "i.\"state\" IS NOT NULL"
        );
        assert_eq!(
            Dialect::Mysql.condition_of("i", &condition(&[0])),
            "i.`state` = 0"
        );
        assert_eq!(
            Dialect::Mariadb.condition_of("i", &condition(&[3, 7])),
            "i.`state` IN (3, 7)"
        );
        let printed = of(Test::Printed(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(
            DIALECTS
                .iter()
                .map(|it| it.condition_of("i", &printed))
                .collect::<Vec<_>>(),
            [
                "i.\"state\"::text IN ('a', 'b')",
                "CAST(i.`state` AS char) IN ('a', 'b')",
                "CAST(i.`state` AS char) IN ('a', 'b')"
            ]
        );
    }

    #[test]
    fn folders_are_distinct() {
        let mut folders: Vec<&str> = DIALECTS.iter().map(|it| it.facts().folder).collect();
        folders.dedup();
        assert_eq!(folders, ["postgres", "mysql", "mariadb"]);
    }
}
