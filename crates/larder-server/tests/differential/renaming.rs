//! `rename-command`: what the new names, the old ones and those that were taken away mean.

use crate::Pair;
use crate::run_script;
use larder_testkit::Value;

/// A chain, a name that another command gets, a container, one that is taken away, and one in mixed case.
const RENAMED: &[&str] = &[
    "--rename-command",
    "GET",
    "G1",
    "--rename-command",
    "G1",
    "G2",
    "--rename-command",
    "SET",
    "GET",
    "--rename-command",
    "CONFIG",
    "cfg",
    "--rename-command",
    "DEL",
    "",
    "--rename-command",
    "incr",
    "NewIncr",
];

#[test]
fn commands_by_their_names() {
    run_script(
        r#"
        GET k 5
        GET k
        SET k v
        G1 k
        G2 k
        g2
        NEWINCR
        newincr k
        incr k
        del k
        config get port
        cfg get maxmemory
        cfg
        cfg foo
        CFG GET
        cfg set
        COMMAND INFO g2 g1 set cfg|get config config|get incr newincr del
        COMMAND DOCS config|get
        COMMAND DOCS del incr
        COMMAND GETKEYS get a
        COMMAND GETKEYS get a b
        COMMAND GETKEYS set a b
        COMMAND GETKEYS g2 a
        COMMAND GETKEYS newincr a
        COMMAND GETKEYS cfg get a
        COMMAND GETKEYSANDFLAGS g2 a
        COMMAND LIST FILTERBY PATTERN c*fig|get
        COMMAND LIST FILTERBY PATTERN newincr
        COMMAND LIST FILTERBY PATTERN del
        COMMAND LIST FILTERBY PATTERN set
        MULTI
        g2 k
        get k 3
        newincr k
        EXEC
        MULTI
        newincr
        EXEC
        MULTI
        incr k
        EXEC
        "#,
        RENAMED,
    );
}

#[test]
fn rules_keep_the_old_names() {
    run_script(
        r"
        ACL SETUSER u on nopass ~* +g2
        ACL SETUSER u on nopass ~* +get
        ACL SETUSER u +set
        ACL SETUSER u +cfg
        ACL SETUSER u +config|get
        ACL SETUSER u +cfg|get
        ACL SETUSER u -incr
        ACL SETUSER u -newincr
        ACL SETUSER u -del
        ACL GETUSER u
        ACL DRYRUN u get a b
        ACL DRYRUN u g2 a
        ACL DRYRUN u set a b
        ACL DRYRUN u cfg get
        ACL DRYRUN u cfg get a
        ACL DRYRUN u newincr a
        ACL DRYRUN u config get a
        ACL DRYRUN u cfg set a b
        AUTH u x
        g2 k
        newincr a
        cfg set a b
        AUTH default x
        ACL DELUSER u
        ",
        RENAMED,
    );
}

#[test]
fn scripts_call_the_new_names() {
    run_script(
        r#"
        EVAL "return redis.call('get','a','1')" 0
        EVAL "return redis.call('g2','a')" 0
        EVAL "return redis.call('newincr','a')" 0
        EVAL "return redis.call('newincr')" 0
        EVAL "return redis.call('incr','a')" 0
        EVAL "return redis.pcall('cfg','get','port')" 0
        EVAL "return redis.acl_check_cmd('g2','a')" 0
        EVAL "return redis.acl_check_cmd('set','a')" 0
        EVAL "return redis.acl_check_cmd('cfg','get','a')" 0
        "#,
        RENAMED,
    );
}

/// All commands by both servers: their order is their own.
#[test]
fn the_list_of_commands_has_their_old_names() {
    let mut pair = Pair::start(1, RENAMED);
    for line in ["COMMAND LIST", "COMMAND LIST FILTERBY ACLCAT write", "COMMAND LIST FILTERBY PATTERN *et"] {
        let (ours, theirs) = pair.both(&crate::words(line));
        let sorted = |value: &Value| {
            let mut names: Vec<String> = value.items().iter().map(Value::text).collect();
            names.sort();
            names
        };
        let mut names = sorted(&ours);
        // Larder's own.
        names.retain(|name| name != "lscan" && name != "memory|anatomy");
        assert_eq!(names, sorted(&theirs), "{line}");
        assert!(!names.iter().any(|name| name == "del" || name == "newincr"));
    }
    let (ours, theirs) = pair.both(&crate::words("COMMAND COUNT"));
    assert_eq!(ours.int(), theirs.int() + 1);
    let (ours, theirs) = pair.both(&crate::words("COMMAND"));
    assert_eq!(ours.items().len(), theirs.items().len() + 1);
}
