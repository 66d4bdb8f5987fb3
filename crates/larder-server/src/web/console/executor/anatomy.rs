//! MEMORY ANATOMY for a login: starts the walk, reports its progress, keeps the result.

use super::super::json::write_replies;
use super::super::logins::{Anatomy, Token};
use super::{Answer, State};
use larder_engine::Ran;
use larder_resp::OwnedArgs;
use std::time::Instant;

impl State {
    pub(super) fn start_anatomy(
        &mut self,
        token: &Token,
        db: usize,
        args: &OwnedArgs,
        now: Instant,
    ) -> Answer {
        self.set_anatomy(token, Anatomy::None, now);
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let mut session = self.worker.open_as(&login.session);
        let mut reply = Vec::new();
        match self.worker.run(&mut session, (db, self.permit), args.as_args(), true, &mut reply) {
            Ran::Waits { .. } => login.anatomy = Anatomy::UnderWay(session),
            Ran::Answered | Ran::Closed => {
                login.anatomy = Anatomy::Done(json_of(&reply));
                self.worker.close(session);
            }
        }
        self.look_at_anatomy(token, now)
    }

    pub(super) fn look_at_anatomy(&mut self, token: &Token, now: Instant) -> Answer {
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        Answer::Json(match &login.anatomy {
            Anatomy::None => "{\"state\":\"none\"}".to_owned(),
            Anatomy::Done(json) => format!("{{\"state\":\"done\",\"result\":{json}}}"),
            Anatomy::UnderWay(_) => {
                let (looked, total) = self.worker.engine().anatomy_progress().unwrap_or_default();
                format!("{{\"state\":\"running\",\"looked\":{looked},\"total\":{total}}}")
            }
        })
    }

    pub(super) fn set_anatomy(&mut self, token: &Token, anatomy: Anatomy, now: Instant) {
        let Some(login) = self.logins.find(token, now) else { return };
        if let Anatomy::UnderWay(session) = std::mem::replace(&mut login.anatomy, anatomy) {
            self.worker.close(session);
        }
    }
}

/// One reply as JSON.
pub(super) fn json_of(reply: &[u8]) -> String {
    let mut json = String::new();
    write_replies(reply, &mut json);
    let inner = json.strip_prefix('[').and_then(|json| json.strip_suffix(']')).unwrap_or_default();
    if inner.is_empty() { "null".to_owned() } else { inner.to_owned() }
}
