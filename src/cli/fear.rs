//! `maxim fear`: what the gate would say, what it has learned to fear, and a person's word on that.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::doors::FearCheck;
use super::table::{Cell, Table};
use super::{CliError, Exit, Global, Out};

/// See what the gate fears and why, pin or forgive it; or ask what it would say of calls.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim fear list\n  maxim fear forgive bash\n  maxim fear check --in calls.jsonl")]
pub struct FearArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Check(FearCheck),
    /// The tools that hurt, and those that are pinned
    #[command(after_help = "Example:\n  maxim fear list --json")]
    List,
    /// Why a tool is feared, or isn't: what experience expects of it, and the threshold for asking
    #[command(after_help = "Example:\n  maxim fear explain bash")]
    Explain {
        /// The tool's name
        tool: String,
    },
    /// Be asked about a tool from now on, whatever experience says
    #[command(after_help = "Example:\n  maxim fear pin send_message")]
    Pin {
        /// The tool's name
        tool: String,
    },
    /// Let a tool be tried again; the next bad outcome brings the fear back
    #[command(after_help = "Example:\n  maxim fear forgive bash")]
    Forgive {
        /// The tool's name
        tool: String,
    },
}

impl FearArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let (tool, wish) = match self.what {
            What::Check(check) => return check.run(global),
            What::List => {
                let told = global.client()?.get(&["v1", "fears"], &[])?.body;
                out.answer(&told, || shown(&told, out))?;
                return Ok(Exit::Ok);
            }
            What::Explain { tool } => {
                let told = global.client()?.get(&["v1", "fears", &tool], &[])?.body;
                out.answer(&told, || explained(&told))?;
                return Ok(Exit::Ok);
            }
            What::Pin { tool } => (tool, "pin"),
            What::Forgive { tool } => (tool, "forgive"),
        };
        let told = global.client()?.post(&["v1", "fears", &tool], &json!({"wish": wish}))?.body;
        out.answer(&told, || match wish {
            "pin" => format!("{tool} is asked about from now on"),
            _ => format!("{tool} is forgiven"),
        })?;
        Ok(Exit::Ok)
    }
}

fn shown(told: &Value, out: &Out) -> String {
    let fears = told["fears"].as_array().map(Vec::as_slice).unwrap_or_default();
    if fears.is_empty() {
        return "nothing is feared: no tool has hurt often enough".into();
    }
    let mut table = Table::new(&["tool", "hurt last", "unforgiven", "pinned"]);
    for fear in fears {
        table.row(vec![
            Cell::text(fear["tool"].as_str().unwrap_or("-")),
            Cell::text(fear["hurt"].as_str().unwrap_or("-")).cut(20),
            Cell::text(format!("{:.2}", fear["unforgiven"].as_f64().unwrap_or(0.0))),
            Cell::text(if fear["pinned"] == true { "yes" } else { "no" }),
        ]);
    }
    table.show(out.paint)
}

fn explained(told: &Value) -> String {
    let (tool, fear, expected) = (told["tool"].as_str().unwrap_or_default(), &told["fear"], &told["expected"]);
    let number = |of: &Value| of.as_f64().unwrap_or(0.0);
    let feared = match (fear["hurt"].as_str(), fear["pinned"] == true) {
        (_, true) => format!("{tool} is pinned: it is asked about whatever experience says"),
        (Some(at), false) => {
            format!("{tool} last hurt at {at}; {:.2} of that is left after the time since", number(&fear["unforgiven"]))
        }
        (None, false) => return format!("{tool} is not feared: it hasn't hurt, or was forgiven"),
    };
    let (value, confidence) = (number(&expected["value"]), number(&expected["confidence"]));
    let (low, sure) = (number(&told["veto"]["value"]), number(&told["veto"]["confidence"]));
    format!(
        "{feared}\nexperience expects value {value:.2} at confidence {confidence:.2}, from {} actions\nasked about below \
         value {low:.2} + b and above confidence {sure:.2} - b, with b = 0.3 × the share of failures in similar contexts",
        expected["observations"]
    )
}
