//! Who has logged in, by token.

use super::feed::Feed;
use larder_engine::Session;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Logins at once; the one that was used longest ago makes room for the next.
const LOGINS_MAX: usize = 64;
/// A login ends when it was not used for this long, and after this time in any case.
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
pub const LIFE_MAX: Duration = Duration::from_secs(12 * 60 * 60);

/// The secret of a login.
pub type Token = [u8; 16];

/// Somebody who has logged in.
pub struct Login {
    pub session: Session,
    pub anatomy: Anatomy,
    /// At most one of each kind.
    pub feeds: Vec<Feed>,
    since: Instant,
    used: Instant,
}

/// A MEMORY ANATOMY that somebody has asked for.
pub enum Anatomy {
    /// None yet.
    None,
    /// A client of its own waits for it.
    UnderWay(Session),
    /// The reply, as JSON.
    Done(String),
}

/// All logins.
#[derive(Default)]
pub struct Logins(HashMap<Token, Login>);

impl Logins {
    /// Adds a login; returns its token, and those that have to go for it.
    pub fn add(&mut self, session: Session, now: Instant) -> (Token, Vec<Login>) {
        let mut token = Token::default();
        getrandom::fill(&mut token).expect("the system has random numbers");
        let gone = self.shrink_to(LOGINS_MAX - 1);
        self.0.insert(
            token,
            Login { session, anatomy: Anatomy::None, feeds: Vec::new(), since: now, used: now },
        );
        (token, gone)
    }

    fn shrink_to(&mut self, count: usize) -> Vec<Login> {
        let mut gone = Vec::new();
        while self.0.len() > count {
            let oldest = self.0.iter().min_by_key(|(_, login)| login.used).map(|(token, _)| *token);
            gone.extend(oldest.and_then(|token| self.0.remove(&token)));
        }
        gone
    }

    /// The login of a token, which is used now.
    pub fn find(&mut self, token: &Token, now: Instant) -> Option<&mut Login> {
        let login = self.0.get_mut(token)?;
        login.used = now;
        Some(login)
    }

    /// The login that a client belongs to.
    pub fn of_client(&mut self, client: u64) -> Option<(Token, &mut Login)> {
        self.0.iter_mut().find(|(_, login)| login.has_client(client)).map(|(token, login)| (*token, login))
    }

    /// The feed of a client.
    pub fn feed_of(&mut self, client: u64) -> Option<&mut Feed> {
        self.0.values_mut().flat_map(|login| &mut login.feeds).find(|feed| feed.session.id() == client)
    }

    /// The number of feeds.
    pub fn count_feeds(&self) -> usize {
        self.0.values().map(|login| login.feeds.len()).sum()
    }

    /// Takes out the feeds whose time is over.
    pub fn take_feeds_that_are_over(&mut self, now: Instant) -> Vec<Feed> {
        let feeds = self.0.values_mut().map(|login| &mut login.feeds);
        feeds.flat_map(|feeds| feeds.extract_if(.., |feed| feed.is_over(now))).collect()
    }

    /// Takes a login out.
    pub fn remove(&mut self, token: &Token) -> Option<Login> {
        self.0.remove(token)
    }

    /// Takes out those whose time is over.
    pub fn take_expired(&mut self, now: Instant) -> Vec<Login> {
        let is_over = |login: &Login| {
            now.duration_since(login.used) >= IDLE_MAX || now.duration_since(login.since) >= LIFE_MAX
        };
        let over: Vec<Token> =
            self.0.iter().filter(|(_, login)| is_over(login)).map(|(token, _)| *token).collect();
        over.iter().filter_map(|token| self.0.remove(token)).collect()
    }
}

impl Login {
    fn has_client(&self, client: u64) -> bool {
        let waits = matches!(&self.anatomy, Anatomy::UnderWay(session) if session.id() == client);
        let listens = self.feeds.iter().any(|feed| feed.session.id() == client);
        waits || listens || self.session.id() == client
    }

    /// Takes out the feed of a client.
    pub fn take_feed(&mut self, client: u64) -> Option<Feed> {
        let at = self.feeds.iter().position(|feed| feed.session.id() == client)?;
        Some(self.feeds.swap_remove(at))
    }
}
