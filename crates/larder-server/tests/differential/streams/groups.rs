//! Reading with groups, claiming, and how far groups have read.

use crate::run_script;

#[test]
fn groups() {
    run_script(
        r#"
        XGROUP

        XGROUP NOSUCH
        XGROUP CREATE s g
        XGROUP CREATE s g $
        XGROUP CREATE s g $ MKSTREAM
        XGROUP CREATE s g $
        XGROUP CREATE s g x
        XGROUP CREATE s h x
        XGROUP CREATE s h -
        XGROUP CREATE s h 0 NOSUCH
        XGROUP CREATE s h 0 ENTRIESREAD
        XGROUP CREATE s h 0 ENTRIESREAD x
        XGROUP CREATE s h 0 ENTRIESREAD -2
        XGROUP CREATE s h 0 ENTRIESREAD -1
        XGROUP CREATE s i 0 ENTRIESREAD 3 MKSTREAM
        XGROUP CREATE s j 0 MKSTREAM MKSTREAM MKSTREAM
        XGROUP CREATE s j 0 MKSTREAM MKSTREAM MKSTREAM MKSTREAM
        XGROUP CREATE new j x MKSTREAM
        EXISTS new
        TYPE s
        XLEN s
        XRANGE s - +
        XINFO GROUPS s
        XINFO GROUPS none
        XINFO GROUPS
        XINFO STREAM none
        XINFO CONSUMERS s
        XINFO CONSUMERS none g
        XINFO CONSUMERS s nosuch
        XINFO CONSUMERS s g
        XINFO NOSUCH s
        XINFO

        XINFO STREAM s FULL COUNT
        XINFO STREAM s FULL COUNT x
        XINFO STREAM s FULL NOSUCH 1
        XINFO STREAM s NOSUCH
        SET str x
        XINFO STREAM str
        XINFO GROUPS str
        XINFO CONSUMERS str g
        XGROUP CREATE str g 0
        XGROUP DESTROY str g
        XGROUP SETID str g 0
        XGROUP CREATECONSUMER str g c
        XGROUP DELCONSUMER str g c
        XADD s 5-1 a b
        XADD s 6-1 a b
        XADD s 7-1 a b
        XINFO GROUPS s
        XGROUP SETID s g 5-1
        XGROUP SETID s g $
        XGROUP SETID s g -
        XGROUP SETID s g x
        XGROUP SETID s g 0 ENTRIESREAD 2
        XGROUP SETID s g 0 ENTRIESREAD -3
        XGROUP SETID s g 0 NOSUCH
        XGROUP SETID s g 0 ENTRIESREAD 2 ENTRIESREAD 1
        XGROUP SETID s nosuch 0
        XGROUP SETID s nosuch x
        XGROUP SETID none g 0
        XINFO GROUPS s
        XGROUP CREATECONSUMER s g bob
        XGROUP CREATECONSUMER s g bob
        XGROUP CREATECONSUMER s nosuch bob
        XGROUP CREATECONSUMER none g bob
        XGROUP CREATECONSUMER s g
        XGROUP DELCONSUMER s g nobody
        XGROUP DELCONSUMER s nosuch bob
        XGROUP DELCONSUMER none g bob
        XREADGROUP GROUP g alice COUNT 2 STREAMS s >
        XREADGROUP GROUP g bob COUNT 2 STREAMS s >
        XREADGROUP GROUP g carol STREAMS s >
        XINFO GROUPS s
        XPENDING s g
        XGROUP DELCONSUMER s g alice
        XPENDING s g
        XGROUP SETID s g 0
        XREADGROUP GROUP g alice STREAMS s >
        XPENDING s g
        XPENDING s g - + 10 bob
        XGROUP DELCONSUMER s g bob
        XGROUP DESTROY s g
        XGROUP DESTROY s g
        XGROUP DESTROY none g
        XREADGROUP GROUP g alice STREAMS s >
        XPENDING s g
        XPENDING s g - + 10
        XPENDING none g
        XPENDING str g
        XPENDING s h
        XPENDING s h -
        XPENDING s h - +
        XPENDING s h - + x
        XPENDING s h x + 10
        XPENDING s h - x 10
        XPENDING s h ( + 10
        XPENDING s h (5-1 (7-1 10
        XPENDING s h - (0-0 10
        XPENDING s h - + -1
        XPENDING s h IDLE 0 - + 10
        XPENDING s h IDLE x - + 10
        XPENDING s h IDLE 0 - +
        XPENDING s h IDLE 0 - + 10 nobody
        XPENDING s h IDLE 0 - + 10 nobody more
        DEL s
        XGROUP CREATE s g 0
        DEBUG DIGEST
        "#,
        &[],
    );
}

#[test]
fn claiming() {
    run_script(
        r#"
        XADD s 1-1 a b
        XADD s 2-1 a b
        XADD s 3-1 a b
        XADD s 4-1 a b
        XCLAIM s g c 0 1-1
        XCLAIM none g c 0 1-1
        XCLAIM none g c x 1-1
        SET str x
        XCLAIM str g c 0 1-1
        XAUTOCLAIM str g c 0 0
        XGROUP CREATE s g 0
        XREADGROUP GROUP g a STREAMS s >
        XCLAIM s g b
        XCLAIM s g b 0
        XCLAIM s g b x 1-1
        XCLAIM s g b 0 x
        XCLAIM s g b 0 1-1 NOSUCH
        XCLAIM s g b 0 1-1 IDLE
        XCLAIM s g b 0 1-1 IDLE x
        XCLAIM s g b 0 1-1 TIME x
        XCLAIM s g b 0 1-1 RETRYCOUNT x
        XCLAIM s g b 0 1-1 LASTID x
        XCLAIM s g b 0 1-1
        XCLAIM s g b -5 1-1 2-1 JUSTID
        XPENDING s g
        XCLAIM s g b 1000000 3-1
        XCLAIM s g b 0 3-1 IDLE 100000000 RETRYCOUNT 7 JUSTID
        XCLAIM s g b 1000000 3-1 4-1
        XCLAIM s g b 0 4-1 TIME 1 RETRYCOUNT 3
        XCLAIM s g c 1000000 4-1 9-9 LASTID 9-9
        XINFO GROUPS s
        XACK s g 1-1
        XCLAIM s g b 0 1-1
        XCLAIM s g b 0 1-1 FORCE
        XCLAIM s g b 0 9-9 FORCE
        XDEL s 2-1
        XCLAIM s g c 0 1-1 2-1 3-1 JUSTID
        XPENDING s g
        XPENDING s g - + 10 a
        XAUTOCLAIM s g d 0 0
        XAUTOCLAIM s g d 0 0 COUNT 1
        XAUTOCLAIM s g d 0 3-1 COUNT 1 JUSTID
        XAUTOCLAIM s g d 0 (3-1 JUSTID
        XAUTOCLAIM s g d 1000000 0
        XAUTOCLAIM s g d 0 99
        XAUTOCLAIM s g d 0 - JUSTID
        XAUTOCLAIM s g d 0 + JUSTID
        XAUTOCLAIM s g d 0 x
        XAUTOCLAIM s g d x 0
        XAUTOCLAIM s g d 0 0 COUNT 0
        XAUTOCLAIM s g d 0 0 COUNT -1
        XAUTOCLAIM s g d 0 0 COUNT x
        XAUTOCLAIM s g d 0 0 COUNT
        XAUTOCLAIM s g d 0 0 NOSUCH
        XAUTOCLAIM s nosuch d 0 0
        XAUTOCLAIM none g d 0 0
        XAUTOCLAIM none g d 0 x
        XDEL s 1-1 4-1
        XAUTOCLAIM s g e 0 0 COUNT 2
        XAUTOCLAIM s g e 0 0
        XPENDING s g
        XGROUP CREATE s h 0
        XCLAIM s h f 0 3-1 FORCE JUSTID
        XCLAIM s h f 0 3-1 FORCE
        XPENDING s h
        XINFO GROUPS s
        "#,
        &[],
    );
}

/// What XINFO says of how far groups have read, after deletions at every spot.
#[test]
fn lags() {
    let mut script =
        String::from("XGROUP CREATE s g 0 MKSTREAM\nXGROUP CREATE s h $ ENTRIESREAD 0\nXINFO GROUPS s\n");
    for i in 1..9 {
        script += &format!("XADD s {i}-0 a b\n");
    }
    let commands = [
        "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
        "XREADGROUP GROUP h c COUNT 1 STREAMS s >",
        "XDEL s 1-0",
        "XREADGROUP GROUP g c COUNT 1 STREAMS s >",
        "XDEL s 5-0",
        "XREADGROUP GROUP h c COUNT 2 STREAMS s >",
        "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
        "XGROUP CREATE s i 3-0",
        "XTRIM s MAXLEN 3",
        "XREADGROUP GROUP i c COUNT 1 STREAMS s >",
        "XTRIM s MINID 8",
        "XGROUP SETID s g 7-0",
        "XREADGROUP GROUP g c STREAMS s >",
        "XSETID s 20 ENTRIESADDED 30 MAXDELETEDID 15",
        "XADD s 21-0 a b",
        "XREADGROUP GROUP g c STREAMS s >",
        "XDEL s 21-0",
        "XTRIM s MAXLEN 0",
        "XGROUP CREATE s k 0",
        "XGROUP CREATE s l $",
        "XGROUP CREATE s m 99",
        "XADD s 22-0 a b",
        "XADD s 23-0 a b",
        "XREADGROUP GROUP k c COUNT 1 STREAMS s >",
        "XREADGROUP GROUP h c STREAMS s >",
        "XREADGROUP GROUP l c STREAMS s >",
        "XDEL s 23-0",
    ];
    for command in commands {
        script += &format!("{command}\nXINFO GROUPS s\n");
    }
    run_script(&script, &[]);
}
