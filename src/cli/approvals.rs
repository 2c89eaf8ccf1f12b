//! `maxim approvals`: the gate's questions to a person, and standing grants.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::MessageId;
use maxim_bus::signals::approval::is_called;
use serde_json::{Value, json};

use super::beginning::Known;
use super::table::{Cell, Table, printable};
use super::{CliError, Exit, Global, Out};

/// See the gate's questions and answer them; see standing grants and revoke them.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim approvals list\n  maxim approvals allow 3f2a\n  maxim approvals allow 3f2a --for \"cargo test *\"\n  maxim approvals grants"
)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// List the open questions, and what an "always" would allow
    #[command(after_help = "Example:\n  maxim approvals list --json")]
    List,
    /// Allow the action
    #[command(
        after_help = "Examples:\n  maxim approvals allow 3f2a\n  maxim approvals allow 3f2a --always\n  maxim approvals allow 3f2a --for \"cargo test *\""
    )]
    Allow {
        /// The question's code, its id, or the first 8 characters or more of the id
        id: String,
        /// Also allow exactly this call from now on, as `maxim approvals list` shows it
        #[arg(long)]
        always: bool,
        /// Also allow this program in this folder with any arguments from now on, where `maxim approvals list` offers
        /// that
        #[arg(long, conflicts_with = "always")]
        any_arguments: bool,
        /// Also allow any one simple command of this form in this folder from now on. * stands for letters of a word,
        /// for a word, or at the end for any further words
        #[arg(long = "for", value_name = "PATTERN", conflicts_with_all = ["always", "any_arguments"])]
        pattern: Option<String>,
    },
    /// Refuse the action
    #[command(after_help = "Example:\n  maxim approvals deny 3f2a")]
    Deny {
        /// The question's code, its id, or the first 8 characters or more of the id
        id: String,
    },
    /// List standing grants: who allowed them, when, how often they were used, and what they cover
    #[command(after_help = "Example:\n  maxim approvals grants --json")]
    Grants,
    /// Revoke a standing grant
    #[command(after_help = "Example:\n  maxim approvals revoke g-3f2a77b1")]
    Revoke {
        /// The grant's id, as `maxim approvals grants` shows it
        id: String,
    },
}

impl ApprovalsArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = global.client()?;
        let decision = match &self.what {
            What::Grants => {
                let told = client.get(&["v1", "approvals", "grants"], &[])?.body;
                out.answer(&told, || grants(&told, out))?;
                return Ok(Exit::Ok);
            }
            What::Revoke { id } => {
                let told = client.delete(&["v1", "approvals", "grants", id])?.body;
                out.answer(&told, || format!("{id} is revoked; the gate asks about these calls again"))?;
                return Ok(Exit::Ok);
            }
            What::List => None,
            What::Allow { id, always, any_arguments, pattern } => {
                let mut body = json!({"allow": true});
                for (name, is_given) in [("always", always), ("any_arguments", any_arguments)] {
                    if *is_given {
                        body[name] = true.into();
                    }
                }
                if let Some(pattern) = pattern {
                    body["pattern"] = pattern.as_str().into();
                }
                Some((id, body))
            }
            What::Deny { id } => Some((id, json!({"allow": false}))),
        };
        let asked = client.get(&["v1", "approvals"], &[])?.body;
        let Some((id, body)) = decision else {
            out.answer(&asked, || shown(&asked, out))?;
            return Ok(Exit::Ok);
        };
        let missing = |given: &str| format!("there is no open question {given}; it may have expired or been answered");
        let known = Known { answer: &asked, list: "approvals", missing, fix: "see `maxim approvals list`" };
        let id = match by_code(&asked, id).or_else(|| replaced(&asked, id)) {
            Some(id) => id,
            None => known.whole(id)?,
        };
        let answer = client.post(&["v1", "approvals", &id], &body)?.body;
        out.answer(&answer, || match (body["allow"] == true, answer["granted"].as_str()) {
            (true, Some(granted)) => format!("allowed {id}, and for good:\n{granted}"),
            (true, None) => format!("allowed {id}"),
            (false, _) => format!("denied {id}"),
        })?;
        Ok(Exit::Ok)
    }
}

/// A time in the local time zone, with its UTC offset.
fn local(time: &str) -> String {
    let zoned = time.parse::<Timestamp>().map(|time| time.to_zoned(TimeZone::system()));
    zoned.map_or_else(|_| time.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S %:z").to_string())
}

/// The one question that has this code.
fn by_code(asked: &Value, code: &str) -> Option<String> {
    let mut fits = asked["approvals"].as_array()?.iter().filter(|approval| approval["code"] == code);
    let id = fits.next()?["id"].as_str()?;
    fits.next().is_none().then(|| id.to_owned())
}

/// The earlier question with this code or id. The daemon says which question has replaced it.
fn replaced(asked: &Value, given: &str) -> Option<String> {
    let all = asked["approvals"].as_array()?.iter().filter_map(|approval| approval["replaced"].as_array()).flatten();
    let ids = all.filter_map(|id| id.as_str()?.parse::<MessageId>().ok());
    ids.into_iter().find(|id| is_called(*id, given)).map(|id| id.to_string())
}

fn shown(asked: &Value, out: &Out) -> String {
    let all = asked["approvals"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return "nothing waits for an answer".into();
    }
    let mut table = Table::new(&["id", "code", "expires", "tool", "params", "because"]);
    for approval in all {
        let text = |name: &str| approval[name].as_str().unwrap_or("-");
        table.row(vec![
            Cell::text(text("id")),
            Cell::text(text("code")),
            Cell::text(local(text("expires"))).cut(26),
            Cell::text(text("tool")),
            Cell::text(approval["params"].to_string()).cut(60),
            Cell::text(format!("{}: {}", text("rule"), text("reason"))).cut(100),
        ]);
    }
    let covers: Vec<String> = all.iter().map(covers).collect();
    format!("{}\n{}", table.show(out.paint).trim_end(), covers.join("\n"))
}

/// What an "always" to a question would cover.
fn covers(approval: &Value) -> String {
    let code = approval["code"].as_str().unwrap_or("-");
    let always = match (&approval["always"]["covers"], &approval["always"]["not"]) {
        (Value::String(covers), _) => {
            format!("`maxim approvals allow {code} --always` would allow {}", printable(covers))
        }
        (_, Value::String(why)) => format!("{code} has no --always: {}", printable(why)),
        _ => format!("{code} has no --always"),
    };
    match approval["any_arguments"].as_str() {
        Some(wider) => {
            format!("{always}\n`maxim approvals allow {code} --any-arguments` would allow {}", printable(wider))
        }
        None => always,
    }
}

fn grants(told: &Value, out: &Out) -> String {
    let all = told["grants"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return "nothing is allowed for good".to_owned();
    }
    let mut table = Table::new(&["id", "given", "by", "used", "last", "covers"]);
    for grant in all {
        let text = |name: &str| grant[name].as_str().unwrap_or("-");
        table.row(vec![
            Cell::text(text("id")),
            Cell::text(local(text("given"))).cut(26),
            Cell::text(text("by")).cut(30),
            Cell::text(grant["used"].to_string()),
            Cell::text(local(text("last_used"))).cut(26),
            Cell::text(text("covers")),
        ]);
    }
    table.show(out.paint).trim_end().to_owned()
}
