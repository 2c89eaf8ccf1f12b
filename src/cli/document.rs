//! Documents as text: plain text, Markdown and PDF. They are read here, so that a broken PDF can't harm the daemon.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Bytes of a file that are read, at most.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of text that go in one request, well below the least body limit in use.
const PART_BYTES: usize = 24 * 1024;

/// What a PDF ends with, and within how many bytes of its end readers look for it (ISO 32000-1, annex H).
const END_MARK: &[u8] = b"%%EOF";
const END: usize = 1024;

/// A document's text.
#[derive(Debug, PartialEq, Eq)]
pub struct Document {
    pub text: String,
    pub markdown: bool,
}

/// A document that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    #[error("it can't be read: {0}; name a file of text, Markdown or PDF")]
    Io(#[from] io::Error),
    #[error("it has {0} bytes; split it, at most {MOST_BYTES} are read")]
    TooLong(u64),
    #[error("it is no UTF-8 text and no PDF; convert it first")]
    NotText,
    #[error("it is a PDF that can't be read: {0}")]
    Pdf(String),
    #[error("there is no text in this PDF; a scanned one needs text recognition first")]
    NoText,
    #[error("there is no text in it")]
    Empty,
}

impl Document {
    /// Detects the format by the content. The file's extension only tells whether text is Markdown.
    ///
    /// # Errors
    /// The file is missing, too long, or neither text nor PDF.
    pub fn read(file: &Path) -> Result<Self, NotRead> {
        let length = std::fs::metadata(file)?.len();
        if length > MOST_BYTES {
            return Err(NotRead::TooLong(length));
        }
        let bytes = std::fs::read(file)?;
        if bytes.starts_with(b"%PDF-") {
            return Ok(Self { text: pdf_text(&bytes)?, markdown: false });
        }
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
        let text = String::from_utf8(bytes).map_err(|_| NotRead::NotText)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
        if text.trim().is_empty() {
            return Err(NotRead::Empty);
        }
        Ok(Self { text, markdown: ["md", "markdown", "mkd"].contains(&ending.as_str()) })
    }
}

/// The text of all pages in order, with the lines of a paragraph joined.
fn pdf_text(bytes: &[u8]) -> Result<String, NotRead> {
    let bad = |why: String| NotRead::Pdf(why);
    // A library may panic on a damaged file. Such a file counts as unreadable.
    let read = catch_unwind(AssertUnwindSafe(|| {
        let document = lopdf::Document::load_mem(bytes).map_err(|error| bad(format!("{error}; get the file again")))?;
        if document.is_encrypted() {
            return Err(bad("it is encrypted; save it without a password".into()));
        }
        let pages: Vec<u32> = document.get_pages().into_keys().collect();
        let texts = pages.iter().map(|page| document.extract_text(&[*page]).map_err(|error| bad(error.to_string())));
        texts.collect::<Result<Vec<String>, NotRead>>()
    }));
    let pages = read.unwrap_or_else(|_| Err(bad("its structure is broken".into())))?;
    let text = pages.iter().map(|page| paragraphs(page)).collect::<Vec<_>>().join("\n\n");
    if !text.trim().is_empty() {
        return Ok(text);
    }
    // A truncated file may be repaired so far that it looks like a PDF of pictures only.
    let is_whole = bytes[bytes.len().saturating_sub(END)..].windows(END_MARK.len()).any(|at| at == END_MARK);
    Err(if is_whole { NotRead::NoText } else { bad("it is cut short: its end is missing; get the file again".into()) })
}

/// Joins the lines of a page to paragraphs, which end at blank lines. A hyphen at a line's end is removed when the next
/// line begins with a lowercase letter.
fn paragraphs(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for line in page.lines().map(str::trim) {
        if line.is_empty() {
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push_str("\n\n");
            }
        } else if let Some(begun) = text.strip_suffix('-').filter(|_| line.starts_with(char::is_lowercase)) {
            text.truncate(begun.len());
            text.push_str(line);
        } else {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push(' ');
            }
            text.push_str(line);
        }
    }
    text
}

/// A text in parts of whole paragraphs, each small enough for one request.
pub fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        for piece in pieces(paragraph) {
            match parts.last_mut() {
                // A heading stays with what follows: a part begins where a paragraph does.
                Some(part) if part.len() + piece.len() < PART_BYTES => {
                    part.push_str("\n\n");
                    part.push_str(piece);
                }
                _ => parts.push(piece.to_owned()),
            }
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Cuts a paragraph beyond the bound at blanks.
fn pieces(paragraph: &str) -> Vec<&str> {
    let (mut rest, mut pieces) = (paragraph, Vec::new());
    while rest.len() > PART_BYTES {
        let mut end = PART_BYTES;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let cut = rest[..end].rfind(' ').filter(|cut| *cut > 0).unwrap_or(end);
        pieces.push(&rest[..cut]);
        rest = rest[cut..].trim_start();
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopdf::content::{Content, Operation};
    use lopdf::{Object, Stream, dictionary};

    /// A PDF of one page with these lines.
    fn pdf(lines: &[&str]) -> Vec<u8> {
        let mut document = lopdf::Document::with_version("1.5");
        let pages = document.new_object_id();
        let font = document.add_object(dictionary! {
            "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => "WinAnsiEncoding",
        });
        let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
        let mut operations = vec![
            Operation::new("BT", vec![]),
            Operation::new("Tf", vec!["F1".into(), 12.into()]),
            Operation::new("TL", vec![14.into()]),
            Operation::new("Td", vec![50.into(), 700.into()]),
        ];
        for line in lines {
            operations.push(Operation::new("Tj", vec![Object::string_literal(*line)]));
            operations.push(Operation::new("T*", vec![]));
        }
        operations.push(Operation::new("ET", vec![]));
        let content = Content { operations }.encode().expect("a content stream");
        let content = document.add_object(Stream::new(dictionary! {}, content));
        let page = document.add_object(dictionary! { "Type" => "Page", "Parent" => pages, "Contents" => content });
        let tree = dictionary! {
            "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1, "Resources" => resources,
            "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
        };
        document.objects.insert(pages, Object::Dictionary(tree));
        let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
        document.trailer.set("Root", catalog);
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).expect("written");
        bytes
    }

    #[test]
    fn the_words_of_a_pdf_are_read_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mug.pdf");
        std::fs::write(&file, pdf(&["A mug is a con-", "tainer. It holds", "coffee."])).expect("written");
        let document = Document::read(&file).expect("a PDF");
        let words = document.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words, "A mug is a container. It holds coffee.");
    }

    #[test]
    fn a_broken_pdf_and_what_is_no_text_are_refused_with_the_fix() {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = pdf(&["words"]);
        for (name, bytes, told) in [
            ("cut.pdf", &whole[..whole.len() / 2], "PDF"),
            ("cut_early.pdf", &whole[..whole.len() / 4], "PDF"),
            ("nothing.pdf", &b"%PDF-1.5 nothing"[..], "PDF"),
            ("binary.txt", &[0xff, 0xfe, 0x00][..], "UTF-8"),
            ("empty.md", &b" \r\n"[..], "no text"),
        ] {
            let file = folder.path().join(name);
            std::fs::write(&file, bytes).expect("written");
            let error = Document::read(&file).expect_err("unreadable").to_string();
            assert!(error.contains(told) && !error.contains("scanned"), "{name}: {error}");
        }
        let error = Document::read(&folder.path().join("missing.md")).expect_err("missing").to_string();
        assert!(error.contains("can't be read"), "{error}");
    }

    #[test]
    fn a_pdf_without_text_is_scanned_when_whole_and_else_cut() {
        let whole = pdf(&[]);
        assert!(pdf_text(&whole).expect_err("no text").to_string().contains("scanned"));
        let end = whole.windows(5).rposition(|at| at == END_MARK).expect("an end");
        assert!(pdf_text(&whole[..end]).expect_err("cut").to_string().contains("cut short"));
    }

    #[test]
    fn markdown_is_told_by_its_ending() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, markdown) in [("a.md", true), ("a.txt", false), ("a", false)] {
            let file = folder.path().join(name);
            std::fs::write(&file, "# Mug\r\n").expect("written");
            assert_eq!(Document::read(&file).expect("text"), Document { text: "# Mug\n".into(), markdown });
        }
    }

    #[test]
    fn long_texts_go_in_parts_and_lose_nothing() {
        let text = (0..3_000).map(|n| format!("Line {n} of a long text.")).collect::<Vec<_>>().join("\n\n");
        let found = parts(&text);
        assert!(found.len() > 1 && found.iter().all(|part| part.len() <= PART_BYTES));
        assert_eq!(found.join("\n\n"), text);
        let endless = "é".repeat(PART_BYTES);
        assert_eq!(parts(&endless).concat(), endless);
        assert!(parts(" \n\n ").is_empty());
    }
}
