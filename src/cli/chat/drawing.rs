//! The screen on a terminal: conversation on the left, thinking, log and regions on the right.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::screen::{RegionLine, Screen, Voice};

/// Width in columns below which the right side is left out.
const NARROW: u16 = 60;

const KEYS: [(&str, &str); 8] = [
    ("Enter", "say what is typed"),
    ("!", "stop everything now (first thing on a line)"),
    ("Left / Right", "enter the thinking pane / leave it and follow"),
    ("Up / Down", "scroll the pane that is entered"),
    ("Page Up / Down", "the same by ten lines"),
    ("Alt+Up / Down", "more / less room for the conversation"),
    ("Ctrl+U", "clear the line"),
    ("? / Esc", "show / hide this"),
];

/// Draws the whole screen. Without colours, things differ by font weight alone.
pub fn draw(screen: &Screen, has_colours: bool, frame: &mut Frame<'_>) {
    let ink = Ink(has_colours);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(3)]).areas(frame.area());
    let state = screen.gone.as_deref().unwrap_or(&screen.state);
    let tone = if screen.gone.is_some() || screen.is_stopped() { ink.alarm() } else { ink.faint() };
    frame.render_widget(Line::styled(format!("maxim · {state} · ? help"), tone), top);
    if middle.width < NARROW {
        conversation(screen, ink, frame, middle);
    } else {
        let sides = [Constraint::Percentage(screen.split), Constraint::Min(20)];
        let [left, right] = Layout::horizontal(sides).areas(middle);
        conversation(screen, ink, frame, left);
        let rows = [Constraint::Percentage(45), Constraint::Percentage(30), Constraint::Min(3)];
        let [upper, log, regions] = Layout::vertical(rows).areas(right);
        thinking(screen, ink, frame, upper);
        let lines = screen.log.iter().flat_map(|line| wrapped(line, width(log), "  ", Style::new())).collect();
        pane("log", lines, 0, Style::new(), frame, log);
        let shown = region_lines(&screen.regions, width(regions), height(regions), ink);
        pane("regions", shown, 0, Style::new(), frame, regions);
    }
    input(screen, ink, frame, bottom);
    if screen.shows_help {
        help(screen.ends_with_it, ink, frame);
    }
}

fn conversation(screen: &Screen, ink: Ink, frame: &mut Frame<'_>, area: Rect) {
    let mut lines = Vec::new();
    for (voice, text) in &screen.conversation {
        let (who, style) = match voice {
            Voice::Person(name) => (format!("{name}> "), ink.person()),
            Voice::Brain => ("maxim> ".to_owned(), ink.brain()),
            Voice::Note => ("· ".to_owned(), ink.faint()),
        };
        let mut said = text.lines();
        lines.extend(wrapped(&format!("{who}{}", said.next().unwrap_or_default()), width(area), "  ", style));
        said.for_each(|line| lines.extend(wrapped(&format!("  {line}"), width(area), "  ", style)));
    }
    pane("conversation", lines, screen.conversation_back, Style::new(), frame, area);
}

fn thinking(screen: &Screen, ink: Ink, frame: &mut Frame<'_>, area: Rect) {
    let mut lines = Vec::new();
    for thought in &screen.thinking {
        lines.extend(wrapped(&thought.head, width(area), "  ", ink.faint()));
        lines.extend(wrapped(&format!("  {}", thought.text), width(area), "  ", Style::new()));
    }
    // Without colours, the border alone doesn't show which pane gets the keys.
    let (border, title) = match screen.in_thinking {
        true => (ink.chosen(), "thinking, Right leaves"),
        false => (Style::new(), "thinking"),
    };
    pane(title, lines, screen.thinking_back, border, frame, area);
}

/// Lists unhealthy regions first, then those with a backlog. The rest are only counted.
fn region_lines(regions: &[RegionLine], width: usize, height: usize, ink: Ink) -> Vec<Line<'static>> {
    let mut sorted: Vec<&RegionLine> = regions.iter().collect();
    sorted.sort_by_key(|region| (region.state == "running", std::cmp::Reverse((region.inbox, region.restarts))));
    let line = |region: &&RegionLine| {
        let style = if region.state == "running" { Style::new() } else { ink.alarm() };
        let said =
            format!("{:<19} {} · {} restarts · {} waiting", region.name, region.state, region.restarts, region.inbox);
        Line::styled(said.chars().take(width).collect::<String>(), style)
    };
    if sorted.len() <= height {
        return sorted.iter().map(line).collect();
    }
    let is_told = |region: &&&RegionLine| region.state != "running" || region.inbox > 0 || region.restarts > 0;
    let mut lines: Vec<Line> = sorted.iter().filter(is_told).take(height.saturating_sub(1)).map(line).collect();
    let rest = &sorted[lines.len()..];
    let how = if rest.iter().all(|region| region.state == "running") { "running" } else { "more" };
    let lead = if lines.is_empty() { "all " } else { "and " };
    lines.push(Line::styled(format!("{lead}{} {how}, see `maxim status`", rest.len()), ink.faint()));
    lines
}

/// A bordered pane. It shows the end of its lines, or scrolls `back` lines up and says how many are below.
fn pane(title: &str, lines: Vec<Line<'_>>, back: usize, border: Style, frame: &mut Frame<'_>, area: Rect) {
    let room = height(area);
    let below = back.min(lines.len().saturating_sub(room));
    let last = lines.len() - below;
    let title = if below > 0 { format!(" {title}, {below} below ") } else { format!(" {title} ") };
    let shown: Vec<Line> = lines.into_iter().take(last).skip(last.saturating_sub(room)).collect();
    let block = Block::bordered().title(title).border_style(border);
    frame.render_widget(Paragraph::new(shown).block(block), area);
}

fn input(screen: &Screen, ink: Ink, frame: &mut Frame<'_>, area: Rect) {
    // Shows the end of a long line, because the typing happens there.
    let room = width(area).saturating_sub(3);
    let mut shown: Vec<char> = screen.input.chars().rev().take(room).collect();
    shown.reverse();
    let typed: String = shown.into_iter().collect();
    let columns = u16::try_from(Span::raw(typed.as_str()).width()).unwrap_or(u16::MAX);
    let line = Line::from(vec![Span::styled("> ", ink.person()), Span::raw(typed)]);
    frame.render_widget(Paragraph::new(line).block(Block::bordered()), area);
    if !screen.in_thinking {
        frame.set_cursor_position((area.x.saturating_add(3).saturating_add(columns), area.y + 1));
    }
}

fn help(ends_with_it: bool, ink: Ink, frame: &mut Frame<'_>) {
    let leave =
        if ends_with_it { "leave; this brain was started for the chat and ends" } else { "leave; the brain goes on" };
    let lines: Vec<Line> = KEYS
        .iter()
        .chain(&[("Ctrl+C", leave)])
        .map(|(key, what)| Line::from(vec![Span::styled(format!(" {key:<16}"), ink.person()), Span::raw(*what)]))
        .collect();
    let area = frame.area();
    let (wide, high) = (area.width.min(66), area.height.min(lines.len() as u16 + 2));
    let at = Rect::new(area.x + (area.width - wide) / 2, area.y + (area.height - high) / 2, wide, high);
    frame.render_widget(Clear, at);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" keys ")), at);
}

/// Columns and rows inside a border.
fn width(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(2))
}

fn height(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(2))
}

/// Breaks lines at blanks, and inside words that are longer than a line. All lines but the first begin with `indent`.
fn wrapped(text: &str, width: usize, indent: &str, style: Style) -> Vec<Line<'static>> {
    let columns = |text: &str| Span::raw(text).width();
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_inclusive(' ') {
        if columns(&line) + columns(word.trim_end()) > width && columns(line.trim()) > 0 {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        }
        for letter in word.chars() {
            if columns(&line) + columns(&letter.to_string()) > width && letter != ' ' && columns(&line) > indent.len() {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines.into_iter().map(|line| Line::styled(line, style)).collect()
}

/// Styles, with colours or by weight alone.
#[derive(Clone, Copy)]
struct Ink(bool);

impl Ink {
    fn of(self, colour: Color, weight: Modifier) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new().add_modifier(weight) }
    }

    fn person(self) -> Style {
        self.of(Color::Cyan, Modifier::BOLD)
    }

    fn brain(self) -> Style {
        self.of(Color::Green, Modifier::empty())
    }

    fn faint(self) -> Style {
        self.of(Color::DarkGray, Modifier::DIM)
    }

    fn alarm(self) -> Style {
        self.of(Color::Red, Modifier::REVERSED).add_modifier(Modifier::BOLD)
    }

    fn chosen(self) -> Style {
        self.of(Color::Yellow, Modifier::BOLD)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::*;

    fn shown(screen: &Screen, columns: u16, rows: u16, has_colours: bool) -> (String, bool) {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
        terminal.draw(|frame| draw(screen, has_colours, frame)).expect("drawn");
        let buffer = terminal.backend().buffer().clone();
        let is_coloured = buffer.content().iter().any(|cell| cell.fg != Color::Reset);
        let rows: Vec<String> = buffer
            .content()
            .chunks(usize::from(columns))
            .map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>())
            .collect();
        (rows.join("\n"), is_coloured)
    }

    fn filled() -> Screen {
        let mut screen = Screen::new(TimeZone::UTC);
        let percept = json!({ "source": "comms:console", "content": "where is the spare key?", "metadata": { "sender": "owner" } });
        screen.hear(&json!({ "type": "Percept", "body": percept }));
        let reply = "You told me that the spare key is in the blue drawer of the desk by the window.";
        screen.hear(&json!({ "type": "TurnEnded", "body": { "reply": reply, "actions": [] } }));
        let thought = json!({ "mind": "habit", "confidence": 1.0, "text": "I am asked something; I look it up." });
        screen.hear(&json!({ "type": "Thought", "body": thought }));
        let region =
            |n: usize| json!({ "name": format!("room_{n}"), "state": "running", "restarts": 0, "inbox_depth": 0 });
        let mut regions: Vec<_> = (0..40).map(region).collect();
        regions.push(json!({ "name": "broken_room", "state": "restarting", "restarts": 3, "inbox_depth": 9 }));
        screen.status(
            &json!({ "state": "awake", "llm": "none", "disk": { "status": "ok" }, "regions": regions, "stop": {} }),
        );
        screen
    }

    #[test]
    fn eighty_by_twenty_four_shows_all_four_panes_and_the_region_in_trouble() {
        for has_colours in [true, false] {
            let (text, is_coloured) = shown(&filled(), 80, 24, has_colours);
            for part in ["conversation", "thinking", "log", "regions", "owner> where is the spare key?", "blue drawer"]
            {
                assert!(text.contains(part), "{part} is missing:\n{text}");
            }
            assert!(text.contains("broken_room         restarting"), "{text}");
            assert!(text.contains("and 40 running, see `maxim status`"), "{text}");
            assert!(text.contains("I am asked something; I look it"), "{text}");
            assert_eq!(is_coloured, has_colours);
        }
    }

    #[test]
    fn any_size_can_be_drawn() {
        let mut screen = filled();
        screen.shows_help = true;
        screen.input = "ü".repeat(300);
        for (columns, rows) in [(1, 1), (2, 30), (20, 5), (59, 10), (60, 10), (300, 100)] {
            shown(&screen, columns, rows, true);
        }
    }

    #[test]
    fn scrolling_goes_back_and_stops_at_the_beginning() {
        let mut screen = filled();
        (0..100).for_each(|n| screen.note(format!("line {n}")));
        assert!(shown(&screen, 80, 24, false).0.contains("line 99"));
        screen.conversation_back = 10;
        let (text, _) = shown(&screen, 80, 24, false);
        assert!(!text.contains("line 99") && text.contains("line 89"), "{text}");
        assert!(text.contains("conversation, 10 below") && !text.contains("Right leaves"), "{text}");
        screen.conversation_back = 10_000;
        screen.in_thinking = true;
        let (text, _) = shown(&screen, 80, 24, false);
        assert!(text.contains("where is the spare key?") && text.contains("thinking, Right leaves"), "{text}");
    }

    #[test]
    fn long_words_and_wide_letters_stay_within_their_pane() {
        for text in ["a".repeat(50), "word ".repeat(20), "漢字".repeat(20), "  kept   blanks".into()] {
            for width in 3..30 {
                let lines = wrapped(&text, width, "  ", Style::new());
                assert!(
                    lines.iter().all(|line| line.to_string().trim_end().chars().count() <= width.max(3)),
                    "{lines:?}"
                );
                let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
                let kept: usize = lines.iter().map(|line| letters(&line.to_string())).sum();
                assert_eq!(kept, letters(&text), "nothing is lost");
            }
        }
    }

    #[test]
    fn a_stop_and_a_lost_daemon_are_seen_at_the_top() {
        let mut screen = filled();
        screen.status(&json!({ "state": "stopped", "stop": { "latched": true, "by": "console", "reason": "!" } }));
        assert!(shown(&screen, 80, 24, false).0.lines().next().is_some_and(|top| top.contains("STOPPED by console")));
        screen.gone = Some("no daemon answers".into());
        assert!(shown(&screen, 80, 24, false).0.lines().next().is_some_and(|top| top.contains("no daemon answers")));
    }
}
