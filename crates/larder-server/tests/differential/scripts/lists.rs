//! Lists.

use crate::run_script;

#[test]
fn lists() {
    run_script(
        r#"
        LPUSH l a
        LPUSH l b c
        RPUSH l 1 2 3 -5 007 9223372036854775807 -9223372036854775808 9223372036854775808
        LRANGE l 0 -1
        LRANGE l -3 -1
        LRANGE l 5 2
        LRANGE l -100 100
        LRANGE l a 1
        LRANGE none 0 -1
        LLEN l
        LLEN none
        LINDEX l 0
        LINDEX l -1
        LINDEX l 100
        LINDEX l -100
        LINDEX l x
        LINDEX none 0
        LINDEX none x
        LSET l 0 new
        LSET l -1 last
        LSET l 100 x
        LSET l x y
        LSET none 0 x
        LSET none x x
        LINSERT l BEFORE 1 zero
        LINSERT l AFTER 1 one
        LINSERT l after nothere x
        LINSERT l FOO 1 x
        LINSERT none BEFORE a b
        LPUSHX l x y
        RPUSHX l z
        LPUSHX none x
        RPUSHX none x
        LPUSH l
        LRANGE l 0 -1
        RPUSH d a b c 1 2 3 c c
        LPOS d c
        LPOS d c RANK 2
        LPOS d c RANK -1
        LPOS d c RANK 0
        LPOS d c RANK 4
        LPOS d c COUNT 0
        LPOS d c COUNT 1
        LPOS d c COUNT -1
        LPOS d c COUNT 2 RANK -1
        LPOS d c COUNT 0 MAXLEN 3
        LPOS d c MAXLEN 2
        LPOS d c MAXLEN -1
        LPOS d c COUNT 0 MAXLEN 3 RANK -1
        LPOS d 2
        LPOS d x
        LPOS d x COUNT 0
        LPOS none x
        LPOS none x COUNT 0
        LPOS d c FOO 1
        LPOS d c COUNT
        LREM d 1 c
        LREM d -1 c
        LREM d 0 c
        LREM d 0 2
        LREM d x c
        LREM none 1 c
        LRANGE d 0 -1
        LTRIM d 1 2
        LRANGE d 0 -1
        LTRIM d 5 10
        EXISTS d
        LTRIM none 0 1
        LTRIM l x 1
        LPOP l
        RPOP l
        LPOP l 2
        RPOP l 2
        LPOP l 0
        LPOP l -1
        LPOP l x
        LPOP l 1 2
        LPOP none
        LPOP none 0
        LPOP none 5
        LPOP l 100
        EXISTS l
        RPUSH s 1 2 3
        RPOPLPUSH s t
        RPOPLPUSH s s
        LRANGE s 0 -1
        LMOVE s t LEFT RIGHT
        LMOVE s t RIGHT LEFT
        LMOVE s t LEFT LEFT
        LMOVE s t UP LEFT
        LMOVE none t LEFT LEFT
        LRANGE t 0 -1
        LMOVE t t LEFT RIGHT
        LMOVE t t LEFT LEFT
        LRANGE t 0 -1
        LMPOP 1 t LEFT
        LMPOP 2 none t RIGHT COUNT 5
        LMPOP 1 none LEFT
        LMPOP 0 t LEFT
        LMPOP x t LEFT
        LMPOP 2 t LEFT
        LMPOP 1 t UP
        LMPOP 1 t LEFT COUNT 0
        LMPOP 1 t LEFT COUNT x
        LMPOP 1 t LEFT COUNT
        LMPOP 1 t LEFT FOO 1
        RPUSH q a b c
        BLPOP q 0
        BRPOP none q 0
        BLPOP q x
        BLPOP q -1
        BLPOP none 0.01
        BRPOP none 0.01
        BLMPOP 0.01 1 none LEFT
        BLMPOP 0.01 2 none q LEFT COUNT 10
        BLMPOP x 1 q LEFT
        BLMPOP 0 0 q LEFT
        BLMOVE none q LEFT RIGHT 0.01
        BRPOPLPUSH none q 0.01
        RPUSH q 1
        BLMOVE q q2 LEFT RIGHT 0
        BRPOPLPUSH q2 q 1
        BLMOVE q q2 FOO RIGHT 0
        BLMOVE q q2 LEFT RIGHT -1
        SET str x
        LPUSH str a
        LPUSHX str a
        LRANGE str 0 -1
        LLEN str
        LINDEX str 0
        LSET str 0 a
        LINSERT str BEFORE a b
        LPOS str a
        LREM str 0 a
        LTRIM str 0 1
        LPOP str
        LPOP str 1
        RPOPLPUSH q str
        RPOPLPUSH str q
        LMOVE q str LEFT LEFT
        LMPOP 1 str LEFT
        BLPOP str 0
        BLPOP none str 0
        BLMOVE str q LEFT LEFT 0
        BLMOVE none str LEFT LEFT 0.01
        LRANGE q 0 -1
        MULTI
        BLPOP none 0
        BLMOVE none q LEFT LEFT 0
        BRPOPLPUSH none q 0
        BLMPOP 0 1 none LEFT
        RPUSH q 7
        BLPOP q 0
        EXEC
        "#,
        &[],
    );
}
