//! The table of the ACL commands: what each is called and takes.

use crate::command::spec::{Command, Group, Secrets, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[Command {
    name: "acl",
    arity: -2,
    flags: NONE,
    group: Group::Server,
    since: "6.0.0",
    summary: "Manages users and their rights.",
    complexity: "Depends on the subcommand",
    subcommands: &[
        Command {
            name: "cat",
            arity: -2,
            flags: LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Returns the categories, or the commands of one.",
            complexity: "O(n) for n commands",
            args: "category:string?",
            ..Command::DEFAULT
        },
        Command {
            name: "deluser",
            secrets: Secrets::From(2),
            arity: -3,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Deletes users, and closes their connections.",
            complexity: "O(n) for n connections",
            args: "username:string*",
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            ..Command::DEFAULT
        },
        Command {
            name: "dryrun",
            arity: -4,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "7.0.0",
            summary: "Checks whether a user may run a command, without running it.",
            complexity: "O(k * p) for k keys and p patterns of keys",
            args: "username:string command:string arg:string?*",
            ..Command::DEFAULT
        },
        Command {
            name: "genpass",
            arity: -2,
            flags: LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Generates a random password.",
            complexity: "O(1)",
            args: "bits:integer?",
            ..Command::DEFAULT
        },
        Command {
            name: "getuser",
            secrets: Secrets::From(2),
            arity: 3,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            history: &[
                ("6.2.0", "Returns the patterns of channels."),
                ("7.0.0", "Returns selectors, and patterns of keys and channels as rules."),
                ("9.1.0", "Returns the rules on databases."),
            ],
            summary: "Returns the rights of a user.",
            complexity: "O(n) for n commands",
            args: "username:string",
            ..Command::DEFAULT
        },
        Command {
            name: "help",
            arity: 2,
            flags: LOADING | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Lists the subcommands.",
            complexity: "O(1)",
            ..Command::DEFAULT
        },
        Command {
            name: "list",
            arity: 2,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Returns all users as lines of a configuration file.",
            complexity: "O(n * m) for n users and m commands",
            ..Command::DEFAULT
        },
        Command {
            name: "load",
            arity: 2,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Reloads users from the ACL file.",
            complexity: "O(n) for n users, and for the connections",
            ..Command::DEFAULT
        },
        Command {
            name: "log",
            arity: -2,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            history: &[(
                "7.2.0",
                "Returns the number of each entry, and the times when it was created and last updated.",
            )],
            summary: "Returns or clears the log of refused commands and logins.",
            complexity: "O(n) for n entries",
            args: "operation:oneof?(count:integer reset:pure-token=RESET)",
            ..Command::DEFAULT
        },
        Command {
            name: "save",
            arity: 2,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Saves all users to the ACL file.",
            complexity: "O(n * m) for n users and m commands",
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            ..Command::DEFAULT
        },
        Command {
            name: "setuser",
            secrets: Secrets::From(2),
            arity: -3,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            history: &[
                ("6.2.0", "Takes patterns of channels."),
                ("7.0.0", "Takes selectors, and rights on keys to read or to write."),
                ("9.1.0", "Takes rules on databases."),
            ],
            summary: "Creates or modifies a user.",
            complexity: "O(n) for n rules, and for the connections",
            args: "username:string rule:string?*",
            tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
            ..Command::DEFAULT
        },
        Command {
            name: "users",
            arity: 2,
            flags: ADMIN | LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Returns the names of all users.",
            complexity: "O(n) for n users",
            ..Command::DEFAULT
        },
        Command {
            name: "whoami",
            arity: 2,
            flags: LOADING | NOSCRIPT | STALE,
            group: Group::Server,
            since: "6.0.0",
            summary: "Returns the name of the connection's user.",
            complexity: "O(1)",
            ..Command::DEFAULT
        },
    ],
    ..Command::DEFAULT
}];
