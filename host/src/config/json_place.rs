//! Where a value stands in a text of JSON.

use std::ops::Range;

use super::settings::tokens;

/// Where a JSON pointer leads in a text that is JSON: a member by its key, an item by itself; or else the nearest object or
/// list around it. The whole text where that is the outermost one.
pub(super) fn place(text: &str, pointer: &str) -> Range<usize> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    scanner.skip_space();
    let mut span = scanner.at..text.trim_end().len();
    for token in tokens(pointer) {
        match scanner.enter(&token) {
            Some(found) => span = found,
            None => break,
        }
    }
    span
}

/// Moves over JSON that is known to be right; stops at the end of what is not.
struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    /// Goes to the value of a member or item of the object or list that begins here, and tells its place.
    fn enter(&mut self, token: &str) -> Option<Range<usize>> {
        match self.peek()? {
            b'{' => self.enter_object(token),
            b'[' => self.enter_list(token.parse().ok()?),
            _ => None,
        }
    }

    fn enter_object(&mut self, key: &str) -> Option<Range<usize>> {
        self.at += 1;
        let mut found = None;
        loop {
            self.skip_space();
            if self.peek()? != b'"' {
                break;
            }
            let start = self.at;
            self.skip_value();
            let span = start..self.at;
            let name: Option<String> = serde_json::from_slice(&self.text[span.clone()]).ok();
            self.skip_space();
            self.at = (self.at + 1).min(self.text.len());
            self.skip_space();
            // Of two with one name the last counts.
            if name.as_deref() == Some(key) {
                found = Some((span, self.at));
            }
            if !self.skip_item() {
                break;
            }
        }
        let (span, value) = found?;
        self.at = value;
        Some(span)
    }

    fn enter_list(&mut self, index: usize) -> Option<Range<usize>> {
        self.at += 1;
        self.skip_space();
        for _ in 0..index {
            if !self.skip_item() {
                return None;
            }
            self.skip_space();
        }
        let start = self.at;
        if self.peek()? == b']' {
            return None;
        }
        self.skip_value();
        let span = start..self.at;
        self.at = start;
        Some(span)
    }

    /// Past a value and the comma behind it; false where there is none.
    fn skip_item(&mut self) -> bool {
        self.skip_value();
        self.skip_space();
        let comma = self.peek() == Some(b',');
        self.at += usize::from(comma);
        comma
    }

    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_text(),
                b'{' | b'[' => (depth, self.at) = (depth + 1, self.at + 1),
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => (depth, self.at) = (depth - 1, self.at + 1),
                b',' if depth == 0 => return,
                byte if depth == 0 && byte.is_ascii_whitespace() => return,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_text(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at = (self.at + if byte == b'\\' { 2 } else { 1 }).min(self.text.len());
            if byte == b'"' {
                return;
            }
        }
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        { "a" : 1, "rules": [ {"kind": "x,]}\""}, [1, 22 ,{ }] , null ], "ü\"/~": { "deep": [true] }, "a": "last" }
    "#;

    fn found(pointer: &str) -> &'static str {
        &TEXT[place(TEXT, pointer)]
    }

    #[test]
    fn a_pointer_leads_to_a_key_or_an_item() {
        assert_eq!(found("/rules"), "\"rules\"");
        assert_eq!(found("/rules/0"), r#"{"kind": "x,]}\""}"#);
        assert_eq!(found("/rules/0/kind"), "\"kind\"");
        assert_eq!(found("/rules/1/1"), "22");
        assert_eq!(found("/rules/2"), "null");
        assert_eq!(found("/ü\"~1~0/deep/0"), "true");
        assert_eq!(place(TEXT, "/a").start, TEXT.rfind("\"a\"").unwrap(), "of two the last");
    }

    #[test]
    fn what_is_not_there_is_the_nearest_around_it() {
        assert_eq!(found("/rules/7/kind"), "\"rules\"");
        assert_eq!(found("/rules/0/tiers"), r#"{"kind": "x,]}\""}"#);
        assert_eq!(found("/rules/x"), "\"rules\"");
        assert_eq!(found(""), TEXT.trim());
        assert_eq!(found("/none"), TEXT.trim());
    }

    #[test]
    fn text_that_is_no_json_is_no_panic() {
        for end in (0..TEXT.len()).filter(|end| TEXT.is_char_boundary(*end)) {
            for pointer in ["/rules/1/1", "/a/b", "/ü\"~1~0/deep/0"] {
                let span = place(&TEXT[..end], pointer);
                assert!(span.start <= TEXT.len(), "{span:?}");
            }
        }
    }
}
