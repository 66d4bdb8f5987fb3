//! Images of leaves: they come back, and damage is noticed.

use crate::sorted_set::{ImageReader, Limits, SortedSet};
use larder_testkit::seeds;
use std::convert::Infallible;

fn random_set(rng: &mut fastrand::Rng) -> SortedSet {
    let limits = Limits::default();
    let most = [3, 60, 600, 20_000][rng.usize(..4)];
    let (n, kind) = (rng.usize(1..=most), rng.u8(..4));
    let mut set = SortedSet::new();
    for _ in 0..n {
        let member = match kind {
            0 => format!("member:{}", rng.u32(..)),
            1 => rng.u64(..).to_string(),
            2 => "x".repeat(rng.usize(..200)),
            _ => format!("{}{}", "prefix".repeat(9), rng.u16(..)),
        };
        let score = match rng.u8(..4) {
            0 => -0.0,
            1 => f64::from(rng.u8(..)),
            2 => rng.f64() - 0.5,
            _ => f64::NEG_INFINITY,
        };
        set.add(member.as_bytes(), score, &limits);
    }
    set
}

/// What a link would carry of a set.
fn images(set: &SortedSet) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut images = Vec::new();
    let Ok(()) = set.try_for_each_image(|image| {
        images.push(image.to_vec());
        Ok::<(), Infallible>(())
    });
    assert_eq!(images.len(), set.leaf_count());
    (images, set.negative_zeros().map(<[u8]>::to_vec).collect())
}

fn read(images: &[Vec<u8>], zeros: &[Vec<u8>]) -> Option<SortedSet> {
    let mut reader = ImageReader::new();
    images.iter().try_for_each(|image| reader.push(image)).ok()?;
    reader.finish(&Limits::default(), zeros).ok()
}

fn entries(set: &SortedSet) -> Vec<(Vec<u8>, u64)> {
    let mut entries = Vec::new();
    set.for_each(|score, member| entries.push((member.to_vec(), score.to_bits())));
    entries
}

#[test]
fn images_come_back() {
    for mut rng in seeds(60, 600).map(fastrand::Rng::with_seed) {
        let set = random_set(&mut rng);
        let (images, zeros) = images(&set);
        let mut again = read(&images, &zeros).expect("these are true images");
        again.check_invariants();
        assert_eq!(again.encoding(), set.encoding());
        assert_eq!(entries(&again), entries(&set));
        // It goes on as any other does.
        for (member, _) in entries(&set).iter().take(2000) {
            assert!(again.score(member).is_some());
            again.remove(member);
        }
        again.check_invariants();
    }
}

#[test]
fn what_is_damaged_is_refused_or_whole() {
    let mut refused = 0;
    for mut rng in seeds(400, 4000).map(fastrand::Rng::with_seed) {
        let (mut images, zeros) = images(&random_set(&mut rng));
        let at = rng.usize(..images.len());
        match rng.u8(..6) {
            0 => images.swap(0, at),
            1 => images.insert(at, images[at].clone()),
            2 => images.truncate(at),
            3 => images[at].truncate(20),
            _ => {
                let most = if rng.bool() { 24 } else { usize::MAX };
                let byte = rng.usize(..images[at].len().min(most));
                images[at][byte] ^= 1 << rng.u32(..8);
            }
        }
        match read(&images, &zeros) {
            Some(set) => set.check_invariants(),
            None => refused += 1,
        }
    }
    assert!(refused > 100, "{refused}");
}

/// One member in two leaves, and one leaf in the place of another.
#[test]
fn members_that_are_there_twice_are_refused() {
    let limits = Limits::default();
    let set = |score: f64| {
        let mut set = SortedSet::<crate::member_hash::MemberHash>::new();
        (0..1000).for_each(|i| _ = set.add(format!("member:{i}").as_bytes(), score, &limits));
        set
    };
    let (mut first, second) = (images(&set(1.0)).0, images(&set(2.0)).0);
    assert!(read(&first, &[]).is_some());
    first.extend(second);
    assert!(read(&first, &[]).is_none());
}
