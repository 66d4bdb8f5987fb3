//! Changes of users as the whole server sees them: files, and the connections that must not go on.

use crate::acl::{AclChange, User, UsersError, parse_file, starts_with_all_channels, to_file};
use crate::clients::session::ClientShared;
use crate::delivery::mailbox::Mail;
use crate::engine::Engine;
use crate::host::{LogLevel, SystemError};
use std::sync::Arc;

impl Engine {
    /// Makes the users of `user` lines of the configuration, and those of the ACL file; before there are connections.
    pub fn load_users(&self, lines: &[Vec<String>]) -> Result<(), UsersError> {
        let path = self.config.value("aclfile");
        if !path.is_empty() && !lines.is_empty() {
            return Err(UsersError::TwoSources);
        }
        for name in self.acl.load_lines(lines, &self.config).map_err(UsersError::Line)? {
            let text = format!(
                "The user '{name}' is disabled (there is no 'on' modifier in the user description). Make sure this is \
                 not a configuration error."
            );
            self.host.log(LogLevel::Notice, &text);
        }
        if !path.is_empty() {
            self.load_acl_file(&path)
                .map_err(|errors| UsersError::File(String::from_utf8_lossy(&errors).into_owned()))?;
        }
        Ok(())
    }

    /// Whether a connection is served without a password: the default user has none.
    pub fn needs_no_password(&self) -> bool {
        self.acl.default_user().rights().nopass()
    }

    /// Whether there is a user of this name.
    pub fn has_user(&self, name: &[u8]) -> bool {
        self.acl.find(name).is_some()
    }

    /// Replaces all users by those of the ACL file.
    pub(crate) fn load_acl_file(&self, path: &str) -> Result<AclChange, Vec<u8>> {
        let text = self
            .host
            .read_acl_file(path)
            .map_err(|reason| format!("Error loading ACLs, opening file '{path}': {reason}").into_bytes())?;
        let users = parse_file(path, &text, starts_with_all_channels(&self.config))?;
        Ok(self.acl.replace(users))
    }

    /// Writes all users into the ACL file.
    pub(crate) fn save_acl_file(&self, path: &str) -> Result<(), SystemError> {
        self.host.write_acl_file(path, &to_file(&self.acl.lines())).inspect_err(|reason| {
            self.host.log(LogLevel::Warning, &format!("Failed to save the ACL file: {reason}"));
        })
    }

    /// The users as lines of the configuration file; none if they have a file of their own.
    pub(crate) fn user_lines(&self) -> Vec<String> {
        if !self.config.value("aclfile").is_empty() {
            return Vec::new();
        }
        self.acl.lines().iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    /// Closes the connections of deleted users, and has the subscriptions checked of users who may have lost channels; all but those of
    /// `me`, which checks itself.
    pub(crate) fn apply_change(&self, aftermath: &AclChange, me: u64) {
        for client in self.clients.snapshot() {
            if client.id == me {
                continue;
            }
            if aftermath.gone.iter().any(|user| self.is_of(&client, user)) {
                self.close_client(&client);
            } else if aftermath.narrowed.iter().any(|user| self.is_of(&client, user)) {
                self.mailboxes.send(client.worker, Mail::Recheck { client: client.id });
            }
        }
    }

    fn is_of(&self, client: &ClientShared, user: &Arc<User>) -> bool {
        let names = client.names.lock();
        Arc::ptr_eq(names.user.as_ref().unwrap_or(self.acl.default_user()), user)
    }
}
