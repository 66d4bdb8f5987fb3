//! What a search asks for: the arguments of GEOSEARCH and of GEORADIUS and its relatives.

use super::position::Position;
use super::read::position_of;
use super::shape::{Area, Shape};
use super::{parse_position, parse_unit};
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::sorted_set::{Order, SortedSet};
use larder_resp::Args;

/// The commands that search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Radius,
    RadiusByMember,
    Search,
    SearchStore,
}

/// Where a result goes.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub key: &'a [u8],
    /// Whether distances become the scores.
    pub distances: bool,
}

/// What is written beside a member.
#[derive(Clone, Copy, Default)]
pub(super) struct With {
    pub distance: bool,
    pub score: bool,
    pub position: bool,
}

/// A search, parsed.
pub(super) struct Request<'a> {
    /// None when the sorted set does not exist, so that nobody knows where its member is.
    pub shape: Option<Shape>,
    /// Meters in the unit of the reply.
    pub unit: f64,
    /// Most results.
    pub count: Option<usize>,
    /// Whether any of them will do, and not only the nearest.
    pub any: bool,
    pub order: Option<Order>,
    pub with: With,
    pub target: Option<Target<'a>>,
}

/// From where distances are measured.
#[derive(Clone, Copy, PartialEq)]
enum Center {
    Unsaid,
    /// The position of a member; unknown when there is no sorted set.
    Member(Option<Position>),
    Position(Position),
}

/// The arguments as they are read.
struct Parser<'a, 's> {
    args: Args<'a>,
    at: usize,
    verb: Verb,
    /// Whether STORE may be given.
    may_store: bool,
    set: Option<&'s SortedSet>,
    center: Center,
    area: Option<Area>,
    request: Request<'a>,
}

impl<'a> Request<'a> {
    /// Parses the arguments of a search of this set.
    pub fn parse(
        args: Args<'a>,
        verb: Verb,
        may_store: bool,
        set: Option<&SortedSet>,
    ) -> CommandResult<Self> {
        let request = Request {
            shape: None,
            unit: 1.0,
            count: None,
            any: false,
            order: None,
            with: With::default(),
            target: None,
        };
        let mut parser =
            Parser { args, at: 0, verb, may_store, set, center: Center::Unsaid, area: None, request };
        parser.start()?;
        while parser.at < args.len() {
            parser.option()?;
        }
        parser.finish()
    }
}

impl<'a> Parser<'a, '_> {
    fn is_search(&self) -> bool {
        matches!(self.verb, Verb::Search | Verb::SearchStore)
    }

    /// What comes before the options.
    fn start(&mut self) -> CommandResult {
        let args = self.args;
        match self.verb {
            Verb::Radius => {
                self.center = Center::Position(parse_position(&args[2], &args[3])?);
                self.radius(4)?;
                self.at = 6;
            }
            Verb::RadiusByMember => {
                if self.set.is_some() {
                    self.member(2)?;
                    self.radius(3)?;
                }
                self.at = 5;
            }
            Verb::Search => self.at = 2,
            Verb::SearchStore => {
                self.request.target = Some(Target { key: args.at(1), distances: false });
                self.at = 3;
            }
        }
        Ok(())
    }

    fn option(&mut self) -> CommandResult {
        let word = self.args.at(self.at);
        let left = self.args.len() - self.at - 1;
        let next = self.at + 1;
        let mut taken = 0;
        let (is_search, may_store) = (self.is_search(), self.may_store);
        let request = &mut self.request;
        match word {
            _ if is_word(word, "withdist") => request.with.distance = true,
            _ if is_word(word, "withhash") => request.with.score = true,
            _ if is_word(word, "withcoord") => request.with.position = true,
            _ if is_word(word, "any") => request.any = true,
            _ if is_word(word, "asc") => request.order = Some(Order::Ascending),
            _ if is_word(word, "desc") => request.order = Some(Order::Descending),
            _ if is_word(word, "count") && left >= 1 => {
                let count = number::integer(&self.args[next])?;
                let count = usize::try_from(count).ok().filter(|&count| count > 0);
                request.count = Some(count.ok_or(CommandError::Fixed("ERR COUNT must be > 0"))?);
                taken = 1;
            }
            _ if is_search => taken = self.search_option(word, left)?,
            _ if may_store && left >= 1 && is_word(word, "store") => {
                request.target = Some(Target { key: self.args.at(next), distances: false });
                taken = 1;
            }
            _ if may_store && left >= 1 && is_word(word, "storedist") => {
                request.target = Some(Target { key: self.args.at(next), distances: true });
                taken = 1;
            }
            _ => return Err(CommandError::SYNTAX),
        }
        self.at = next + taken;
        Ok(())
    }

    /// An option that only GEOSEARCH and GEOSEARCHSTORE have; returns the number of its arguments.
    fn search_option(&mut self, word: &[u8], left: usize) -> CommandResult<usize> {
        let next = self.at + 1;
        match (word, &self.area) {
            // A polygon has its own center.
            (_, Some(Area::Polygon(_))) if is_word(word, "frommember") || is_word(word, "fromlonlat") => {
                Err(CommandError::SYNTAX)
            }
            _ if is_word(word, "bypolygon") && self.center != Center::Unsaid => Err(CommandError::SYNTAX),
            _ if is_word(word, "frommember") && left >= 1 && !matches!(self.center, Center::Position(_)) => {
                self.member(next)?;
                Ok(1)
            }
            _ if is_word(word, "fromlonlat") && left >= 2 && !matches!(self.center, Center::Member(_)) => {
                self.center = Center::Position(parse_position(&self.args[next], &self.args[next + 1])?);
                Ok(2)
            }
            (_, None | Some(Area::Circle { .. })) if is_word(word, "byradius") && left >= 2 => {
                self.radius(next)?;
                Ok(2)
            }
            (_, None | Some(Area::Box { .. })) if is_word(word, "bybox") && left >= 3 => {
                self.sides(next)?;
                Ok(3)
            }
            (_, None | Some(Area::Polygon(_))) if is_word(word, "bypolygon") && left >= 2 => {
                self.polygon(next)
            }
            _ if is_word(word, "storedist") && self.verb == Verb::SearchStore => {
                self.request.target.iter_mut().for_each(|target| target.distances = true);
                Ok(0)
            }
            _ => Err(CommandError::SYNTAX),
        }
    }

    fn member(&mut self, at: usize) -> CommandResult {
        let position = position_of(self.set, &self.args[at]);
        if self.set.is_some() && position.is_none() {
            let name = number::c_string(&self.args[at]);
            return Err(CommandError::Text([b"ERR member ", name, b" does not exist"].concat()));
        }
        self.center = Center::Member(position);
        Ok(())
    }

    fn radius(&mut self, at: usize) -> CommandResult {
        let radius = self.length(at, "ERR need numeric radius")?;
        if radius < 0.0 {
            return Err(CommandError::Fixed("ERR radius cannot be negative"));
        }
        let unit = parse_unit(&self.args[at + 1])?;
        self.request.unit = unit;
        self.area = Some(Area::Circle { radius: radius * unit });
        Ok(())
    }

    fn sides(&mut self, at: usize) -> CommandResult {
        let width = self.length(at, "ERR need numeric width")?;
        let height = self.length(at + 1, "ERR need numeric height")?;
        if width < 0.0 || height < 0.0 {
            return Err(CommandError::Fixed("ERR height or width cannot be negative"));
        }
        let unit = parse_unit(&self.args[at + 2])?;
        self.request.unit = unit;
        self.area = Some(Area::Box { width: width * unit, height: height * unit });
        Ok(())
    }

    /// The number of vertices and their positions.
    fn polygon(&mut self, at: usize) -> CommandResult<usize> {
        let count = number::parse_i64(&self.args[at]).and_then(|count| i32::try_from(count).ok());
        let count = count.ok_or(CommandError::Fixed("ERR invalid number of vertices"))?;
        let left = (self.args.len() - at - 1) / 2;
        let count = usize::try_from(count).ok().filter(|count| (3..=left).contains(count));
        let too_few = CommandError::Fixed("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");
        let count = count.ok_or(too_few)?;
        let vertex = |i| parse_position(&self.args[at + 1 + 2 * i], &self.args[at + 2 + 2 * i]);
        self.area = Some(Area::Polygon((0..count).map(vertex).collect::<CommandResult<_>>()?));
        Ok(1 + 2 * count)
    }

    fn length(&self, at: usize, error: &'static str) -> CommandResult<f64> {
        number::parse_f64_in_range(&self.args[at]).ok_or(CommandError::Fixed(error))
    }

    /// Checks what belongs together, and makes the shape.
    fn finish(mut self) -> CommandResult<Request<'a>> {
        let With { distance, score, position } = self.request.with;
        if self.request.target.is_some() && (distance || score || position) {
            let what =
                if self.verb == Verb::SearchStore { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
            return Err(CommandError::text(format!(
                "ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        let is_polygon = matches!(self.area, Some(Area::Polygon(_)));
        if self.is_search() && is_polygon == (self.center != Center::Unsaid) {
            return Err(self.one_of("FROMMEMBER or FROMLONLAT can"));
        }
        if self.is_search() && self.area.is_none() {
            return Err(self.one_of("BYRADIUS, BYBOX and BYPOLYGON can"));
        }
        if self.request.any && self.request.count.is_none() {
            return Err(CommandError::Fixed("ERR the ANY argument requires COUNT argument"));
        }
        self.request.shape = match (self.center, self.area) {
            (_, Some(Area::Polygon(vertices))) => Some(Shape::polygon(vertices)),
            (Center::Member(Some(center)) | Center::Position(center), Some(area)) => {
                Some(Shape { center, area })
            }
            _ => None,
        };
        Ok(self.request)
    }

    fn one_of(&self, which: &str) -> CommandError {
        let mut text = format!("ERR exactly one of {which} be specified for ").into_bytes();
        text.extend_from_slice(&self.args[0]);
        CommandError::Text(text)
    }
}
