//! Clients that push and move elements.

use super::model::{Element, Knowledge, Queue, Unanswered};
use crate::must_not_hang;
use larder_testkit::{Client, Value, words};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Push,
    MoveList,
    TakeList,
    TakeSorted,
    ReadStream,
}

/// All clients of a history: consumers wait for producers more often than the other way round.
pub const ROLES: [Role; 9] = [
    Role::Push,
    Role::Push,
    Role::MoveList,
    Role::MoveList,
    Role::MoveList,
    Role::TakeList,
    Role::TakeSorted,
    Role::TakeSorted,
    Role::ReadStream,
];

/// A client and what it knows.
pub struct Worker<'h> {
    client: Client,
    role: Role,
    rng: fastrand::Rng,
    next: &'h AtomicU64,
    count: &'h AtomicUsize,
    knowledge: Knowledge,
}

impl<'h> Worker<'h> {
    pub fn new(
        client: Client,
        role: Role,
        seed: u64,
        next: &'h AtomicU64,
        count: &'h AtomicUsize,
    ) -> Worker<'h> {
        let rng = fastrand::Rng::with_seed(seed);
        Worker { client, role, rng, next, count, knowledge: Knowledge::default() }
    }

    /// Works until the connection ends.
    pub fn run(&mut self) {
        // A group that exists is an error.
        let _ = self.client.try_cmd(&words("XGROUP CREATE x g 0 MKSTREAM"));
        loop {
            let step = match self.role {
                Role::Push => self.push(),
                Role::MoveList => self.move_list(),
                Role::TakeList => self.take_list(),
                Role::TakeSorted => self.take_sorted(),
                Role::ReadStream => self.read_stream(),
            };
            if let Err(error) = step {
                return must_not_hang(&error, &format!("{:?}", self.role));
            }
            self.count.fetch_add(1, Relaxed);
        }
    }

    pub fn into_knowledge(self) -> Knowledge {
        self.knowledge
    }

    /// Sends commands at once, of which the last is answered with what they have done.
    fn ask(&mut self, lines: &[String], unanswered: Unanswered) -> io::Result<Value> {
        self.knowledge.unanswered.push(unanswered);
        let mut request = Vec::new();
        lines.iter().for_each(|line| larder_testkit::encode(&mut request, &words(line)));
        self.client.send_raw(&request)?;
        let mut reply = Value::Null;
        for line in lines {
            reply = self.client.read()?;
            let ends =
                ["UNBLOCKED", "LOADING", "NOREPLICAS"].iter().any(|word| reply.text().starts_with(word));
            if ends {
                return Err(io::Error::other("the server ends"));
            }
            assert!(!reply.is_error(), "{line}: {reply}");
        }
        self.knowledge.unanswered.pop();
        Ok(reply)
    }

    fn note(&mut self, queue: Queue, value: &Value, stage: usize) -> u64 {
        let number = value.text().parse().unwrap_or_else(|_| panic!("elements are numbers: {value}"));
        self.knowledge.answered.push(((queue, number), stage));
        number
    }

    /// Pushes some elements in one command or unit.
    fn push(&mut self) -> io::Result<()> {
        let count = self.rng.u64(1..4);
        let first = self.next.fetch_add(count, Relaxed);
        let numbers: Vec<u64> = (first..first + count).collect();
        let joined = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let end = if self.rng.bool() { "R" } else { "L" };
        let scored = numbers.iter().map(|n| format!("{n} {n}")).collect::<Vec<_>>().join(" ");
        let all = |queues: &[Queue]| -> Vec<Element> {
            queues.iter().flat_map(|&queue| numbers.iter().map(move |&n| (queue, n))).collect()
        };
        let mut lines = vec!["MULTI".to_owned()];
        let pushed = match self.rng.u8(..6) {
            0 => {
                lines = vec![format!("{end}PUSH l:a {joined}")];
                all(&[Queue::List])
            }
            1 => {
                lines = vec![format!("ZADD z:a {scored}")];
                all(&[Queue::Sorted])
            }
            2 => {
                lines.extend(numbers.iter().map(|n| format!("XADD x * e {n}")));
                lines.push("EXEC".to_owned());
                all(&[Queue::Stream])
            }
            3 => {
                lines.extend([format!("{end}PUSH l:a {joined}"), format!("ZADD z:a {scored}")]);
                lines.extend(numbers.iter().map(|n| format!("XADD x * e {n}")));
                lines.push("EXEC".to_owned());
                all(&[Queue::List, Queue::Sorted, Queue::Stream])
            }
            4 => {
                let script = "for i=1,#ARGV do redis.call('rpush',KEYS[1],ARGV[i]) \
                     redis.call('xadd',KEYS[2],'*','e',ARGV[i]) end return 1";
                lines = vec![format!("EVAL \"{script}\" 2 l:a x {joined}")];
                all(&[Queue::List, Queue::Stream])
            }
            _ => {
                let script = "for i=1,#ARGV do redis.call('zadd',KEYS[1],ARGV[i],ARGV[i]) end return 1";
                lines = vec![format!("EVAL \"{script}\" 1 z:a {joined}")];
                all(&[Queue::Sorted])
            }
        };
        self.ask(&lines, Unanswered::Push(pushed.clone()))?;
        self.knowledge.answered.extend(pushed.into_iter().map(|element| (element, 0)));
        Ok(())
    }

    fn move_list(&mut self) -> io::Result<()> {
        let side = |rng: &mut fastrand::Rng| if rng.bool() { "LEFT" } else { "RIGHT" };
        let (from, to) = (side(&mut self.rng), side(&mut self.rng));
        let lines = match self.rng.u8(..10) {
            0 => vec![format!("LMOVE l:a l:b {from} {to}")],
            1 => {
                vec![format!("EVAL \"return redis.call('lmove',KEYS[1],KEYS[2],'{from}','{to}')\" 2 l:a l:b")]
            }
            2 => vec!["MULTI".to_owned(), format!("BLMOVE l:a l:b {from} {to} 0"), "EXEC".to_owned()],
            3..=5 => vec!["BRPOPLPUSH l:a l:b 0.1".to_owned()],
            _ => vec![format!("BLMOVE l:a l:b {from} {to} 0.1")],
        };
        let reply = self.ask(&lines, Unanswered::Move(Queue::List, 0, 1))?;
        let reply = reply.items().first().unwrap_or(&reply);
        if let Value::Bulk(_) = reply {
            self.note(Queue::List, reply, 1);
        }
        Ok(())
    }

    /// Takes elements, and puts them into the last list in a transaction.
    fn take_list(&mut self) -> io::Result<()> {
        let lines = match self.rng.u8(..4) {
            0 => "BRPOP l:b 0.1",
            1 => "BLMPOP 0.1 1 l:b LEFT COUNT 3",
            2 => "BLMPOP 0.1 2 none l:b RIGHT",
            _ => "BLPOP none l:b 0.1",
        };
        let reply = self.ask(&[lines.to_owned()], Unanswered::Move(Queue::List, 1, 3))?;
        let Some(values) = reply.items().get(1) else { return Ok(()) };
        let values = if values.items().is_empty() { std::slice::from_ref(values) } else { values.items() };
        let numbers: Vec<u64> = values.iter().map(|value| self.note(Queue::List, value, 2)).collect();
        for number in numbers {
            let element = (Queue::List, number);
            let lines = match self.rng.u8(..2) {
                0 => vec![format!("RPUSH l:done {number}")],
                _ => vec!["MULTI".to_owned(), format!("LPUSH l:done {number}"), "EXEC".to_owned()],
            };
            self.ask(&lines, Unanswered::Return(element, 2))?;
            self.knowledge.answered.push((element, 3));
        }
        Ok(())
    }

    fn take_sorted(&mut self) -> io::Result<()> {
        let line = match self.rng.u8(..4) {
            0 => "BZPOPMAX none z:a 0.1",
            1 => "BZMPOP 0.1 1 z:a MIN COUNT 2",
            _ => "BZPOPMIN z:a 0.1",
        };
        let reply = self.ask(&[line.to_owned()], Unanswered::Move(Queue::Sorted, 0, 2))?;
        let Some(second) = reply.items().get(1) else { return Ok(()) };
        let members: Vec<Value> = match second.items() {
            [] => vec![second.clone()],
            pairs => pairs.iter().map(|pair| pair.items()[0].clone()).collect(),
        };
        let numbers: Vec<u64> = members.iter().map(|member| self.note(Queue::Sorted, member, 1)).collect();
        for number in numbers {
            let element = (Queue::Sorted, number);
            self.ask(&[format!("ZADD z:done 1 {number}")], Unanswered::Return(element, 1))?;
            self.knowledge.answered.push((element, 2));
        }
        Ok(())
    }

    fn read_stream(&mut self) -> io::Result<()> {
        let count = self.rng.usize(1..4);
        let line = format!("XREADGROUP GROUP g c COUNT {count} BLOCK 100 STREAMS x >");
        let reply = self.ask(&[line], Unanswered::Move(Queue::Stream, 0, count))?;
        let Some(stream) = reply.items().first() else { return Ok(()) };
        let entries = stream.items()[1].items();
        let numbers: Vec<u64> =
            entries.iter().map(|entry| self.note(Queue::Stream, &entry.items()[1].items()[1], 1)).collect();
        for (entry, number) in entries.iter().zip(numbers) {
            if self.rng.u8(..4) == 0 {
                continue;
            }
            let element = (Queue::Stream, number);
            let id = entry.items()[0].text();
            self.ask(&[format!("XACK x g {id}")], Unanswered::Return(element, 1))?;
            self.knowledge.answered.push((element, 2));
        }
        Ok(())
    }
}
