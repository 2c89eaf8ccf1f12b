//! Decodes percent-encoding as often as a careless reader would.

/// `%41`, `%u2215`, `%25…` and overlong forms decoded until nothing changes; backslashes become slashes.
pub fn percent_decoded(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..5 {
        let next = percent_once(&text);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn percent_once(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |from: usize, len: usize| {
        let digits = bytes.get(from..from + len)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let wide = matches!(bytes.get(at + 1), Some(b'u' | b'U')).then(|| hex(at + 2, 4)).flatten();
        match (bytes[at], wide) {
            (b'%', Some(code)) => {
                out.extend(folded(code).to_string().bytes());
                at += 6;
            }
            (b'%', None) => match hex(at + 1, 2) {
                // Overlong UTF-8 and best-fit forms of slash, backslash and dot.
                Some(0xc0 | 0xc1) if bytes.get(at + 3) == Some(&b'%') => {
                    out.push(if matches!(hex(at + 4, 2), Some(0xae | 0x2e)) { b'.' } else { b'/' });
                    at += 6;
                }
                Some(code) => {
                    out.push(code as u8);
                    at += 3;
                }
                None => {
                    out.push(b'%');
                    at += 1;
                }
            },
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Characters that some file system or server folds to a slash or a dot.
fn folded(code: u32) -> char {
    match code {
        0x2215 | 0x2216 | 0xff0f | 0xff3c | 0xf025 | 0x2044 => '/',
        0xff0e | 0x2024 => '.',
        _ => char::from_u32(code).unwrap_or('\u{fffd}'),
    }
}
