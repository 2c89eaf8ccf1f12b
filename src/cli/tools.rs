//! `maxim tools`: what the agent can do; and which tools fit a goal, measured from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use maxim_actors::action::tool_index::{ToolIndex, ToolText};
use maxim_actors::language::{TokenTable, estimated_tokens};
use maxim_actors::region::lines;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::batch::BatchInput;
use super::{CliError, Exit, Global, Out, tool_list};

/// See what the agent can do, who offers it, and which tools fit a goal.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim tools list\n  maxim tools show edit_file\n  maxim tools rank --catalog tools.jsonl --in goals.jsonl"
)]
pub struct ToolsArgs {
    #[command(subcommand)]
    what: Tools,
}

#[derive(Subcommand, Debug)]
enum Tools {
    /// All tools of the running agent, and the tool servers behind them
    #[command(after_help = "Example:\n  maxim tools list")]
    List,
    /// Show what a tool does, its parameters, and how to ask for it
    #[command(after_help = "Example:\n  maxim tools show edit_file")]
    Show {
        /// Its name
        tool: String,
    },
    /// Ask the tool servers of the configuration what they offer, and remember that for the daemon's next start
    #[command(
        after_help = "Examples:\n  maxim tools refresh\n  maxim tools refresh files\n\nA server is a section [mcp.NAME] of the configuration; see maxim config explain mcp."
    )]
    Refresh {
        /// One server by its name [default: all]
        server: Option<String>,
    },
    /// Rank tools for goals, one JSON object a line: {"q"}
    #[command(
        after_help = "Example:\n  maxim tools rank --catalog tools.jsonl --learn past.jsonl -k 5 --in goals.jsonl\n\nA tool is {\"name\", \"description\", \"parameters\"}, a past success {\"q\", \"gold\": [names]}."
    )]
    Rank {
        /// The tools, one a line
        #[arg(long, value_name = "TOOLS.jsonl")]
        catalog: PathBuf,
        /// Past successes to learn from, one a line
        #[arg(long, value_name = "TRAIN.jsonl")]
        learn: Option<PathBuf>,
        /// Names in a ranking, at most [default: all]
        #[arg(short, value_name = "N")]
        k: Option<usize>,
        #[command(flatten)]
        input: BatchInput,
    },
}

#[derive(Deserialize)]
struct Question {
    q: String,
}

/// A single right tool may be given without a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Gold {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct Success {
    q: String,
    gold: Gold,
}

impl ToolsArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let (catalog, learn, k, input) = match self.what {
            Tools::List => return tool_list::list(global, out),
            Tools::Show { tool } => return tool_list::show(global, out, &tool),
            Tools::Refresh { server } => return tool_list::refresh(global, out, server.as_deref()),
            Tools::Rank { catalog, learn, k, input } => (catalog, learn, k, input),
        };
        let catalog: Vec<ToolText> = rows(&catalog)?;
        let mut index = ToolIndex::new(&catalog, Arc::new(TokenTable::embedded()), estimated_tokens);
        for success in learn.map(|file| rows::<Success>(&file)).transpose()?.unwrap_or_default() {
            let goal = index.goal(&success.q);
            let tools = match success.gold {
                Gold::One(tool) => vec![tool],
                Gold::Many(tools) => tools,
            };
            tools.iter().for_each(|tool| index.learn(&goal, tool));
        }
        input.answer(|line| {
            let question: Question = lines::object_of(line)?;
            let ranking = index.rank(&index.goal(&question.q));
            let (tokens_full, tokens_shown) = index.tokens(&ranking);
            let names: Vec<&str> = ranking.tools.iter().map(|tool| tool.name.as_str()).collect();
            let ranked = &names[..k.unwrap_or(names.len()).min(names.len())];
            let shown = &names[..ranking.shown];
            Ok(json!({
                "q": question.q, "ranked": ranked, "shown": shown,
                "tokens_full": tokens_full, "tokens_shown": tokens_shown,
            }))
        })
    }
}

/// Reads a whole file of JSON lines. A malformed line is reported with its number.
fn rows<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, CliError> {
    let wrong = |why: String| {
        let fix = "give one JSON object a line; see maxim tools rank --help";
        CliError::new(Exit::Usage, format!("{}: {why}", file.display()), fix)
    };
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(at, line)| lines::object_in(line).map_err(|error| wrong(format!("line {}: {error}", at + 1))))
        .collect()
}
