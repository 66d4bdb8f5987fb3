//! The reply of WAITAOF, which the thread that syncs the log may send.

use larder_resp::Reply;

/// The reply of WAITAOF: whether this server has it on the disk, and how many replicas have.
pub(crate) fn write_synced(reply: &mut Reply<'_>, here: bool) {
    reply.array(2);
    reply.int(i64::from(here));
    reply.int(0);
}
