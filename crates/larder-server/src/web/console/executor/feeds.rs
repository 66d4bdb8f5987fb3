//! Feeds of a login: starts, reads and ends them.

use super::super::feed::{Feed, Kind};
use super::super::logins::Token;
use super::anatomy::json_of;
use super::{Answer, State};
use larder_engine::Ran;
use larder_resp::OwnedArgs;
use std::time::Instant;

/// Feeds of all logins at once.
const FEEDS_MAX: usize = 8;

const TOO_MANY: &str = "{\"error\":\"ERR Too many consoles listen already\"}";

impl State {
    /// Has a client of its own listen by these commands.
    pub(super) fn start_feed(
        &mut self,
        token: &Token,
        (kind, db): (Kind, usize),
        commands: &[OwnedArgs],
        now: Instant,
    ) -> Answer {
        self.end_feed(token, kind, now);
        if self.logins.count_feeds() >= FEEDS_MAX {
            return Answer::Json(TOO_MANY.to_owned());
        }
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let mut session = self.worker.open_as(&login.session);
        session.select(db);
        for args in commands {
            let mut reply = Vec::new();
            let ran = self.worker.listen(&mut session, args.as_args(), &mut reply);
            if ran != Ran::Answered || reply.first() == Some(&b'-') {
                self.worker.close(session);
                return Answer::Json(json_of(&reply));
            }
        }
        let feed = Feed::new(session, kind, self.worker.missed(), now);
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        login.feeds.push(feed);
        self.read_feed(token, kind, 0, now)
    }

    /// The lines of a feed from a number on.
    pub(super) fn read_feed(&mut self, token: &Token, kind: Kind, from: u64, now: Instant) -> Answer {
        let missed = self.worker.missed();
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        Answer::Json(match login.feeds.iter_mut().find(|feed| feed.kind == kind) {
            Some(feed) => feed.write(from, missed, now),
            None => "{\"state\":\"off\"}".to_owned(),
        })
    }

    pub(super) fn end_feed(&mut self, token: &Token, kind: Kind, now: Instant) {
        let Some(login) = self.logins.find(token, now) else { return };
        if let Some(at) = login.feeds.iter().position(|feed| feed.kind == kind) {
            let feed = login.feeds.swap_remove(at);
            self.worker.close(feed.session);
        }
    }
}
