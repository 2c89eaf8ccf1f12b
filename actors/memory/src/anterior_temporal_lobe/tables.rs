//! Tables of a text: each row becomes a sentence with each cell's heading, so that a row can be found by itself. The
//! strokes between the cells stay: a row is no statement and defines nothing.

/// Minimum number of consecutive rows in a table; a single line may only quote a stroke.
const FEWEST: usize = 2;

/// The text with its tables as sentences, one line each.
pub fn in_sentences(block: &str) -> String {
    let lines: Vec<&str> = block.lines().collect();
    let mut worded = Vec::with_capacity(lines.len());
    for run in lines.chunk_by(|a, b| is_row(a) == is_row(b)) {
        match run {
            [first, ..] if is_row(first) && run.len() >= FEWEST => worded.extend(sentences(run)),
            _ => worded.extend(run.iter().map(|line| (*line).to_owned())),
        }
    }
    worded.join("\n")
}

fn is_row(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with('|') && line.len() > 1) || line.contains(" | ")
}

/// The line between the headings and the rest: "|---|:--:|".
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

fn sentences(rows: &[&str]) -> Vec<String> {
    let (headings, rows) = match rows {
        [headings, rule, rows @ ..] if is_rule(rule) => (cells(headings), rows),
        rows => (Vec::new(), rows),
    };
    let cell = |(at, cell): (usize, &str)| match headings.get(at) {
        Some(heading) if !heading.is_empty() => format!("{heading}: {cell}"),
        _ => cell.to_owned(),
    };
    let sentence = |row: &&str| {
        let told = cells(row).into_iter().enumerate().filter(|(_, cell)| !cell.is_empty()).map(cell);
        let told = told.collect::<Vec<_>>().join(" | ");
        if told.ends_with(['.', '!', '?']) { told } else { format!("{told}.") }
    };
    rows.iter().filter(|row| !is_rule(row)).map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_says_what_its_cells_are() {
        let table = "Towns by the sea:\n| City | People | |\n|---|--:|---|\n| Kiel | 247000 | a port |\n| Binz | | |";
        let told = "Towns by the sea:\nCity: Kiel | People: 247000 | a port.\nCity: Binz.";
        assert_eq!(in_sentences(table), told);
        assert_eq!(in_sentences("Kiel | 247000\nBinz | 5100"), "Kiel | 247000.\nBinz | 5100.");
    }

    #[test]
    fn a_stroke_alone_makes_no_table() {
        for text in ["Run `ls | wc`.\nThen look.", "a || b", "|", "one | two"] {
            assert_eq!(in_sentences(text), text);
        }
    }
}
