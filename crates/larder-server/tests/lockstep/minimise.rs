//! From a sequence that shows a difference to a short one.

use super::step::Step;

/// Leaves steps and words out for as long as `fails` still holds.
pub fn minimise(steps: Vec<Step>, mut fails: impl FnMut(&[Step]) -> bool) -> Vec<Step> {
    let mut steps = steps;
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + size).min(steps.len()));
            if fails(&fewer) {
                steps = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    for at in 0..steps.len() {
        let mut word = 1;
        while let Step::Send { args, .. } = &steps[at]
            && word < args.len()
        {
            let mut fewer = steps.clone();
            if let Step::Send { args, .. } = &mut fewer[at] {
                args.remove(word);
            }
            if fails(&fewer) {
                steps = fewer;
            } else {
                word += 1;
            }
        }
    }
    steps
}

#[test]
fn what_does_not_matter_is_left_out() {
    let steps = |lines: &str| super::step::from_text(lines);
    let all: String = (0..40).map(|n| format!("0> SET k{n} a b\n")).collect();
    let has = |steps: &[Step], words: [&[u8]; 2]| {
        steps.iter().any(|step| match step {
            Step::Send { args, .. } => words.iter().all(|word| args.iter().any(|arg| arg == word)),
            _ => false,
        })
    };
    let short = minimise(steps(&all), |steps| has(steps, [b"k3", b"b"]) && has(steps, [b"k31", b"a"]));
    assert_eq!(short, steps("0> SET k3 b\n0> SET k31 a"));
}
