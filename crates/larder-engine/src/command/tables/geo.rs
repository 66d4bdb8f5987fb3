//! The table of the geo commands: what each is called, takes and touches.

use crate::command::key_finders;
use crate::command::spec::{Begin, Command, Find, Group, KeySpec, Scope, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "geoadd",
        arity: -5,
        flags: DENYOOM | WRITE,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RW UPDATE")],
        group: Group::Geo,
        since: "3.2.0",
        summary: "Adds members with their positions to a sorted set, or moves them.",
        complexity: "O(log n) for each member",
        args: "key:key#0 condition:oneof?@6.2.0(nx:pure-token=NX xx:pure-token=XX) change:pure-token=CH?@6.2.0 data:block*(longitude:double latitude:double member:string)",
        ..Command::DEFAULT
    },
    Command {
        name: "geodist",
        arity: -4,
        flags: READONLY,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the distance between two members.",
        complexity: "O(1)",
        args: "key:key#0 member1:string member2:string unit:oneof?(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI)",
        ..Command::DEFAULT
    },
    Command {
        name: "geohash",
        arity: -2,
        flags: READONLY,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the geohashes of members.",
        complexity: "O(1) for each member",
        args: "key:key#0 member:string?*",
        ..Command::DEFAULT
    },
    Command {
        name: "geopos",
        arity: -2,
        flags: READONLY,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns the positions of members.",
        complexity: "O(1) for each member",
        args: "key:key#0 member:string?*",
        ..Command::DEFAULT
    },
    Command {
        name: "georadius",
        arity: -6,
        flags: DENYOOM | WRITE,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[
            KeySpec::one(1, "RO ACCESS"),
            KeySpec {
                begin: Begin::Keyword { word: "STORE", from: 6 },
                find: Find::Range { last: 0, step: 1, limit: 0 },
                flags: "OW UPDATE VARIABLE_FLAGS",
            },
            KeySpec {
                begin: Begin::Keyword { word: "STOREDIST", from: 6 },
                find: Find::Range { last: 0, step: 1, limit: 0 },
                flags: "OW UPDATE VARIABLE_FLAGS",
            },
        ],
        find_keys: Some(key_finders::georadius),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns, or stores, the members within a distance from a position.",
        complexity: "O(n + k log k) for n members in the cells around the area and k of them inside",
        args: "key:key#0 longitude:double latitude:double radius:double unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI) withcoord:pure-token=WITHCOORD? withdist:pure-token=WITHDIST? withhash:pure-token=WITHHASH? count-block:block?(count:integer=COUNT any:pure-token=ANY?@6.2.0) order:oneof?(asc:pure-token=ASC desc:pure-token=DESC) store:oneof?(storekey:key=STORE#1 storedistkey:key=STOREDIST#2)",
        ..Command::DEFAULT
    },
    Command {
        name: "georadiusbymember",
        arity: -5,
        flags: DENYOOM | WRITE,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[
            KeySpec::one(1, "RO ACCESS"),
            KeySpec {
                begin: Begin::Keyword { word: "STORE", from: 5 },
                find: Find::Range { last: 0, step: 1, limit: 0 },
                flags: "OW UPDATE VARIABLE_FLAGS",
            },
            KeySpec {
                begin: Begin::Keyword { word: "STOREDIST", from: 5 },
                find: Find::Range { last: 0, step: 1, limit: 0 },
                flags: "OW UPDATE VARIABLE_FLAGS",
            },
        ],
        find_keys: Some(key_finders::georadius),
        group: Group::Geo,
        since: "3.2.0",
        summary: "Returns, or stores, the members within a distance from another member.",
        complexity: "O(n + k log k) for n members in the cells around the area and k of them inside",
        args: "key:key#0 member:string radius:double unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI) withcoord:pure-token=WITHCOORD? withdist:pure-token=WITHDIST? withhash:pure-token=WITHHASH? count-block:block?(count:integer=COUNT any:pure-token=ANY?) order:oneof?(asc:pure-token=ASC desc:pure-token=DESC) store:oneof?(storekey:key=STORE#1 storedistkey:key=STOREDIST#2)",
        ..Command::DEFAULT
    },
    Command {
        name: "georadiusbymember_ro",
        arity: -5,
        flags: READONLY,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Geo,
        since: "3.2.10",
        summary: "Returns the members within a distance from another member.",
        complexity: "O(n + k log k) for n members in the cells around the area and k of them inside",
        args: "key:key#0 member:string radius:double unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI) withcoord:pure-token=WITHCOORD? withdist:pure-token=WITHDIST? withhash:pure-token=WITHHASH? count-block:block?(count:integer=COUNT any:pure-token=ANY?) order:oneof?(asc:pure-token=ASC desc:pure-token=DESC)",
        ..Command::DEFAULT
    },
    Command {
        name: "georadius_ro",
        arity: -6,
        flags: READONLY,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Geo,
        since: "3.2.10",
        summary: "Returns the members within a distance from a position.",
        complexity: "O(n + k log k) for n members in the cells around the area and k of them inside",
        args: "key:key#0 longitude:double latitude:double radius:double unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI) withcoord:pure-token=WITHCOORD? withdist:pure-token=WITHDIST? withhash:pure-token=WITHHASH? count-block:block?(count:integer=COUNT any:pure-token=ANY?@6.2.0) order:oneof?(asc:pure-token=ASC desc:pure-token=DESC)",
        ..Command::DEFAULT
    },
    Command {
        name: "geosearch",
        arity: -7,
        flags: READONLY,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RO ACCESS")],
        group: Group::Geo,
        since: "6.2.0",
        summary: "Returns the members inside a circle, a box or a polygon.",
        complexity: "O(n + k log k) for n members in the cells around the area and k of them inside",
        args: "key:key#0 from:oneof?(member:string=FROMMEMBER fromlonlat:block=FROMLONLAT(longitude:double latitude:double)) by:oneof(circle:block(radius:double=BYRADIUS unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI)) box:block(width:double=BYBOX height:double unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI)) polygon:block@9.0.0(num-vertices:integer=BYPOLYGON vertices:block*(longitude:double latitude:double))) order:oneof?(asc:pure-token=ASC desc:pure-token=DESC) count-block:block?(count:integer=COUNT any:pure-token=ANY?) withcoord:pure-token=WITHCOORD? withdist:pure-token=WITHDIST? withhash:pure-token=WITHHASH?",
        ..Command::DEFAULT
    },
    Command {
        name: "geosearchstore",
        arity: -8,
        flags: DENYOOM | WRITE,
        acl: "geo",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "OW UPDATE"), KeySpec::one(2, "RO ACCESS")],
        group: Group::Geo,
        since: "6.2.0",
        summary: "Stores the members inside a circle, a box or a polygon in another sorted set.",
        complexity: "O(n + k log k) for n members in the cells around the area and k of them inside",
        args: "destination:key#0 source:key#1 from:oneof?(member:string=FROMMEMBER fromlonlat:block=FROMLONLAT(longitude:double latitude:double)) by:oneof(circle:block(radius:double=BYRADIUS unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI)) box:block(width:double=BYBOX height:double unit:oneof(m:pure-token=M km:pure-token=KM ft:pure-token=FT mi:pure-token=MI)) polygon:block@9.0.0(num-vertices:integer=BYPOLYGON vertices:block*(longitude:double latitude:double))) order:oneof?(asc:pure-token=ASC desc:pure-token=DESC) count-block:block?(count:integer=COUNT any:pure-token=ANY?) storedist:pure-token=STOREDIST?",
        ..Command::DEFAULT
    },
];
