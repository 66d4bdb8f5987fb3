//! From argument trees to words.

use super::{Argument, Command, Kind, Source, Vocabulary};

/// Makes one call after the other.
pub struct Generator<'a, S> {
    words: &'a Vocabulary,
    source: &'a mut S,
}

/// One call in the making.
struct Call<'a> {
    group: &'a str,
    out: Vec<Vec<u8>>,
    /// How often the last argument that may be repeated was: those that belong together must agree.
    repeats: Option<usize>,
    /// One in this many optional arguments is given.
    sparse: usize,
}

impl<'a, S: Source> Generator<'a, S> {
    /// With these values and decisions.
    pub fn new(words: &'a Vocabulary, source: &'a mut S) -> Self {
        Generator { words, source }
    }

    /// A call that keeps to the syntax.
    pub fn valid(&mut self, command: &Command) -> Vec<Vec<u8>> {
        let out = command.name.iter().map(|word| word.clone().into_bytes()).collect();
        let sparse = [6, 3, 2][self.source.below(3)];
        let mut call = Call { group: &command.group, out, repeats: None, sparse };
        self.list(&mut call, &command.arguments);
        call.out
    }

    /// A call with one to three words changed. Its name stays.
    pub fn nearly_valid(&mut self, command: &Command) -> Vec<Vec<u8>> {
        let mut call = self.valid(command);
        for _ in 0..=self.source.below(3) {
            self.change(command, &mut call);
        }
        call
    }

    fn list(&mut self, call: &mut Call<'_>, list: &[Argument]) {
        let mut at = 0;
        while let Some(argument) = list.get(at) {
            at += 1;
            if !self.words.allows(argument) || argument.optional && !self.source.once_in(call.sparse) {
                continue;
            }
            match list.get(at) {
                Some(counted) if is_count(argument, counted) => {
                    at += 1;
                    self.counted(call, argument, counted);
                }
                _ => self.argument(call, argument),
            }
        }
    }

    /// A number, and as many of what it counts. The number lies at times.
    fn counted(&mut self, call: &mut Call<'_>, number: &Argument, counted: &Argument) {
        let least = usize::from(!counted.optional);
        let count = least + self.source.below(4);
        let stated = match self.source.below(40) {
            37 => count + 1,
            38 => count.saturating_sub(1),
            39 => 1000,
            _ => count,
        };
        token(call, number);
        call.out.push(stated.to_string().into_bytes());
        call.repeats = Some(count);
        if !counted.repeats_token && count > 0 {
            token(call, counted);
        }
        for _ in 0..count {
            if counted.repeats_token {
                token(call, counted);
            }
            self.one(call, counted);
        }
    }

    fn argument(&mut self, call: &mut Call<'_>, argument: &Argument) {
        let count = match (argument.multiple, call.repeats) {
            (false, _) => 1,
            (true, Some(count)) if repeats_another(argument) => count,
            (true, _) => {
                let count = 1 + self.source.below(3);
                call.repeats = Some(count);
                count
            }
        };
        for at in 0..count {
            if at == 0 || argument.repeats_token {
                token(call, argument);
            }
            self.one(call, argument);
        }
    }

    /// An argument once, without its token.
    fn one(&mut self, call: &mut Call<'_>, argument: &Argument) {
        match argument.kind {
            Kind::Block => self.list(call, &argument.children),
            Kind::OneOf => {
                let open: Vec<&Argument> =
                    argument.children.iter().filter(|child| self.words.allows(child)).collect();
                if !open.is_empty() {
                    let chosen = open[self.source.below(open.len())];
                    self.argument(call, chosen);
                }
            }
            Kind::PureToken => {}
            _ => {
                let value = self.words.value(argument, call.group, self.source);
                call.out.push(value);
            }
        }
    }

    fn change(&mut self, command: &Command, call: &mut Vec<Vec<u8>>) {
        let fixed = command.name.len();
        if call.len() == fixed {
            let junk = self.words.junk(self.source);
            call.push(junk);
            return;
        }
        let at = fixed + self.source.below(call.len() - fixed);
        match self.source.below(7) {
            0 => drop(call.remove(at)),
            1 => call.insert(at, call[at].clone()),
            2 => {
                let other = fixed + self.source.below(call.len() - fixed);
                call.swap(at, other);
            }
            3 => call[at] = self.words.junk(self.source),
            4 => {
                let junk = self.words.junk(self.source);
                call.insert(at, junk);
            }
            5 => call[at].make_ascii_lowercase(),
            _ => {
                // A word of the syntax where it does not belong.
                let mut tokens = Vec::new();
                collect_tokens(&command.arguments, &mut tokens);
                if !tokens.is_empty() {
                    let word = tokens[self.source.below(tokens.len())].clone().into_bytes();
                    call.insert(at, word);
                }
            }
        }
    }
}

fn token(call: &mut Call<'_>, argument: &Argument) {
    // Some tokens are two words.
    let words = argument.token.iter().flat_map(|token| token.split(' '));
    call.out.extend(words.map(|word| word.as_bytes().to_vec()));
}

/// Whether an argument is the number of those that follow it.
fn is_count(argument: &Argument, next: &Argument) -> bool {
    argument.kind == Kind::Integer && argument.name.starts_with("num") && next.multiple
}

/// Whether there must be one for each of what came before.
fn repeats_another(argument: &Argument) -> bool {
    argument.name.eq_ignore_ascii_case("id") || argument.name == "weight"
}

fn collect_tokens<'a>(list: &'a [Argument], all: &mut Vec<&'a String>) {
    for argument in list {
        all.extend(&argument.token);
        collect_tokens(&argument.children, all);
    }
}
