//! A server's answer as a tool's outcome: outside text, bounded.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value as Json, json};

use maxim_tools::{ErrorKind, ToolFailure, ToolOutcome};

/// Bytes of a failure's text that are shown, from its end.
const TOLD: usize = 2_000;

/// `{"from": the server, "text", "structured"?, "cut"?}`, at most about `cap` bytes.
pub(super) fn outcome(server: &str, tool: &str, result: &CallToolResult, cap: usize) -> ToolOutcome {
    let text = result.content.iter().map(said).collect::<Vec<_>>().join("\n");
    if result.is_error == Some(true) {
        let shown = &text[..text.floor_char_boundary(TOLD.min(text.len()))];
        let message = format!("the server {server} says that {tool} failed: {shown}");
        return ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, message));
    }
    let mut output = json!({ "from": format!("the tool server {server}") });
    let mut cut = Vec::new();
    let structured = result.structured_content.as_ref().map(|value| (value, value.to_string().len()));
    let room = match structured {
        Some((value, size)) if size <= cap => {
            output["structured"] = value.clone();
            cap - size
        }
        Some((_, size)) => {
            cut.push(format!("a structured result of {size} bytes is left out"));
            cap
        }
        None => cap,
    };
    // Servers also give the structured result as text, for clients that read only text.
    let is_same = structured.is_some_and(|(value, size)| {
        size <= cap && serde_json::from_str::<Json>(&text).is_ok_and(|text| text == *value)
    });
    if !is_same {
        let end = text.floor_char_boundary(room.min(text.len()));
        if end < text.len() {
            cut.push(format!("{} bytes of text are left out", text.len() - end));
        }
        output["text"] = text[..end].into();
    }
    if !cut.is_empty() {
        output["cut"] = cut.join("; ").into();
    }
    ToolOutcome::done(output)
}

fn said(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[an image, {}, {} bytes]", image.mime_type, bytes(&image.data)),
        ContentBlock::Audio(audio) => format!("[a sound, {}, {} bytes]", audio.mime_type, bytes(&audio.data)),
        ContentBlock::ResourceLink(link) => format!("[a resource: {}, {}]", link.name, link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[the resource {uri}:]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[the resource {uri}, {} bytes]", bytes(blob))
            }
            _ => "[a resource of a kind that isn't known here]".to_owned(),
        },
        _ => "[something of a kind that isn't known here]".to_owned(),
    }
}

/// Number of bytes encoded as base64.
fn bytes(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(value: Json) -> CallToolResult {
        serde_json::from_value(value).expect("a result")
    }

    #[test]
    fn what_a_server_says_is_labelled_and_bounded() {
        let two = json!({"content": [{"type": "text", "text": "one"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]});
        let told = outcome("sums", "add", &result(two), 1000);
        assert!(told.success);
        assert_eq!(told.output, json!({"from": "the tool server sums", "text": "one\n[an image, image/png, 3 bytes]"}));
        let long = json!({"content": [{"type": "text", "text": "é".repeat(1000)}]});
        let told = outcome("sums", "add", &result(long), 101).output;
        assert_eq!(told["text"].as_str().expect("text").len(), 100, "cut between characters");
        assert_eq!(told["cut"], "1900 bytes of text are left out");
    }

    #[test]
    fn a_structured_result_is_given_once_and_one_that_is_too_big_is_told() {
        let both = json!({"content": [{"type": "text", "text": "{\"sum\": 3}"}], "structuredContent": {"sum": 3}});
        let told = outcome("sums", "add", &result(both.clone()), 1000).output;
        assert_eq!(told, json!({"from": "the tool server sums", "structured": {"sum": 3}}));
        let told = outcome("sums", "add", &result(both), 5).output;
        assert!(told.get("structured").is_none() && told["cut"].as_str().expect("told").contains("9 bytes"), "{told}");
    }

    #[test]
    fn what_failed_there_failed_here() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        let told = outcome("files", "read", &result(failed), 1000);
        assert_eq!((told.success, told.error_kind), (false, Some(ErrorKind::Failed)));
        assert_eq!(told.error.as_deref(), Some("the server files says that read failed: no such file"));
    }
}
