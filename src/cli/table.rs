//! Columns that line up.

use super::Paint;

/// How a cell's text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Poor,
    Bad,
    Faint,
}

/// One cell. Control characters are replaced, since its text may come from outside.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    tone: Tone,
    is_number: bool,
}

impl Cell {
    pub fn text(text: impl AsRef<str>) -> Self {
        Self { text: printable(text.as_ref()), tone: Tone::Plain, is_number: false }
    }

    /// Aligned to the right.
    pub fn number(text: impl ToString) -> Self {
        Self { is_number: true, ..Self::text(text.to_string()) }
    }

    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// At most `width` characters, the last an ellipsis when it was longer.
    pub fn cut(mut self, width: usize) -> Self {
        if self.text.chars().count() > width {
            self.text = self.text.chars().take(width.saturating_sub(1)).chain(['…']).collect();
        }
        self
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    fn padded(&self, width: usize, is_last: bool, paint: Paint) -> String {
        let gap = " ".repeat(width - self.width());
        let text = match self.tone {
            Tone::Plain => self.text.clone(),
            Tone::Good => paint.good(&self.text),
            Tone::Poor => paint.poor(&self.text),
            Tone::Bad => paint.bad(&self.text),
            Tone::Faint => paint.faint(&self.text),
        };
        match (self.is_number, is_last) {
            (true, _) => gap + &text,
            (false, true) => text,
            (false, false) => text + &gap,
        }
    }
}

/// Rows below a head; two blanks between columns, none at the end of a line.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|name| Cell::text(name).toned(Tone::Faint)).collect()] }
    }

    /// Without a head.
    pub fn bare() -> Self {
        Self::default()
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub fn show(&self, paint: Paint) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0))
            .collect();
        // The heading of a column is above its numbers.
        let numbers: Vec<bool> = (0..columns)
            .map(|column| self.rows.last().and_then(|row| row.get(column)).is_some_and(|c| c.is_number))
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(column, cell)| {
                    let cell = Cell { is_number: numbers[column], ..cell.clone() };
                    cell.padded(widths[column], column + 1 == row.len(), paint)
                })
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// On one line and without control characters, so that a remembered text can't steer the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        let mut table = Table::new(&["region", "p99", "state"]);
        table.row(vec![Cell::text("hippocampus"), Cell::number(7), Cell::text("running").toned(Tone::Good)]);
        table.row(vec![Cell::text("scn"), Cell::number(1200), Cell::text("")]);
        assert_eq!(
            table.show(Paint(false)),
            "region        p99  state\nhippocampus     7  running\nscn          1200\n"
        );
        assert!(table.show(Paint(true)).contains("\x1b[32mrunning\x1b[0m"));
    }

    #[test]
    fn a_text_from_outside_cant_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2J\nb"), "a [2J b");
        assert_eq!(Cell::text("abcdef").cut(4).text, "abc…");
    }
}
