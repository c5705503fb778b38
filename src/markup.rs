//! Text as HTML and SVG may hold it: what says something to a parser, or hides from a reader, is written out.

/// A text that is safe as the content of an element and between quotation marks, in HTML and in SVG.
///
/// Control characters and those that change the direction of a line, or have no width, are shown by their number: what a person
/// reads is what there is.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push('\n'),
            _ if hides(sign) => safe.extend(sign.escape_unicode()),
            _ => safe.push(sign),
        }
    }
    safe
}

/// How many characters of a fixed-width font a text takes: those that are not ASCII may be twice as wide.
pub fn width(text: &str) -> usize {
    let signs = text.chars().map(|sign| match sign {
        _ if hides(sign) => sign.escape_unicode().count(),
        ' '..='~' => 1,
        _ => 2,
    });
    signs.sum()
}

/// Whether a person would not see it, or see others elsewhere than they are.
fn hides(sign: char) -> bool {
    sign.is_control()
        || matches!(sign,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(
            escaped("\"><script>alert('&')</script>"),
            "&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"
        );
        assert_eq!(escaped("]]></style>-->"), "]]&gt;&lt;/style&gt;--&gt;");
    }

    #[test]
    fn what_hides_is_shown_by_its_number() {
        let text = "a\u{202e}b\u{0}c\u{200b}\nd\u{85}";
        assert_eq!(escaped(text), "a\\u{202e}b\\u{0}c\\u{200b}\nd\\u{85}");
        assert_eq!(escaped("grün 流程"), "grün 流程");
        assert_eq!((width("ab"), width("流"), width("\u{202e}")), (2, 2, 8));
    }
}
