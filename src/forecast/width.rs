//! How many bytes rows, entries of indexes and records of the logs have.

/// Which columns of a deleted row the binary log keeps (`binlog_row_image`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// All of them.
    Full,
    /// All but texts without a length and blobs that no key needs.
    NoBlob,
    /// The key.
    Minimal,
}

/// Bytes of a value of a type as the server prints it; `None` where that depends on the value.
pub fn fixed_width(kind: &str) -> Option<f64> {
    let kind = kind.to_lowercase();
    let word = kind.split(['(', ' ']).next().unwrap_or_default();
    let bytes = match word {
        "boolean" | "bool" | "tinyint" | "year" | "enum" | "bit" => 1,
        "smallint" => 2,
        "mediumint" | "date" | "time" => 3,
        "integer" | "int" | "real" => 4,
        "float" => 4,
        "bigint" | "double" | "timestamp" | "datetime" | "set" => 8,
        "uuid" => 16,
        "interval" => 16,
        _ => return None,
    };
    Some(f64::from(bytes))
}

/// Bytes of an entry of a B-tree of PostgreSQL, of columns that have so many together, with its share of the pages.
///
/// Equal values are stored once from version 13 on, so that an index on few values is smaller.
pub fn index_entry(columns: f64, innodb_key: Option<f64>) -> f64 {
    match innodb_key {
        // A pointer, a header, values in steps of eight bytes; pages are filled to nine tenths.
        None => (4.0 + 8.0 + (columns / 8.0).ceil() * 8.0) / 0.9,
        // The values, those of the primary key, a header; a sixteenth of a page is left free.
        Some(key) => (columns + key + 6.0) / (15.0 / 16.0),
    }
}

/// Bytes of WAL for deleted rows on so many pages: a record for each row, and the image of a page that is changed for the
/// first time after a checkpoint, where `full_page_writes` is on.
pub fn wal(rows: f64, pages: f64, images: bool) -> f64 {
    rows * 56.0 + if images { pages * 8_192.0 } else { 0.0 }
}

/// Bytes of a deleted row in the binary log: what `image` keeps of its columns, each with the bytes of a value and whether
/// it is a text or a blob without a length, and of those of its key.
pub fn binlog_row(image: Image, columns: &[(f64, bool)], key: f64) -> f64 {
    let kept = |large: bool| match image {
        Image::Full => true,
        Image::NoBlob => !large,
        Image::Minimal => false,
    };
    match image {
        Image::Minimal => key + 1.0,
        _ => {
            let values = columns.iter().filter(|(_, large)| kept(*large));
            values.map(|(bytes, _)| bytes).sum::<f64>() + (columns.len() as f64 / 8.0).ceil()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_width() {
        let widths = [
            "bigint",
            "int unsigned",
            "timestamp without time zone",
            "datetime(6)",
            "tinyint(1)",
            "varchar(64)",
            "jsonb",
        ]
        .map(fixed_width);
        let known = [8.0, 4.0, 8.0, 8.0, 1.0].map(Some);
        assert_eq!(widths[..5], known);
        assert_eq!(widths[5..], [None, None]);
    }

    #[test]
    fn the_image_decides_what_is_logged() {
        let columns = [(8.0, false), (20.0, false), (1_000.0, true)];
        let row = |image| binlog_row(image, &columns, 8.0);
        assert_eq!(
            [Image::Full, Image::NoBlob, Image::Minimal].map(row),
            [1_029.0, 29.0, 9.0]
        );
        assert_eq!(wal(100.0, 2.0, true), 5_600.0 + 16_384.0);
        assert_eq!(wal(100.0, 2.0, false), 5_600.0);
        assert_eq!(index_entry(9.0, Some(8.0)).round(), 25.0);
        assert_eq!(index_entry(9.0, None).round(), 31.0);
    }
}
