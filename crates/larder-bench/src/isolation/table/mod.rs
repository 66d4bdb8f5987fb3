//! The heavy commands, a group each: what has the same data stands together.

mod changes;
mod data;
mod keyspace;
mod replies;
mod scripts;
mod sets;
mod strings;

use super::heavy::Heavy;

/// All of them, those of a group together.
pub fn all() -> Vec<Heavy> {
    let groups = [
        ("replies", replies::commands()),
        ("sets", sets::commands()),
        ("writes", changes::writes()),
        ("removals", changes::removals()),
        ("strings", strings::commands()),
        ("scripts", scripts::commands()),
        ("walks", keyspace::walks()),
        ("saving", keyspace::saving()),
        ("emptying", keyspace::emptying()),
        ("mass", keyspace::mass()),
    ];
    let commands =
        groups.into_iter().flat_map(|(group, all)| all.into_iter().map(move |heavy| heavy.group(group)));
    commands.collect()
}

#[cfg(test)]
mod tests {
    use super::super::heavy::{Scope, Step};
    use super::*;
    use crate::rows::template::Commands;
    use std::collections::HashSet;

    #[test]
    fn commands_are_many_and_have_names_of_their_own() {
        let all = all();
        assert!(all.len() >= 60, "only {}", all.len());
        let names: HashSet<String> = all.iter().map(Heavy::name).collect();
        let titles: HashSet<&str> = all.iter().map(|heavy| heavy.title).collect();
        assert_eq!((names.len(), titles.len()), (all.len(), all.len()));
        let groups = all.chunk_by(|a, b| a.group == b.group).count();
        assert_eq!(groups, all.iter().map(|heavy| heavy.group).collect::<HashSet<_>>().len());
        assert!(names.contains("removals/del-of-a-hash-of-1m") && names.contains("walks/keys-of-2m"));
        // The printed table has room for this much.
        let long: Vec<&str> =
            titles.iter().copied().filter(|title| title.len() > super::super::print::TITLE).collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn data_sets_have_names_of_their_own() {
        let mut seen = std::collections::HashMap::new();
        for data in all().iter().flat_map(|heavy| heavy.data) {
            let text = format!("{data:?}");
            assert_eq!(*seen.entry(data.name).or_insert_with(|| text.clone()), text, "{}", data.name);
        }
        assert!(seen.len() > 10);
    }

    #[test]
    fn every_template_can_be_written() {
        for heavy in all() {
            let steps = heavy.before.iter().filter_map(|step| match step {
                Step::Ask(template) => Some(*template),
                Step::Load(_) => None,
            });
            for template in steps.chain(heavy.after.iter().copied()).chain([heavy.command]) {
                for command in template.split(" | ").filter(|command| !asks(command)) {
                    let written = Commands::new(command, 0.01);
                    assert!(written.is_ok(), "{}: {command}: {:?}", heavy.name(), written.err());
                }
            }
        }
    }

    fn asks(command: &str) -> bool {
        ["{dump:", "{below:"].iter().any(|word| command.contains(word))
    }

    #[test]
    fn most_commands_touch_the_keys_that_they_name() {
        let all = all();
        let own = all.iter().filter(|heavy| heavy.scope == Scope::Keys).count();
        assert!(own >= 60 && own < all.len(), "{own} of {}", all.len());
        // Whoever takes away what probes read puts it there again.
        let loads = |heavy: &Heavy| {
            heavy.before.iter().any(|step| matches!(step, Step::Load(data) if data.name == "small hashes"))
        };
        assert!(all.iter().filter(|heavy| heavy.empties).all(loads));
    }
}
