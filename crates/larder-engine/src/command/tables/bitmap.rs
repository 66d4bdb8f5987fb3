//! The table of the bitmap commands: what each is called, takes and touches.

use crate::command::key_finders;
use crate::command::spec::{Command, Group, KeySpec, Scope, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "bitcount",
        arity: -2,
        flags: READONLY,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Bitmap,
        since: "2.6.0",
        history: &[
            ("7.0.0", "Takes `BYTE` and `BIT`."),
            ("8.0.0", "The end may be omitted; the range then ends at the last byte."),
        ],
        summary: "Counts the set bits of a string, or of a range of it.",
        complexity: "O(n) for n bytes",
        args: "key:key#0 range:block?(start:integer end-unit-block:block?(end:integer unit:oneof?@7.0.0(byte:pure-token=BYTE bit:pure-token=BIT)))",
        ..Command::DEFAULT
    },
    Command {
        name: "bitfield",
        arity: -2,
        flags: DENYOOM | WRITE,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RW UPDATE ACCESS VARIABLE_FLAGS").noting("It reads and changes the value.")],
        find_keys: Some(key_finders::bitfield),
        group: Group::Bitmap,
        since: "3.2.0",
        summary: "Reads, writes and increments integers of any width at any bit of a string.",
        complexity: "O(n) for n operations",
        args: "key:key#0 operation:oneof?*(get-block:block=GET(encoding:string offset:integer) write:block(overflow-block:oneof=OVERFLOW?(wrap:pure-token=WRAP sat:pure-token=SAT fail:pure-token=FAIL) write-operation:oneof(set-block:block=SET(encoding:string offset:integer value:integer) incrby-block:block=INCRBY(encoding:string offset:integer increment:integer))))",
        ..Command::DEFAULT
    },
    Command {
        name: "bitfield_ro",
        arity: -2,
        flags: FAST | READONLY,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Bitmap,
        since: "6.0.0",
        summary: "Reads integers of any width at any bit of a string.",
        complexity: "O(n) for n operations",
        args: "key:key#0 get-block:block=GET?*+(encoding:string offset:integer)",
        ..Command::DEFAULT
    },
    Command {
        name: "bitop",
        arity: -4,
        flags: DENYOOM | WRITE,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(2, "OW UPDATE"), KeySpec::rest(3, "RO ACCESS")],
        group: Group::Bitmap,
        since: "2.6.0",
        summary: "Combines the bits of strings and stores the result.",
        complexity: "O(n) for n bytes of all sources",
        args: "operation:oneof(and:pure-token=AND or:pure-token=OR xor:pure-token=XOR not:pure-token=NOT) destkey:key#0 key:key*#1",
        ..Command::DEFAULT
    },
    Command {
        name: "bitpos",
        arity: -3,
        flags: READONLY,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Bitmap,
        since: "2.8.7",
        history: &[("7.0.0", "Takes `BYTE` and `BIT`.")],
        summary: "Finds the first set or clear bit in a string, or in a range of it.",
        complexity: "O(n) for n bytes",
        args: "key:key#0 bit:integer range:block?(start:integer end-unit-block:block?(end:integer unit:oneof?@7.0.0(byte:pure-token=BYTE bit:pure-token=BIT)))",
        ..Command::DEFAULT
    },
    Command {
        name: "getbit",
        arity: 3,
        flags: FAST | READONLY,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Bitmap,
        since: "2.2.0",
        summary: "Returns one bit of a string.",
        complexity: "O(1)",
        args: "key:key#0 offset:integer",
        ..Command::DEFAULT
    },
    Command {
        name: "setbit",
        arity: 4,
        flags: DENYOOM | WRITE,
        acl: "bitmap",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RW ACCESS UPDATE")],
        group: Group::Bitmap,
        since: "2.2.0",
        summary: "Sets or clears one bit of a string and returns its previous value.",
        complexity: "O(1)",
        args: "key:key#0 offset:integer value:integer",
        ..Command::DEFAULT
    },
];
