//! Where in a reply the JSON stands: in fences, beside prose, cut off, or nowhere.

use serde_json::Value as Json;

use super::action::is_action;
use super::repair::{Read, Repair, Separation, Unreadable};
use super::{Reading, scan};

/// Places in a text at which a whole object is looked for, at most.
const LOOKS: usize = 200;
/// A reply as one long string of JSON inside of JSON.
const WRAPPINGS: usize = 3;

/// An object that was encoded as text, as often as it was.
pub(super) fn unwrapped(value: Json) -> (Json, bool) {
    let mut value = value;
    for wrapping in 0..WRAPPINGS {
        let inner = value.as_str().map(str::trim).filter(|text| text.starts_with(['{', '[', '"']));
        let inner = inner.and_then(|text| serde_json::from_str::<Json>(text).ok());
        match inner {
            Some(inner @ (Json::Object(_) | Json::String(_))) => value = inner,
            Some(inner @ Json::Array(_)) if inner.as_array().is_some_and(|items| items.iter().all(Json::is_object)) => {
                value = inner;
            }
            _ => return (value, wrapping > 0),
        }
    }
    (value, true)
}

/// Without what a reasoning model thought aloud before its answer.
pub(super) fn after_thinking(text: &str) -> &str {
    let tags = ["</think>", "</thinking>", "</reasoning>"];
    let end = tags.iter().filter_map(|tag| text.rfind(tag).map(|at| at + tag.len())).max();
    match end {
        // A tag inside of JSON is part of it.
        Some(end) if !text.starts_with(['{', '[', '"']) => {
            let answer = text[end..].trim();
            if answer.is_empty() { text } else { answer }
        }
        _ => text,
    }
}

/// What [`super::read_json`] does with a text that isn't JSON as it stands.
pub(super) fn found(text: &str) -> Read<Reading> {
    if text.is_empty() {
        return Err(Unreadable::Empty);
    }
    let read = |value| Reading { value: unwrapped(value).0, repaired: true, bare: false };
    if let Ok(value) = serde_json::from_str::<Json>(text) {
        return Ok(read(value));
    }
    if let Some(value) = fenced(text) {
        return Ok(read(value));
    }
    if let Some(plain) = unescaped(text) {
        let chars: Vec<char> = plain.chars().collect();
        if let Ok(value) = serde_json::from_str(&plain).or_else(|_| repaired(&chars)) {
            return Ok(read(value));
        }
    }
    if begins_like_json(text) {
        let chars: Vec<char> = text.chars().collect();
        let value = repaired(&chars);
        // A whole action wins over what can be made of the rest.
        let told = value.as_ref().is_ok_and(|value| is_action(value) || !text.contains("\"tool_name\""));
        return match whole(text).into_iter().find(is_action).filter(|_| !told) {
            Some(action) if !value.as_ref().is_ok_and(holds_action) => Ok(read(action)),
            _ => value.map(read),
        };
    }
    let objects = whole(text);
    if !objects.is_empty() {
        // What is whole may be a part of something broken, which is meant then.
        if let Ok(Some(outer @ Json::Object(_))) = broken_off(text)
            && objects.iter().all(|object| is_inside(object, &outer))
        {
            return Ok(read(outer));
        }
        return Ok(read(several(objects.into_iter().map(|value| (value, Separation::Line)).collect())?));
    }
    broken_off(text)?.map_or_else(|| bare(text), |value| Ok(read(value)))
}

/// An action inside, one level down: `{"thoughts": …, "action": {…}}`.
fn holds_action(value: &Json) -> bool {
    value.as_object().is_some_and(|members| members.values().any(is_action))
}

fn begins_like_json(text: &str) -> bool {
    let begins = |c: char| matches!(c, '{' | '[' | '(' | '\\' | '/' | '`') || scan::Quote::of(c).is_some();
    text.starts_with(begins) || calls(text) || text.starts_with(']') || text.starts_with('}')
}

/// `callback({…});`, `NumberLong("2")`.
fn calls(text: &str) -> bool {
    let name = text.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$')).count();
    let closed = text.trim_end_matches([';', ' ', '\n']).ends_with(')');
    name > 0
        && closed
        && text[name..].starts_with('(')
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Repairs a text that is JSON from its beginning.
pub(super) fn repaired(text: &[char]) -> Read<Json> {
    several(Repair::new(text).all()?)
}

/// What several values are together: the first action; else those that aren't empty, a later one of the same shape in
/// place of the earlier where nothing separates them.
fn several(values: Vec<(Json, Separation)>) -> Read<Json> {
    if let Some((action, _)) = values.iter().find(|(value, _)| is_action(value)) {
        return Ok(action.clone());
    }
    let is_empty = |value: &Json| match value {
        Json::Object(members) => members.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    let lines = values.iter().skip(1).all(|(_, separation)| *separation == Separation::Line);
    let count = values.len();
    let mut kept: Vec<Json> = Vec::new();
    for (place, (value, separation)) in values.into_iter().enumerate() {
        if place > 0 && !lines {
            if separation == Separation::None
                && value.is_object()
                && is_empty(&value)
                && kept.last().is_some_and(|last| !is_empty(last))
            {
                // Two objects run into each other, and which is meant can't be told.
                return Err(Unreadable::Surplus { at: place, found: value.to_string() });
            }
            if is_empty(&value) {
                continue;
            }
            let apart = matches!(separation, Separation::Comma | Separation::Line);
            let replaced = kept.last().is_some_and(|last| is_empty(last) || !apart && shape(last) == shape(&value));
            if replaced {
                kept.pop();
            }
        }
        kept.push(value);
    }
    match (kept.len(), count) {
        (0, _) => Err(Unreadable::Empty),
        (1, _) => Ok(kept.remove(0)),
        _ => Ok(Json::Array(kept)),
    }
}

/// Keys and kinds, without values.
fn shape(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let fields: Vec<String> = members.iter().map(|(key, value)| format!("{key:?}:{}", shape(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(",")),
        Json::String(_) => "s".into(),
        Json::Number(_) => "n".into(),
        Json::Bool(_) => "b".into(),
        Json::Null => "0".into(),
    }
}

/// What stands in fences, when the reply is prose or nothing around them.
fn fenced(text: &str) -> Option<Json> {
    let first = text.find("```")?;
    let before = text[..first].trim();
    if !before.is_empty() && before.contains(['{', '[', '"']) && !matches!(before, "{" | "[") {
        return None;
    }
    let mut values = Vec::new();
    let mut rest = &text[first..];
    while let Some(start) = rest.find("```") {
        let inside = rest[start..].trim_start_matches('`');
        let language = inside.chars().take_while(|c| c.is_alphanumeric()).collect::<String>();
        let tagged = language.to_lowercase().starts_with("json");
        let content = if tagged || inside[language.len()..].starts_with(['\n', '\r']) {
            &inside[language.len()..]
        } else {
            inside
        };
        // A whole value may hold fences itself.
        let mut stream = serde_json::Deserializer::from_str(content).into_iter::<Json>();
        if let Some(Ok(value @ (Json::Object(_) | Json::Array(_)))) = stream.next() {
            let behind = &content[stream.byte_offset()..];
            values.push((value, Separation::Space));
            rest = behind.find("```").map_or("", |end| behind[end..].trim_start_matches('`'));
            continue;
        }
        let end = content.find("\n```").or_else(|| content.find("```")).unwrap_or(content.len());
        let block = content[..end].trim();
        rest = content[end..].trim_start().trim_start_matches('`');
        if block.starts_with(['{', '[']) || (tagged && !block.is_empty()) {
            let chars: Vec<char> = block.chars().collect();
            values.push((repaired(&chars).ok()?, Separation::Space));
        }
    }
    if values.is_empty() { None } else { several(values).ok() }
}

/// A text of which every mark is escaped, as it was before.
fn unescaped(text: &str) -> Option<String> {
    let quote = text.find('"')?;
    if !text[..quote].ends_with('\\') || text[..quote].contains('\'') {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some(c @ ('"' | '\\' | '/')) => plain.push(c),
                Some(c) => plain.extend(['\\', c]),
                None => {}
            },
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Whole objects, and arrays of objects, wherever they stand.
fn whole(text: &str) -> Vec<Json> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..LOOKS {
        let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) else { break };
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Json>();
        from = match stream.next() {
            Some(Ok(value)) => {
                let end = start + stream.byte_offset();
                let objects = |items: &[Json]| !items.is_empty() && items.iter().all(Json::is_object);
                // A list at the end of a sentence that announces it; elsewhere brackets are marks of prose.
                let announced = text[..start].trim_end().ends_with(':') && text[end..].trim().len() < 2;
                if value.is_object() || value.as_array().is_some_and(|items| announced || objects(items)) {
                    found.push(value);
                }
                end
            }
            _ => start + 1,
        };
    }
    found
}

/// Whether a value stands somewhere below another.
fn is_inside(part: &Json, whole: &Json) -> bool {
    let is_or_holds = |value: &Json| value == part || is_inside(part, value);
    match whole {
        Json::Object(members) => members.values().any(is_or_holds),
        Json::Array(items) => items.iter().any(is_or_holds),
        _ => false,
    }
}

/// An object that begins in the middle of prose and isn't whole.
fn broken_off(text: &str) -> Read<Option<Json>> {
    let Some(start) = text.find(['{', '[']) else { return Ok(None) };
    if text[start + 1..].trim().is_empty() {
        return Err(Unreadable::Surplus { at: start, found: text[start..].into() });
    }
    for (at, _) in text.match_indices('{').take(LOOKS) {
        let chars: Vec<char> = text[at..].chars().collect();
        if let Ok(value) = repaired(&chars) {
            let object = value.as_object().is_some_and(|members| members.values().any(|value| !value.is_null()));
            if object || value.as_array().is_some_and(|items| items.iter().any(Json::is_object)) {
                return Ok(Some(value));
            }
        }
    }
    Ok(None)
}

/// A reply without any JSON: a number, a list of single words, or prose.
fn bare(text: &str) -> Read<Reading> {
    let parts: Vec<&str> = text.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect();
    let list = text.contains([',', '\n']) && parts.iter().all(|part| !part.contains(char::is_whitespace));
    let begins_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | '+'));
    let keyword = ["true", "false", "null", "True", "False", "None", "undefined"].contains(&text);
    if list || keyword || begins_number {
        let chars: Vec<char> = text.chars().collect();
        if let Ok(value) = repaired(&chars) {
            return Ok(Reading { value, repaired: true, bare: true });
        }
    }
    if let Some(at) = text.find(|c: char| c < ' ' && !matches!(c, '\n' | '\r' | '\t')) {
        let code = text[at..].chars().next().map_or(0, u32::from);
        return Err(Unreadable::Control { at, code });
    }
    Ok(Reading { value: Json::String(text.into()), repaired: true, bare: true })
}
