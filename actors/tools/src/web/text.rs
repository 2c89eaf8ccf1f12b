//! A page's content as plain text.

/// What there is to read in a body; none when it is no text.
pub(super) fn of(body: &[u8], content_type: &str) -> Option<String> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
    let is_text = kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind.as_str(),
            "application/json" | "application/xml" | "application/javascript" | "application/yaml"
        );
    if !is_text && (!kind.is_empty() || body.contains(&0)) {
        return None;
    }
    let raw = decoded(body, content_type);
    let is_page = kind.contains("html") || (kind.is_empty() && raw.trim_start().starts_with('<'));
    Some(if is_page { tidy(&nanohtml2text::html2text(&raw)) } else { raw })
}

/// The title of a page.
pub(super) fn title(body: &[u8], content_type: &str) -> Option<String> {
    if !content_type.to_lowercase().contains("html") {
        return None;
    }
    let raw = decoded(body, content_type);
    // Lower-casing by ASCII keeps every position.
    let small = raw.to_ascii_lowercase();
    let start = small.find("<title")?;
    let start = start + small[start..].find('>')? + 1;
    let end = start + small[start..].find("</title")?;
    let title = tidy(&nanohtml2text::html2text(&raw[start..end]));
    (!title.is_empty()).then_some(title)
}

fn decoded(body: &[u8], content_type: &str) -> String {
    let named = content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    let encoding = named.and_then(|name| encoding_rs::Encoding::for_label(name.as_bytes()));
    encoding.unwrap_or(encoding_rs::UTF_8).decode(body).0.into_owned()
}

/// No line ends in blanks, and no more than one empty line follows another.
fn tidy(text: &str) -> String {
    let mut tidied = String::new();
    let mut empty = 0;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidied.push_str(line);
            tidied.push('\n');
        }
    }
    tidied.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_without_its_scripts_and_styles() {
        let page =
            b"<html><head><title>Tides &amp; moons</title><style>p{}</style></head><body><script>evil()</script>\
            <h1>Tides</h1><p>High at   noon.</p><p>Low at six.</p></body></html>";
        let kind = "text/html; charset=utf-8";
        let text = of(page, kind).expect("text");
        assert!(text.contains("Tides") && text.contains("High at") && text.contains("Low at six."), "{text}");
        assert!(!text.contains("evil") && !text.contains("p{}"), "{text}");
        assert_eq!(title(page, kind).as_deref(), Some("Tides & moons"));
    }

    #[test]
    fn other_text_is_as_it_is_in_its_own_charset_and_bytes_are_none() {
        assert_eq!(of(b"{\"a\": 1}", "application/json").as_deref(), Some("{\"a\": 1}"));
        assert_eq!(of(b"caf\xe9", "text/plain; charset=iso-8859-1").as_deref(), Some("caf\u{e9}"));
        assert_eq!(of(b"\x89PNG\0", "image/png"), None);
        assert_eq!(of(b"\0\0", ""), None);
        assert_eq!(of(b"plain", "").as_deref(), Some("plain"));
    }
}
