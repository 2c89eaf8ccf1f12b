//! The figures as a self-contained page: curves with their intervals, and a table.

use std::fmt::Write;

use serde_json::Value;

/// A colour for each curve, distinguishable without seeing red and green (Okabe & Ito 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#cc79a7", "#e69f00", "#009e73", "#56b4e9", "#f0e442"];
/// Colours of the lines that are no brain: chance and the best.
const GREYS: [&str; 2] = ["#222222", "#999999"];
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 320.0;
/// Room for the numbers beside the curves.
const MARGIN: f64 = 46.0;

/// A curve: its name, and mean, low and high by episode.
struct Curve<'a> {
    name: &'a str,
    points: Vec<[f64; 3]>,
    colour: &'static str,
}

fn points(of: &Value) -> Vec<[f64; 3]> {
    let number = |point: &Value, name: &str| point[name].as_f64().unwrap_or_default();
    let point = |point: &Value| [number(point, "mean"), number(point, "low"), number(point, "high")];
    of.as_array().into_iter().flatten().map(point).collect()
}

fn name_of(brain: &Value) -> &str {
    brain["brain"].as_str().unwrap_or_default()
}

/// The page in HTML, from the document of a run.
pub fn page(figures: &Value) -> String {
    let brains = || figures["brains"].as_array().into_iter().flatten();
    let curves = |figure: &str| -> Vec<Curve<'_>> {
        let coloured = brains().zip(COLOURS.into_iter().cycle());
        coloured.map(|(brain, colour)| Curve { name: name_of(brain), points: points(&brain[figure]), colour }).collect()
    };
    let (mut worth, hurts) = (curves("worth"), curves("hurts"));
    for ((name, of), colour) in [("at random", "random"), ("the best possible", "best")].into_iter().zip(GREYS) {
        worth.push(Curve { name, points: points(&figures[of]), colour });
    }
    let turns = figures["world"]["turns_after"].as_u64().unwrap_or_default();
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Learning by experience alone</title>\
         <style>body{{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}\
         svg{{width:100%;height:auto}}td,th{{text-align:left;padding:.1rem .8rem .1rem 0}}\
         td.n{{text-align:right;font-variant-numeric:tabular-nums}}</style>\
         <h1>Learning by experience alone</h1>\
         <p>{} lives of each brain, {} episodes of {} opportunities; after episode {turns} some things change sides. \
         Bands are 95 % intervals of the mean; curves that are the same lie on each other.</p><h2>Worth of an opportunity</h2>{}<h2>Hurts an episode</h2>{}",
        figures["lives"],
        figures["episodes"],
        figures["opportunities"],
        plot(&worth, turns),
        plot(&hurts, turns),
    );
    page.push_str(
        "<h2>What each part is worth here</h2><table><tr><th>brain<th>last episode<th>better than chance\
        <th>the part is worth<th>and spares hurts<th>what is switched off",
    );
    for brain in brains() {
        let text = |name: &str| brain[name].as_str().unwrap_or_default();
        let last = brain["worth"].as_array().and_then(|worth| worth.last());
        let last = last.and_then(|last| last["mean"].as_f64()).unwrap_or_default();
        let better = brain["better_than_chance"].as_f64();
        let better = better.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let _ = write!(
            page,
            "<tr><td>{}<td class=n>{last:.2}<td class=n>{better}<td class=n>{}<td class=n>{}<td>{}",
            escaped(text("brain")),
            within(&brain["part_is_worth"]).unwrap_or_default(),
            within(&brain["part_spares_hurts"]).unwrap_or_default(),
            escaped(text("what")),
        );
    }
    page.push_str("</table></html>\n");
    page
}

/// A mean with its interval if it has one, in words.
pub fn within(of: &Value) -> Option<String> {
    let number = |name: &str| of[name].as_f64();
    let [mean, low, high] = [number("mean")?, number("low")?, number("high")?];
    // A single life, or equal lives, have no interval.
    Some(if low == high { format!("{mean:.2}") } else { format!("{mean:.2} ({low:.2} to {high:.2})") })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn plot(curves: &[Curve<'_>], turns: u64) -> String {
    let all = || curves.iter().flat_map(|curve| &curve.points).flatten().copied();
    let (low, high) = (all().fold(0.0, f64::min), all().fold(0.1, f64::max));
    let episodes = curves.iter().map(|curve| curve.points.len()).max().unwrap_or_default();
    let step = (WIDTH - 2.0 * MARGIN) / (episodes.max(2) - 1) as f64;
    let x = |episode: usize| MARGIN + step * episode as f64;
    let y = |value: f64| MARGIN / 2.0 + (high - value) / (high - low) * (HEIGHT - 2.0 * MARGIN);
    let mut svg =
        format!("<svg viewBox='0 0 {WIDTH} {:.0}' role=img>", HEIGHT + 20.0 * (curves.len() as f64 / 4.0).ceil());
    for part in 0..=4 {
        let value = low + (high - low) * f64::from(part) / 4.0;
        let _ = write!(
            svg,
            "<path d='M{MARGIN} {0:.1}H{1:.1}' stroke=#ddd /><text x=4 y={2:.1} font-size=12>{value:.2}</text>",
            y(value),
            WIDTH - MARGIN,
            y(value) + 4.0,
        );
    }
    for episode in 0..episodes {
        let _ = write!(
            svg,
            "<text x={:.1} y={:.1} font-size=12 text-anchor=middle>{}</text>",
            x(episode),
            HEIGHT - MARGIN,
            episode + 1
        );
    }
    if (1..episodes as u64).contains(&turns) {
        let middle = x(turns as usize) - step / 2.0;
        let _ = write!(
            svg,
            "<path d='M{middle:.1} {:.1}V{:.1}' stroke=#999 stroke-dasharray=4 />",
            MARGIN / 2.0,
            HEIGHT - 1.5 * MARGIN
        );
    }
    // The first curve lies on top.
    for (place, Curve { name, points, colour }) in curves.iter().enumerate().rev() {
        let line = |of: usize, backwards: bool| {
            let mut at: Vec<String> =
                points.iter().enumerate().map(|(n, point)| format!("{:.1} {:.1}", x(n), y(point[of]))).collect();
            if backwards {
                at.reverse();
            }
            at.join("L")
        };
        let (legend_x, legend_y) = (MARGIN + (place % 4) as f64 * 195.0, HEIGHT + 20.0 * (place / 4) as f64);
        let _ = write!(
            svg,
            "<path d='M{}L{}Z' fill={colour} opacity=.13 /><path d='M{}' fill=none stroke={colour} stroke-width=2 />\
             <rect x={legend_x} y={legend_y} width=12 height=12 fill={colour} />\
             <text x={} y={} font-size=13>{}</text>",
            line(1, false),
            line(2, true),
            line(0, false),
            legend_x + 18.0,
            legend_y + 11.0,
            escaped(name),
        );
    }
    svg.push_str("</svg>");
    svg
}
