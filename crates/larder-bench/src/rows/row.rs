//! A row: what is sent, what comes back, and what Larder is to reach.

use super::data::DataSet;
use super::reply::Expected;

/// What Larder is to reach, in parts of the best peer's processor time.
pub mod target {
    /// One element with a pipeline of 100.
    pub const PIPELINE_100: f64 = 0.5;
    /// PING with a pipeline of 100: hardly anything but the kernel.
    pub const PING_100: f64 = 0.65;
    /// A pipeline of 16.
    pub const PIPELINE_16: f64 = 0.65;
    /// Replies of 10 elements and more.
    pub const REPLIES: f64 = 0.75;
    /// Any row. Without a pipeline it is all that can be asked, as most of the time is the kernel's.
    pub const ANY: f64 = crate::figure::MOST_OF_BEST;
}

/// One measured command.
#[derive(Clone, Debug)]
pub struct Row {
    /// The table that it stands in.
    pub section: &'static str,
    /// What it is called, before the pipeline.
    pub title: &'static str,
    /// Commands that a connection sends at once.
    pub pipeline: usize,
    /// The most that Larder may take, in parts of the best peer's time.
    pub target: f64,
    /// Elements that a command handles: there are fewer commands the more elements each has.
    pub elements: usize,
    /// What must be there.
    pub data: &'static [&'static DataSet],
    /// The command, as a template.
    pub command: &'static str,
    /// What each reply must be.
    pub expected: Expected,
    /// Sent as often as the command, before each turn and not measured: what the command takes away.
    pub refill: Option<&'static str>,
    /// Sent this many times after each turn, not measured: takes away what the command has made.
    pub after: Option<(&'static str, u64)>,
}

impl Row {
    /// A row that has no section yet.
    pub const fn new(
        title: &'static str,
        data: &'static [&'static DataSet],
        command: &'static str,
        expected: Expected,
    ) -> Self {
        let (section, pipeline, target, elements) = ("", 16, target::ANY, 1);
        Row { section, title, pipeline, target, elements, data, command, expected, refill: None, after: None }
    }

    /// The same with this many elements a command.
    pub const fn of(mut self, elements: usize) -> Self {
        self.elements = elements;
        self
    }

    /// The same with this sent before each turn as often as the command.
    pub const fn refill(mut self, command: &'static str) -> Self {
        self.refill = Some(command);
        self
    }

    /// The same with this sent after each turn.
    pub const fn after(mut self, command: &'static str, times: u64) -> Self {
        self.after = Some((command, times));
        self
    }

    /// The same with this pipeline.
    pub const fn pipeline(mut self, commands: usize) -> Self {
        self.pipeline = commands;
        self
    }

    /// The same with this target.
    pub const fn target(mut self, share: f64) -> Self {
        self.target = share;
        self
    }

    /// The same in a section.
    pub const fn section(mut self, name: &'static str) -> Self {
        self.section = name;
        self
    }

    /// What the table calls it.
    pub fn full_title(&self) -> String {
        format!("{}, pipeline {}", self.title, self.pipeline)
    }

    /// The name that `--only` chooses by: `rows/`, the section, the title in small letters.
    pub fn name(&self) -> String {
        name(&format!("rows/{}", self.section), self.title)
    }

    /// Commands of one turn at full scale.
    pub fn commands(&self) -> usize {
        let commands = match self.pipeline {
            ..4 => 20_000,
            4..50 => 100_000,
            _ => 200_000,
        };
        commands / (1 + self.elements / 50)
    }
}

/// A name that `--only` chooses by: a title in small letters below a folder, with dashes between its words.
pub fn name(folder: &str, title: &str) -> String {
    let mut name = format!("{folder}/");
    for letter in title.chars().filter(|&letter| letter != ',') {
        let letter = if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        if letter != '-' || !name.ends_with('-') {
            name.push(letter);
        }
    }
    name
}
