//! The forms of an English verb, to recognise "did you write", "if you ran", "after deleting".

use std::sync::LazyLock;

use crate::word_list::word_lists;

word_lists! {
    "irregular_verbs.txt";
    LINES = "irregular verbs";
}

/// Irregular verbs: base, past and participle.
static IRREGULAR: LazyLock<Vec<[&str; 3]>> = LazyLock::new(|| {
    let forms = LINES.iter().map(|line| line.split(' ').collect::<Vec<_>>());
    forms.filter_map(|forms| forms.try_into().ok()).collect()
});

/// The base of an irregular past or participle. Other words stay as they are.
pub(crate) fn base(word: &str) -> &str {
    let known = IRREGULAR.iter().find(|[_, past, participle]| *past == word || *participle == word);
    known.map_or(word, |[base, ..]| base)
}

/// All forms of a verb, the base first. In a verb of several words ("look at") the first is inflected. For recognition it
/// may hold a spelling too many (doubled and single consonant), never one too few for a regular verb.
pub(crate) fn forms(verb: &str) -> Vec<String> {
    let (head, tail) = verb.split_once(' ').map_or((verb, ""), |(head, tail)| (head, tail));
    let mut heads = vec![head.to_owned()];
    match head.chars().last() {
        None => return heads,
        Some('e') => {
            let stem = &head[..head.len() - 1];
            heads.extend([format!("{head}s"), format!("{head}d"), format!("{stem}ing")]);
        }
        Some('y') => {
            let stem = &head[..head.len() - 1];
            heads.extend(["s", "ed", "ing"].map(|end| format!("{head}{end}")));
            heads.extend(["ies", "ied"].map(|end| format!("{stem}{end}")));
        }
        Some(last) => {
            heads.extend(["s", "es", "ed", "ing"].map(|end| format!("{head}{end}")));
            if !"aeiouwx".contains(last) {
                heads.extend(["ed", "ing"].map(|end| format!("{head}{last}{end}")));
            }
        }
    }
    if let Some([_, past, participle]) = IRREGULAR.iter().find(|[base, ..]| *base == head) {
        heads.extend([(*past).to_owned(), (*participle).to_owned()]);
    }
    if tail.is_empty() { heads } else { heads.into_iter().map(|form| format!("{form} {tail}")).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_three_forms() {
        assert_eq!(IRREGULAR.len(), LINES.len());
        assert!(IRREGULAR.len() > 50);
    }

    #[test]
    fn regular_and_irregular_verbs_have_their_forms() {
        for (verb, form) in [
            ("run", "ran"),
            ("run", "running"),
            ("write", "written"),
            ("write", "writing"),
            ("delete", "deleted"),
            ("copy", "copied"),
            ("look at", "looked at"),
            ("dim", "dimmed"),
        ] {
            assert!(forms(verb).iter().any(|known| known == form), "{form} of {verb}");
        }
        assert_eq!(forms("")[0], "");
    }
}
