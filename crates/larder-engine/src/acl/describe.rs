//! The commands of a selector as rules: few, and such that applying them gives the same commands again.
//!
//! The description starts from all commands or from none, whichever the selector did, and then adds or removes the
//! category that fits best, over and over, until none fits more commands than it misses. What is still different is
//! named command by command. This is Redis's way, so that descriptions are the same.

use super::commands::{self, Category, CommandSet};
use super::selector::Selector;
use crate::table::table;

impl Selector {
    /// The commands as rules, separated by blanks.
    pub(crate) fn commands_text(&self) -> Vec<u8> {
        let adds = !self.commands.has_future();
        let mut text = if adds { b"-@all".to_vec() } else { b"+@all".to_vec() };
        let mut described = if adds { CommandSet::none() } else { CommandSet::all() };
        for category in fitting(&self.commands, adds) {
            described.set_category(category, adds);
            text.extend_from_slice(if adds { b" +@" } else { b" -@" });
            text.extend_from_slice(category.name.as_bytes());
        }
        self.name_the_rest(described, &mut text);
        text
    }

    fn name_the_rest(&self, mut described: CommandSet, text: &mut Vec<u8>) {
        for found in table().all() {
            let allowed = self.commands.has(found.id);
            if allowed != described.has(found.id) {
                described.set(*found, allowed);
                text.extend_from_slice(if allowed { b" +" } else { b" -" });
                text.extend_from_slice(found.full_name().as_bytes());
            }
            if !allowed {
                for arg in self.first_args(found.id) {
                    text.extend_from_slice(format!(" +{}|", found.full_name()).as_bytes());
                    text.extend_from_slice(arg);
                }
            }
        }
        debug_assert!(described == self.commands, "a description must give the same rights");
    }

    /// The whole selector as rules.
    pub(crate) fn describe(&self) -> Vec<u8> {
        let mut text = self.keys_text();
        if !text.is_empty() {
            text.push(b' ');
        }
        if !self.allows_all_channels() {
            text.extend_from_slice(b"resetchannels ");
        }
        let channels = self.channels_text();
        text.extend_from_slice(&channels);
        if !channels.is_empty() {
            text.push(b' ');
        }
        text.extend_from_slice(&self.commands_text());
        text
    }
}

/// The categories that describe what is allowed (or refused, when `adds` is not set) with the least exceptions.
fn fitting(commands: &CommandSet, adds: bool) -> Vec<&'static Category> {
    let mut left = commands.clone();
    let mut chosen: Vec<&Category> = Vec::new();
    loop {
        let mut best: Option<(u32, u32, &Category)> = None;
        for category in commands::categories() {
            if chosen.iter().any(|known| known.name == category.name) {
                continue;
            }
            let (inside, outside) = left.count(category);
            let (same, different) = if adds { (inside, outside) } else { (outside, inside) };
            let better =
                best.is_none_or(|(least, most, _)| different < least || different == least && same > most);
            if same > different && better {
                best = Some((different, same, category));
            }
        }
        let Some((_, _, category)) = best else { return chosen };
        left.set_category(category, !adds);
        chosen.push(category);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rules: &str) -> String {
        let mut selector = Selector::new(false);
        rules.split_whitespace().for_each(|rule| selector.apply(rule.as_bytes()).expect(rule));
        String::from_utf8(selector.describe()).expect("rules are text")
    }

    #[test]
    fn descriptions_are_minimal() {
        assert_eq!(text("+get -get +@read ~a &b"), "~a resetchannels &b -@all +@read");
        assert_eq!(text("allkeys allchannels allcommands"), "~* &* +@all");
        assert_eq!(text("+@all -config +config|get"), "resetchannels +@all -config +config|get");
        assert_eq!(text("+debug|object +debug|sleep"), "resetchannels -@all +debug|object +debug|sleep");
        assert_eq!(text("+config|get +config|set"), "resetchannels -@all +config|get +config|set");
    }

    #[test]
    fn descriptions_give_the_same_rights() {
        let mut rng =
            fastrand::Rng::with_seed(std::env::var("SEED").map_or(7, |s| s.parse().expect("a number")));
        for _ in 0..200 {
            let mut selector = Selector::new(rng.bool());
            for _ in 0..rng.usize(..12) {
                let sign = if rng.bool() { '+' } else { '-' };
                let rule = if rng.bool() {
                    format!("{sign}@{}", rng.choice(commands::CATEGORIES).expect("not empty"))
                } else {
                    format!("{sign}{}", table().all()[rng.usize(..table().len())].full_name())
                };
                selector.apply(rule.as_bytes()).expect("a rule");
            }
            let mut again = Selector::new(true);
            let described = selector.describe();
            described.split(|&b| b == b' ').for_each(|rule| again.apply(rule).expect("a rule"));
            assert_eq!(again, selector);
        }
    }
}
