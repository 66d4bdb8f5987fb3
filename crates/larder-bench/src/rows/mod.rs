//! One table of commands, measured beside every peer in the same run: at least 80 rows, each with a target in parts of the best peer's
//! processor time.
//!
//! Rows are data: `single`, `replies`, `misses` and `several` list them, `data` what they read, `template` how a command is written
//! down. `turns` measures them: all servers are up at once and take turns, so that the noise of the machine falls on all of them, and
//! a server that answers constants (the crate's `floor`) takes its turn as well.

pub mod data;
mod misses;
mod replies;
mod reply;
pub mod row;
mod several;
mod single;
pub mod template;
mod turns;

pub use row::Row;
pub use turns::Servers;

/// All rows, those of a section together.
pub fn all() -> Vec<Row> {
    let mut rows = single::rows();
    rows.extend(replies::rows());
    rows.extend(misses::rows());
    rows.extend(several::rows());
    rows
}

#[cfg(test)]
mod tests {
    use super::template::Commands;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_are_many_and_have_names_of_their_own() {
        let rows = all();
        assert!(rows.len() >= 80, "only {}", rows.len());
        let names: HashSet<String> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        // Charts have room for this much.
        assert!(rows.iter().all(|row| row.title.len() <= 36));
        let titles: HashSet<(&str, String)> =
            rows.iter().map(|row| (row.section, row.full_title())).collect();
        assert_eq!(titles.len(), rows.len());
        let sections = rows.chunk_by(|a, b| a.section == b.section).count();
        assert_eq!(sections, rows.iter().map(|row| row.section).collect::<HashSet<_>>().len());
        assert!(names.contains("rows/p100/set") && names.contains("rows/replies/lrange-of-1000-words"));
    }

    #[test]
    fn every_template_can_be_written() {
        for row in all() {
            let after = row.after.map(|(command, _)| command);
            for template in [Some(row.command), row.refill, after].into_iter().flatten() {
                let mut commands = Commands::new(template, 0.01)
                    .unwrap_or_else(|error| panic!("{}: {template}: {error}", row.name()));
                let mut out = Vec::new();
                commands.write(&mut out);
                assert!(out.starts_with(b"*"), "{}", row.name());
            }
        }
    }

    #[test]
    fn no_target_is_above_that_of_the_whole_table() {
        for row in all() {
            assert!(row.target > 0.0 && row.target <= row::target::ANY, "{}", row.name());
        }
    }
}
