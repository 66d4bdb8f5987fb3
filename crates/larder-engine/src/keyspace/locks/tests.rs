use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::channel;

/// As a thread that serves no clients would have it.
fn turn(shards: &Shards) -> ScriptTurn<'_> {
    shards.take_turn(&MayWait(()))
}

#[test]
fn held_shards_are_found_and_others_are_not() {
    let shards = Shards::default();
    let mut held = shards.try_lock_many_lent(vec![9, 3, 9, 200]).unwrap();
    for at in 0..SHARDS {
        assert_eq!(held.shard_mut(at).is_some(), [3, 9, 200].contains(&at));
        assert_eq!(held.holds(at), [3, 9, 200].contains(&at));
    }
    drop(held);
    assert!(matches!(shards.try_lock_many_lent(vec![5, 5]), Ok(Held::One(5, _))));
    assert!(shards.try_lock_many_lent(vec![]).is_ok_and(|held| held.is_none()));
    let mut all = shards.lock_all(&turn(&shards));
    assert!(all.is_all() && (0..SHARDS).all(|at| all.shard_mut(at).is_some() && all.holds(at)));
}

#[test]
fn further_shards_are_locked_if_they_are_free() {
    let shards = Shards::default();
    let (low, high) = (shards.try_lock_one(2, NoShards::of_command()).unwrap(), shards.lock_now(200));
    assert!(high.is_some());
    let held = shards.widen_now(Held::One(2, low), [7, 200, 1, 7].into_iter());
    assert!([1, 2, 7].into_iter().all(|at| held.holds(at)) && !held.holds(200));
    drop(high);
    let mut held = shards.widen_now(held, [200].into_iter());
    assert!(held.each_mut().map(|(at, _)| at).eq([1, 2, 7, 200]));
}

/// A script holds a shard and the turn: threads that serve clients give up, wherever among others the shard comes.
#[test]
fn those_who_serve_clients_give_up_when_a_script_takes_too_long() {
    let shards = Arc::new(Shards::default());
    let (turn, held) = (turn(&shards), shards.try_lock_one(7, NoShards::of_command()).unwrap());
    let (started, has_started) = channel();
    let waiting = {
        let shards = Arc::clone(&shards);
        thread::spawn(move || {
            let wanted = || vec![1, 7, 9];
            // Before the script is called busy, one waits, and gives up when it is.
            started.send(()).unwrap();
            assert!(shards.try_lock_many_lent(wanted()).is_err());
            assert!(
                shards.try_lock_one(7, NoShards::of_command()).is_err()
                    && shards.try_lock_many_lent(wanted()).is_err()
            );
            assert!(
                shards.try_lock_all(NoShards::of_command()).is_err()
                    && shards.try_take_turn(NoShards::of_command()).is_err()
            );
            assert!(shards.lock_now(7).is_none() && shards.lock_soon(7).is_none());
            assert!(shards.try_lock_many_lent(vec![1, 9]).is_ok(), "what is free is given in any case");
        })
    };
    has_started.recv().unwrap();
    shards.set_busy(true);
    waiting.join().unwrap();
    drop((held, turn));
    assert!(shards.try_take_turn(NoShards::of_command()).is_ok());
}

#[test]
fn background_threads_wait_for_as_long_as_it_takes() {
    let shards = Arc::new(Shards::default());
    let (turn, held) = (turn(&shards), shards.try_lock_one(7, NoShards::of_command()).unwrap());
    shards.set_busy(true);
    let waiting = {
        let shards = Arc::clone(&shards);
        spawn_background("test", move |may_wait| {
            drop(shards.lock_one(7, may_wait));
            let turn = shards.take_turn(may_wait);
            shards.lock_all(&turn).is_all()
        })
        .unwrap()
    };
    assert!(!waiting.is_finished());
    drop((held, turn));
    assert!(waiting.join().unwrap());
}

#[cfg(debug_assertions)]
mod checked {
    use super::*;
    use crate::ledger::aside;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn fails(work: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(work)).is_err()
    }

    #[test]
    fn breaking_a_rule_is_noticed() {
        let shards = Shards::default();
        let turn = turn(&shards);
        let held = shards.try_lock_one(7, NoShards::of_command()).unwrap();
        assert!(fails(|| drop(shards.try_lock_many_lent(vec![9, 12]))), "L5: commands lock once");
        assert!(fails(|| drop(shards.lock_one(9, turn.may_wait()))), "L5");
        assert!(fails(|| drop(shards.lock_all(&turn))), "L5");
        assert!(fails(|| drop(shards.try_take_turn(NoShards::of_command()))), "L2: the turn comes first");
        assert!(fails(|| drop(shards.try_lock_next(3))), "L1");
        assert!(shards.lock_now(3).is_some(), "no wait, no rule");
        assert!(
            aside(|| shards.try_lock_one(3, NoShards::of_command()).is_ok()),
            "what is done aside is another's work"
        );
        drop(held);
        assert!(shards.try_lock_many_lent(vec![9, 12]).is_ok());
    }
}

/// One thread widens again and again, from a few shards; others lock pairs and everything. All of them get through,
/// and nobody is where somebody else is.
#[test]
fn widening_goes_through_among_others() {
    let (shards, inside) = (Arc::new(Shards::default()), Arc::new([const { AtomicUsize::new(0) }; SHARDS]));
    let enter = |inside: &[AtomicUsize; SHARDS], held: &Held<'_>| {
        let mine: Vec<usize> = (0..SHARDS).filter(|&at| held.holds(at)).collect();
        for &at in &mine {
            assert_eq!(inside[at].fetch_add(1, SeqCst), 0, "shard {at} has two holders");
        }
        for &at in &mine {
            inside[at].fetch_sub(1, SeqCst);
        }
    };
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (shards, inside) = (Arc::clone(&shards), Arc::clone(&inside));
            thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(number);
                for round in 0..500 {
                    let wanted = vec![rng.usize(..SHARDS), rng.usize(..SHARDS), rng.usize(..SHARDS)];
                    let turn = (number == 0 || round % 50 == 0).then(|| turn(&shards));
                    let held = match (&turn, round % 50) {
                        (Some(turn), 0) if number == 0 => {
                            shards.widen(shards.try_lock_many_lent(wanted).unwrap(), turn)
                        }
                        (Some(turn), 0) => shards.lock_all(turn),
                        (Some(turn), _) => {
                            let first = shards.try_lock_many_lent(vec![wanted[0]]).unwrap();
                            shards.widen_to(first, &wanted[1..], turn)
                        }
                        (None, 25) => shards.try_lock_all(NoShards::of_command()).unwrap(),
                        (None, _) => shards.try_lock_many_lent(wanted).unwrap(),
                    };
                    enter(&inside, &held);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
