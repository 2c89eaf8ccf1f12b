//! `maxim approvals`: what the gate asks a person about.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::table::{Cell, Table, printable};
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
        let id = whole(id, &asked)?;
        let answer = client.post(&["v1", "approvals", &id], &json!({"allow": allow, "always": always}))?.body;
        out.answer(&answer, || format!("{} {id}", if allow { "allowed" } else { "denied" }))?;
        Ok(Exit::Ok)
    }
}

/// The one id that begins so.
fn whole(given: &str, asked: &Value) -> Result<String, CliError> {
    let all = asked["approvals"].as_array().into_iter().flatten();
    let ids: Vec<&str> = all.filter_map(|approval| approval["id"].as_str()).collect();
    let fits: Vec<&&str> = ids.iter().filter(|id| !given.is_empty() && id.starts_with(given)).collect();
    match fits[..] {
        [id] => Ok((*id).to_owned()),
        [] => {
            let found = format!("nothing is asked under {:?}; it may have expired or been answered", printable(given));
            Err(CliError::new(Exit::NotHeld, found, "see `maxim approvals list`"))
        }
        _ => Err(CliError::new(Exit::Usage, format!("{} ids begin with {given}", fits.len()), "give more of the id")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_that_fits_one_id_is_enough() {
        let asked = json!({"approvals": [{"id": "0192-aaaa"}, {"id": "0192-bbbb"}]});
        assert_eq!(whole("0192-a", &asked).expect("one"), "0192-aaaa");
        assert_eq!(whole("0192", &asked).expect_err("two").exit(), Exit::Usage);
        for none in ["", "0193", "0192-aaaab"] {
            assert_eq!(whole(none, &asked).expect_err("none").exit(), Exit::NotHeld);
        }
    }
}
