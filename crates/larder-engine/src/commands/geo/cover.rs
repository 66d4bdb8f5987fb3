//! Which cells of the map a search must look at: the one around its center and those of the eight around that one that
//! the shape reaches into. Each is one range of scores.

use super::position::{Position, SCORES, STEPS_MAX, deinterleave, interleave};
use super::shape::{Area, Bounds, Shape};

/// Half of the equator's length on the Mercator map, in meters.
const MERCATOR_MAX: f64 = 20_037_726.37;

/// The cells to look at in turn: the center, then north, south, east, west and the corners.
const DIRECTIONS: [(i8, i8); 9] =
    [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// A cell of the map: the positions whose scores begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    bits: u64,
    steps: u32,
}

impl Cell {
    fn around(position: &Position, steps: u32) -> Cell {
        Cell { bits: SCORES.cell(position, steps), steps }
    }

    /// The neighbour this many cells to the east and to the north; the map is a ring both ways.
    fn neighbour(self, (east, north): (i8, i8)) -> Cell {
        let (latitude, longitude) = deinterleave(self.bits);
        let moved = |at: u32, by: i8| match by {
            0 => at,
            _ => at.wrapping_add_signed(by.into()) & ((1 << self.steps) - 1),
        };
        Cell { bits: interleave(moved(latitude, north), moved(longitude, east)), steps: self.steps }
    }

    fn bounds(self) -> Bounds {
        let (latitude, longitude) = deinterleave(self.bits);
        let cells = (1_u64 << self.steps) as f64;
        let ends = |(min, size): (f64, f64), at: u32| {
            (min + f64::from(at) / cells * size, min + f64::from(at.wrapping_add(1)) / cells * size)
        };
        Bounds { longitude: ends(SCORES.longitude, longitude), latitude: ends(SCORES.latitude, latitude) }
    }

    /// The first score in it and the first after it.
    fn scores(self) -> (f64, f64) {
        let shift = 2 * (STEPS_MAX - self.steps);
        ((self.bits << shift) as f64, ((self.bits + 1) << shift) as f64)
    }
}

/// The ranges of scores, each without its end, that hold all positions of a shape, in the order to search them.
pub(super) fn cover(shape: &Shape) -> Vec<(f64, f64)> {
    let bounds = shape.bounds();
    let mut steps = steps_for(shape.reach(), shape.center.latitude);
    let fits = |steps| neighbours_reach(Cell::around(&shape.center, steps), &bounds);
    // The estimate is at most one step too fine for circles and boxes, which are round about their center.
    let decrease_max = if matches!(shape.area, Area::Polygon(_)) { STEPS_MAX } else { 1 };
    for _ in 0..decrease_max {
        if steps == 1 || fits(steps) {
            break;
        }
        steps -= 1;
    }
    let center = Cell::around(&shape.center, steps);
    let own = center.bounds();
    let mut cells: Vec<Cell> = Vec::with_capacity(DIRECTIONS.len());
    for (i, &direction) in DIRECTIONS.iter().enumerate() {
        if steps >= 2 && is_beyond(direction, &own, &bounds) {
            continue;
        }
        let cell = center.neighbour(direction);
        // Around a very wide search the map is a ring of two cells, so that neighbours on both sides are the same.
        if i == 0 || cells.len() == 1 || cells.last() != Some(&cell) {
            cells.push(cell);
        }
    }
    cells.into_iter().map(Cell::scores).collect()
}

/// How finely the map is divided for a search of this reach in meters.
fn steps_for(mut reach: f64, latitude: f64) -> u32 {
    if reach == 0.0 {
        return STEPS_MAX;
    }
    let mut steps = 1;
    while reach < MERCATOR_MAX {
        reach *= 2.0;
        steps += 1;
    }
    // One step for the ratio of a cell to its neighbours, one to be safe; more where the map stretches.
    steps -= 2;
    if latitude.abs() > 66.0 {
        steps -= 1;
    }
    if latitude.abs() > 80.0 {
        steps -= 1;
    }
    steps.clamp(1, STEPS_MAX as i32) as u32
}

/// Whether the neighbours of a cell reach to these bounds on all sides.
fn neighbours_reach(center: Cell, bounds: &Bounds) -> bool {
    let at = |direction| center.neighbour(direction).bounds();
    at((0, 1)).latitude.1 >= bounds.latitude.1
        && at((0, -1)).latitude.0 <= bounds.latitude.0
        && at((1, 0)).longitude.1 >= bounds.longitude.1
        && at((-1, 0)).longitude.0 <= bounds.longitude.0
}

/// Whether the bounds end before the neighbour in this direction begins.
fn is_beyond((east, north): (i8, i8), own: &Bounds, bounds: &Bounds) -> bool {
    (north < 0 && own.latitude.0 < bounds.latitude.0)
        || (north > 0 && own.latitude.1 > bounds.latitude.1)
        || (east < 0 && own.longitude.0 < bounds.longitude.0)
        || (east > 0 && own.longitude.1 > bounds.longitude.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_position(rng: &mut fastrand::Rng, latitude_max: f64) -> Position {
        Position { longitude: (rng.f64() - 0.5) * 360.0, latitude: (rng.f64() - 0.5) * 2.0 * latitude_max }
    }

    /// A position not far from another one.
    fn near(rng: &mut fastrand::Rng, center: &Position, degrees: f64) -> Position {
        Position {
            longitude: (center.longitude + (rng.f64() - 0.5) * degrees).clamp(-180.0, 180.0),
            latitude: (center.latitude + (rng.f64() - 0.5) * degrees).clamp(-85.0, 85.0),
        }
    }

    #[test]
    fn everything_inside_is_covered_once() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut inside = 0;
        for round in 0..600 {
            let center = random_position(&mut rng, 70.0);
            let degrees = 10_f64.powf(rng.f64() * 4.0 - 3.0);
            let meters = degrees * 50_000.0;
            let shape = match round % 3 {
                0 => Shape { center, area: Area::Circle { radius: meters } },
                1 => Shape { center, area: Area::Box { width: meters, height: meters * rng.f64() } },
                _ => Shape::polygon((0..5).map(|_| near(&mut rng, &center, degrees)).collect()),
            };
            let cells = cover(&shape);
            for _ in 0..100 {
                let position = Position::of_score(near(&mut rng, &center, degrees).score());
                let score = position.score();
                let hits = cells.iter().filter(|(from, to)| (*from..*to).contains(&score)).count();
                let is_inside = shape.distance_inside(&position).is_some();
                inside += u32::from(is_inside);
                assert!(hits <= 1, "{shape:?} {position:?}");
                // Redis does not look across the date line either.
                let crosses = shape.bounds().longitude.0 < -180.0 || shape.bounds().longitude.1 > 180.0;
                assert!(hits == 1 || !is_inside || crosses, "{shape:?} {position:?}");
            }
        }
        assert!(inside > 10_000, "{inside}");
    }

    #[test]
    fn the_map_is_a_ring() {
        let west_end = Cell::around(&Position { longitude: -179.9, latitude: 0.1 }, 5);
        let east_end = Cell::around(&Position { longitude: 179.9, latitude: 0.1 }, 5);
        assert_eq!(west_end.neighbour((-1, 0)), east_end);
        assert_eq!(east_end.neighbour((1, 0)), west_end);
        assert_eq!(west_end.neighbour((0, 1)).neighbour((0, -1)), west_end);
    }
}
