//! A mailbox by IMAP: unread letters are brought in, then the server is asked to report new ones.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use async_imap::error::Error;
use async_imap::{Client, Session};
use futures_util::TryStreamExt;
use maxim_bus::bounds::LETTER;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::super::connected::BackOff;
use super::super::{Inlet, Taken};
use super::letter::{Letter, read};
use super::{Email, PATIENCE};

/// Duration of one IDLE; servers end it after half an hour.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// Length of one IDLE while something is left for later.
const LOOK: Duration = Duration::from_secs(3);
/// Letters that may be left for later, at most.
const LEFT: usize = 1000;
/// Letters larger than this aren't fetched, in bytes.
const LARGEST: u32 = LETTER.limit as u32;

/// Letters over the rate limit, by their UID, with the time of the next attempt.
type Left = BTreeMap<u32, Instant>;

/// What a connection must provide.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Debug + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Debug + Send> Wire for T {}

/// A server after its greeting.
pub(super) async fn greeted<T: Wire>(stream: T) -> Result<Client<T>, String> {
    let mut client = Client::new(stream);
    let greeted = tokio::time::timeout(PATIENCE, client.read_response()).await.map_err(|_| late())?;
    greeted.map_err(|error| error.to_string())?.ok_or("it ended the connection before its greeting")?;
    Ok(client)
}

/// A connection before TLS (STARTTLS). What was said before TLS is not used.
pub(super) async fn upgraded<T: Wire>(stream: T) -> Result<T, String> {
    let mut client = greeted(stream).await?;
    let asked = tokio::time::timeout(PATIENCE, client.run_command_and_check_ok("STARTTLS", None)).await;
    asked.map_err(|_| late())?.map_err(|error| {
        format!("it has no STARTTLS: {error}; write imaps:// into channels.email.imap_url, if it has TLS at all")
    })?;
    Ok(client.into_inner())
}

impl Email {
    /// Brings in letters until the connection ends.
    pub(super) async fn watch<T: Wire>(
        &self,
        client: Client<T>,
        inlet: &Inlet,
        pause: &mut BackOff,
    ) -> Result<(), String> {
        let mut session = self.log_in(client).await?;
        let select = tokio::time::timeout(PATIENCE, session.select(&self.mailbox)).await.map_err(|_| late())?;
        select.map_err(|error| {
            format!("the mailbox {:?} can't be opened: {error}; check channels.email.mailbox", self.mailbox)
        })?;
        inlet.line().up();
        pause.reset();
        let (mut left, mut stops) = (Left::new(), inlet.line().stops());
        loop {
            if stops.has_changed().unwrap_or(false) {
                stops.mark_unchanged();
                give_up(&mut session, inlet, &mut left).await?;
            }
            self.bring(&mut session, inlet, &mut left).await?;
            let mut idle = session.idle();
            tokio::time::timeout(PATIENCE, idle.init()).await.map_err(|_| late())?.map_err(told)?;
            let (waiting, _interrupt) = idle.wait_with_timeout(if left.is_empty() { IDLE } else { LOOK });
            waiting.await.map_err(told)?;
            session = tokio::time::timeout(PATIENCE, idle.done()).await.map_err(|_| late())?.map_err(told)?;
        }
    }

    async fn log_in<T: Wire>(&self, client: Client<T>) -> Result<Session<T>, String> {
        let (user, password) = self.login.clone().unwrap_or_default();
        let logged_in = tokio::time::timeout(PATIENCE, client.login(&user, &password)).await.map_err(|_| late())?;
        logged_in.map_err(|(error, _)| {
            format!("the login of {user:?} is refused: {error}; check channels.email.username and password_file")
        })
    }

    /// Brings in all unread letters, the oldest first. Letters that are on disk, or are nothing for the brain, are
    /// marked as read. Letters over the rate stay unread until their time has come.
    async fn bring<T: Wire>(&self, session: &mut Session<T>, inlet: &Inlet, left: &mut Left) -> Result<(), String> {
        let found = tokio::time::timeout(PATIENCE, session.uid_search("UNSEEN")).await.map_err(|_| late())?;
        let mut unread: Vec<u32> = found.map_err(told)?.into_iter().collect();
        unread.sort_unstable();
        left.retain(|uid, _| unread.binary_search(uid).is_ok());
        for uid in unread {
            let due = left.get(&uid).copied();
            if due.is_some_and(|due| Instant::now() < due) {
                continue;
            }
            match fetched(session, uid).await? {
                Some(raw) => match read(&raw, &self.address, &self.vouching, |text| inlet.stops(text)) {
                    Letter::Message(arrived) => {
                        let taken = inlet.take(arrived).await;
                        let taken = taken.map_err(|why| format!("a letter could not be accepted yet: {why}"))?;
                        if let Taken::Limited { retry_after_s, .. } = taken {
                            if due.is_some() || left.len() < LEFT {
                                if due.is_none() {
                                    inlet.line().count("deferred");
                                }
                                left.insert(uid, Instant::now() + Duration::from_secs(retry_after_s));
                                continue;
                            }
                            inlet.line().count("limited");
                        }
                    }
                    Letter::Ignored(why) => {
                        tracing::info!(why, "a letter is ignored");
                        inlet.line().count("ignored");
                    }
                },
                None => inlet.line().count("ignored"),
            }
            left.remove(&uid);
            mark_read(session, uid).await?;
        }
        Ok(())
    }
}

async fn mark_read<T: Wire>(session: &mut Session<T>, uid: u32) -> Result<(), String> {
    let marking = async {
        let marked = session.uid_store(uid.to_string(), "+FLAGS.SILENT (\\Seen)").await?;
        marked.try_collect::<Vec<_>>().await
    };
    tokio::time::timeout(PATIENCE, marking).await.map_err(|_| late())?.map_err(told).map(|_| ())
}

/// Letters from before a stop are not processed after it.
async fn give_up<T: Wire>(session: &mut Session<T>, inlet: &Inlet, left: &mut Left) -> Result<(), String> {
    while let Some((uid, _)) = left.pop_first() {
        inlet.line().count("limited");
        mark_read(session, uid).await?;
    }
    Ok(())
}

/// The whole letter, unless it is too large or gone.
async fn fetched<T: Wire>(session: &mut Session<T>, uid: u32) -> Result<Option<Vec<u8>>, String> {
    let asked = |what: &'static str| (uid.to_string(), what);
    let fetching = async {
        let (set, query) = asked("(UID RFC822.SIZE)");
        let sizes: Vec<_> = session.uid_fetch(set, query).await?.try_collect().await?;
        if sizes.iter().filter_map(|fetch| fetch.size).any(|size| size > LARGEST) {
            return Ok(None);
        }
        let (set, query) = asked("(UID BODY.PEEK[])");
        let letters: Vec<_> = session.uid_fetch(set, query).await?.try_collect().await?;
        Ok(letters.iter().find_map(|fetch| fetch.body().map(<[u8]>::to_vec)))
    };
    let fetched = tokio::time::timeout(2 * PATIENCE, fetching).await.map_err(|_| late())?;
    fetched.map_err(told)
}

fn late() -> String {
    format!("it has not answered within {} s", PATIENCE.as_secs())
}

#[allow(clippy::needless_pass_by_value)] // as map_err passes it
fn told(error: Error) -> String {
    error.to_string()
}
