//! What a server says of replication, cluster and modules when it has no part in any.

use crate::run_script_with;
use larder_testkit::Kind;

#[test]
fn no_replicas_no_cluster_no_modules() {
    run_script_with(
        Kind::Valkey,
        r#"
        ROLE
        ROLE x
        READONLY
        READWRITE
        ASKING
        CLUSTER INFO
        CLUSTER HELP
        CLUSTER FOO
        CLUSTER MEET
        CLUSTER COUNTKEYSINSLOT x
        CLUSTER KEYSLOT a
        CLUSTER KEYSLOT x{a}y{b}
        CLUSTER KEYSLOT {}a
        CLUSTERSCAN 0
        MODULE LIST
        MODULE LOAD /x
        MODULE LOADEX /x
        MODULE UNLOAD x
        MODULE FOO
        REPLICAOF NO ONE
        SLAVEOF no one
        REPLICAOF a x
        REPLICAOF NO X
        REPLICAOF x 70000
        REPLICAOF x
        FAILOVER
        FAILOVER ABORT
        FAILOVER TO a 1
        FAILOVER TO a x FORCE
        FAILOVER TO a
        FAILOVER FORCE TIMEOUT 5
        FAILOVER TIMEOUT x
        FAILOVER TIMEOUT 0
        FAILOVER TIMEOUT
        FAILOVER ABORT TIMEOUT 5
        FAILOVER FOO
        REPLCONF
        REPLCONF a
        RESTORE-ASKING k 0 x
        MULTI
        REPLICAOF NO ONE
        ROLE
        CLUSTER INFO
        EXEC
        MULTI
        SYNC
        PSYNC ? -1
        DISCARD
        COMMAND COUNT x
        COMMAND INFO role cluster|info sentinel
        "#,
        &[],
    );
}

/// Rules that name any command of the peer.
#[test]
fn every_name_is_known_to_access_control() {
    run_script_with(
        Kind::Valkey,
        r"
        ACL SETUSER x on nopass ~* +@all -cluster -psync -replconf -module|load +role +failover +asking
        ACL SETUSER x -sentinel
        ACL CAT dangerous
        ACL CAT connection
        ACL CAT fast
        ACL CAT admin
        ",
        &[],
    );
}
