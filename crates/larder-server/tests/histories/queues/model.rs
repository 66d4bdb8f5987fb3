//! Where each element must be.

use larder_testkit::{Client, Value};
use std::collections::HashMap;

/// The chains of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// `l:a`, `l:b`, a client, `l:done`.
    List,
    /// `z:a`, a client, `z:done`.
    Sorted,
    /// New in the stream `x`, pending in its group, acknowledged.
    Stream,
}

impl Queue {
    /// The stage in which a client has the element, and the server does not.
    fn hand(self) -> Option<usize> {
        match self {
            Queue::List => Some(2),
            Queue::Sorted => Some(1),
            Queue::Stream => None,
        }
    }
}

/// An element.
pub type Element = (Queue, u64);

/// A command that may move elements, and has not been answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Puts these elements into their first stage, or all of them.
    Push(Vec<Element>),
    /// Moves up to this many elements on from a stage.
    Move(Queue, usize, usize),
    /// Moves one known element on from the stage.
    Return(Element, usize),
}

impl Unanswered {
    /// How many elements it may have moved.
    fn count_moved(&self) -> usize {
        match self {
            Unanswered::Move(_, _, count) => *count,
            Unanswered::Push(_) | Unanswered::Return(..) => 0,
        }
    }
}

/// What a client knows at its end.
#[derive(Default)]
pub struct Knowledge {
    /// Elements with the stages that replies have put them into, in order.
    pub answered: Vec<(Element, usize)>,
    pub unanswered: Vec<Unanswered>,
}

/// Elements with the stages in which the server has them.
pub type Seen = HashMap<Element, Vec<usize>>;

/// What all clients know.
#[derive(Default)]
pub struct Model {
    stages: HashMap<Element, usize>,
    unanswered: Vec<Unanswered>,
}

impl Model {
    /// Adds what a client knows.
    pub fn learn(&mut self, knowledge: Knowledge) {
        for (element, stage) in knowledge.answered {
            let known = self.stages.entry(element).or_insert(stage);
            *known = stage.max(*known);
        }
        self.unanswered.extend(knowledge.unanswered);
    }

    /// Continues from what the server has.
    pub fn accept(&mut self, seen: Seen) {
        // Elements that a client has are lost with the client.
        self.stages = seen.into_iter().map(|(element, stages)| (element, stages[0])).collect();
        self.unanswered.clear();
    }

    /// Checks that every element is where it must be.
    pub fn check(&self, seen: &Seen) -> Result<(), String> {
        let mut budget: HashMap<(Queue, usize), usize> = HashMap::new();
        let (mut pushes, mut returns) = (HashMap::new(), HashMap::new());
        for (at, unanswered) in self.unanswered.iter().enumerate() {
            match unanswered {
                Unanswered::Push(elements) => {
                    self.check_unit(elements, seen)?;
                    pushes.extend(elements.iter().map(|&element| (element, at)));
                }
                Unanswered::Move(queue, from, count) => *budget.entry((*queue, *from)).or_default() += count,
                Unanswered::Return(element, from) => drop(returns.insert(*element, *from)),
            }
        }
        for (element, stages) in seen {
            if stages.len() != 1 {
                return Err(format!("{element:?} is in the stages {stages:?}"));
            }
            if !self.stages.contains_key(element) && !pushes.contains_key(element) {
                return Err(format!("{element:?} was never pushed, or was lost before"));
            }
        }
        let mut spend = |element: Element, from: usize, to: usize| {
            for stage in from..to {
                if returns.get(&element) == Some(&stage) {
                    continue;
                }
                let left = budget.get_mut(&(element.0, stage)).filter(|left| **left > 0);
                let fault = format!("{element:?} is in stage {to}; an answer has put it into stage {from}");
                *left.ok_or(fault)? -= 1;
            }
            Ok::<(), String>(())
        };
        let unpushed = pushes.keys().filter(|element| !self.stages.contains_key(*element));
        for &element in unpushed.filter(|element| seen.contains_key(*element)) {
            spend(element, 0, seen[&element][0])?;
        }
        for (&element, &known) in &self.stages {
            match (seen.get(&element), element.0.hand()) {
                (Some(stages), _) if stages[0] < known => {
                    return Err(format!("{element:?} is back in stage {}: it was in {known}", stages[0]));
                }
                (Some(stages), _) => spend(element, known, stages[0])?,
                (None, Some(hand)) if known <= hand => spend(element, known, hand)?,
                (None, _) => return Err(format!("{element:?} is lost: it was in stage {known}")),
            }
        }
        Ok(())
    }

    /// What one command or transaction pushes is there as a whole, or not at all, but for what unanswered commands may have taken.
    fn check_unit(&self, elements: &[Element], seen: &Seen) -> Result<(), String> {
        let is_there = |element: &&Element| seen.contains_key(*element) || self.stages.contains_key(*element);
        let there = elements.iter().filter(is_there).count();
        let taken: usize = self.unanswered.iter().map(Unanswered::count_moved).sum();
        if there == 0 || there + taken >= elements.len() {
            return Ok(());
        }
        Err(format!("only {there} of {elements:?} are there, which one unit has pushed"))
    }
}

fn element(queue: Queue, value: &Value) -> Element {
    (queue, value.text().parse().expect("elements are numbers"))
}

/// Looks where everything is.
pub fn observe(client: &mut Client) -> Seen {
    let mut seen = Seen::new();
    let mut add = |element: Element, stage: usize| seen.entry(element).or_default().push(stage);
    for (key, stage) in [("l:a", 0), ("l:b", 1), ("l:done", 3)] {
        for value in client.cmd(&["LRANGE", key, "0", "-1"]).items() {
            add(element(Queue::List, value), stage);
        }
    }
    for (key, stage) in [("z:a", 0), ("z:done", 2)] {
        for value in client.cmd(&["ZRANGE", key, "0", "-1"]).items() {
            add(element(Queue::Sorted, value), stage);
        }
    }
    let pending = client.ask("XPENDING x g - + 1000000");
    let pending: Vec<String> = pending.items().iter().map(|entry| entry.items()[0].text()).collect();
    let groups = client.ask("XINFO GROUPS x");
    let delivered = groups.items().first().map_or("0-0".to_owned(), |group| group.items()[7].text());
    let delivered = id(&delivered);
    for entry in client.ask("XRANGE x - +").items() {
        let name = entry.items()[0].text();
        let stage = match pending.contains(&name) {
            true => 1,
            false if id(&name) > delivered => 0,
            false => 2,
        };
        add(element(Queue::Stream, &entry.items()[1].items()[1]), stage);
    }
    seen
}

/// The two numbers of an id.
fn id(text: &str) -> (u64, u64) {
    let (ms, number) = text.split_once('-').expect("an id has two numbers");
    (ms.parse().expect("a number"), number.parse().expect("a number"))
}
