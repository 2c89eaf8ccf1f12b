//! `maxim approvals`: what the gate asks a person about.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::beginning::Known;
use super::table::{Cell, Table};
use super::{CliError, Exit, Global, Out};

/// See what the gate asks about, and answer it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim approvals list\n  maxim approvals allow 0192f3c4-5d6e-7f80-9abc-def012345678"
)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// What waits for an answer
    #[command(after_help = "Example:\n  maxim approvals list --json")]
    List,
    /// Let it be done
    #[command(after_help = "Example:\n  maxim approvals allow 0192f3c4-5d6e-7f80-9abc-def012345678 --always")]
    Allow {
        /// The approval's id, or a beginning of it that fits one alone
        id: String,
        /// Remember the yes for this kind of action: the same tool under the same rule
        #[arg(long)]
        always: bool,
    },
    /// Refuse it
    #[command(after_help = "Example:\n  maxim approvals deny 0192f3c4-5d6e-7f80-9abc-def012345678")]
    Deny {
        /// The approval's id, or a beginning of it that fits one alone
        id: String,
    },
}

impl ApprovalsArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let asked = client.get(&["v1", "approvals"], &[])?.body;
        let (id, allow, always) = match &self.what {
            What::List => {
                out.answer(&asked, || shown(&asked, out))?;
                return Ok(Exit::Ok);
            }
            What::Allow { id, always } => (id, true, *always),
            What::Deny { id } => (id, false, false),
        };
        let missing = |given: &str| format!("nothing is asked under {given}; it may have expired or been answered");
        let id = Known { answer: &asked, list: "approvals", missing, fix: "see `maxim approvals list`" }.whole(id)?;
        let answer = client.post(&["v1", "approvals", &id], &json!({"allow": allow, "always": always}))?.body;
        out.answer(&answer, || format!("{} {id}", if allow { "allowed" } else { "denied" }))?;
        Ok(Exit::Ok)
    }
}

fn shown(asked: &Value, out: &Out) -> String {
    let all = asked["approvals"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return "nothing waits for an answer".into();
    }
    let mut table = Table::new(&["id", "expires", "tool", "params", "because"]);
    for approval in all {
        let text = |name: &str| approval[name].as_str().unwrap_or("-");
        table.row(vec![
            Cell::text(text("id")),
            Cell::text(text("expires")).cut(20),
            Cell::text(text("tool")),
            Cell::text(approval["params"].to_string()).cut(60),
            Cell::text(format!("{}: {}", text("rule"), text("reason"))).cut(100),
        ]);
    }
    table.show(out.paint)
}
