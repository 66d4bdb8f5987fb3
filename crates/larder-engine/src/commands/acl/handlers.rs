//! The handlers of the ACL commands, by the names of `command::tables::acl`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("acl|cat", super::inspect::cat),
    ("acl|deluser", super::manage::deluser),
    ("acl|dryrun", super::inspect::dryrun),
    ("acl|genpass", super::manage::genpass),
    ("acl|getuser", super::inspect::getuser),
    ("acl|help", super::help),
    ("acl|list", super::inspect::list),
    ("acl|load", super::manage::load),
    ("acl|log", super::log::log),
    ("acl|save", super::manage::save),
    ("acl|setuser", super::manage::setuser),
    ("acl|users", super::inspect::users),
    ("acl|whoami", super::inspect::whoami),
];
