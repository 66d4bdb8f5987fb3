//! Positions on the globe, and the scores that sorted sets keep them as.
//!
//! A score interleaves the bits of latitude and longitude, 26 of each, so that positions near each other mostly have scores
//! near each other. It is an integer of 52 bits, which a double holds exactly.
//!
//! ```text
//!   bit    51   50   49   48          1    0
//!        +----+----+----+----+-    -+----+----+
//!        | lo | la | lo | la |  ..  | lo | la |      lo: longitude from -180, la: latitude from -85.05112878
//!        +----+----+----+----+-    -+----+----+
//! ```

/// Bits of a score for each of latitude and longitude.
pub(super) const STEPS_MAX: u32 = 26;

const LONGITUDE_MAX: f64 = 180.0;
/// Where the Mercator projection makes a square of the map.
const LATITUDE_MAX: f64 = 85.051_128_78;
/// Meters: the Earth's quadratic mean radius.
pub(super) const EARTH_RADIUS: f64 = 6_372_797.560_856;
const RADIANS: f64 = std::f64::consts::PI / 180.0;

/// A place, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Position {
    pub longitude: f64,
    pub latitude: f64,
}

/// The degrees that a grid divides: its corner and its size.
pub(super) struct Grid {
    pub longitude: (f64, f64),
    pub latitude: (f64, f64),
}

/// The grid of scores.
pub(super) const SCORES: Grid =
    Grid { longitude: (-LONGITUDE_MAX, 2.0 * LONGITUDE_MAX), latitude: (-LATITUDE_MAX, 2.0 * LATITUDE_MAX) };

/// The grid of the geohashes that people exchange: latitude goes up to the poles.
pub(super) const STANDARD: Grid = Grid { longitude: (-180.0, 360.0), latitude: (-90.0, 180.0) };

pub(super) fn radians(degrees: f64) -> f64 {
    degrees * RADIANS
}

pub(super) fn degrees(radians: f64) -> f64 {
    radians / RADIANS
}

impl Position {
    /// Whether a sorted set can keep it.
    pub fn is_valid(&self) -> bool {
        (-LONGITUDE_MAX..=LONGITUDE_MAX).contains(&self.longitude)
            && (-LATITUDE_MAX..=LATITUDE_MAX).contains(&self.latitude)
    }

    /// The score that stands for it.
    pub fn score(&self) -> f64 {
        SCORES.cell(self, STEPS_MAX) as f64
    }

    /// The middle of the cell that a score stands for. Whatever the score, it is on the map.
    #[inline]
    pub fn of_score(score: f64) -> Position {
        let (latitude, longitude) = deinterleave(bits_of(score));
        let middle = |(min, size): (f64, f64), at: u32, limit: f64| {
            let cells = (1_u64 << STEPS_MAX) as f64;
            let low = min + f64::from(at) / cells * size;
            let high = min + f64::from(at.wrapping_add(1)) / cells * size;
            ((low + high) / 2.0).clamp(-limit, limit)
        };
        Position {
            longitude: middle(SCORES.longitude, longitude, LONGITUDE_MAX),
            latitude: middle(SCORES.latitude, latitude, LATITUDE_MAX),
        }
    }

    /// Meters along the surface, by the haversine formula; on one meridian by the shorter one, which differs in the last bit.
    #[inline]
    pub fn distance(&self, to: &Position) -> f64 {
        let half = |from: f64, to: f64| ((radians(to) - radians(from)) / 2.0).sin();
        let v = half(self.longitude, to.longitude);
        if v == 0.0 {
            return EARTH_RADIUS * (radians(to.latitude) - radians(self.latitude)).abs();
        }
        let u = half(self.latitude, to.latitude);
        let a = u * u + radians(self.latitude).cos() * radians(to.latitude).cos() * v * v;
        2.0 * EARTH_RADIUS * a.sqrt().asin()
    }

    /// The eleven letters of its geohash. There are bits for ten.
    pub fn geohash(&self) -> [u8; 11] {
        const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        let bits = STANDARD.cell(self, STEPS_MAX);
        std::array::from_fn(|i| {
            let letter = if i == 10 { 0 } else { bits >> (52 - 5 * (i + 1)) & 31 };
            ALPHABET[letter as usize]
        })
    }
}

impl Grid {
    /// The interleaved numbers of the cell that a position lies in, when each direction is divided `steps` times.
    pub fn cell(&self, position: &Position, steps: u32) -> u64 {
        let number = |(min, size): (f64, f64), at: f64| ((at - min) / size * (1_u64 << steps) as f64) as u32;
        interleave(number(self.latitude, position.latitude), number(self.longitude, position.longitude))
    }
}

/// The integer in a score. Scores that no position has are converted as the processors that Redis runs on do it.
fn bits_of(score: f64) -> u64 {
    const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
    if score < 0.0 {
        score as i64 as u64
    } else if score < TWO_TO_64 {
        score as u64
    } else {
        0
    }
}

/// Spreads the bits of a number to the even places.
fn spread(number: u32) -> u64 {
    let mut bits = u64::from(number);
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

/// Collects the bits at the even places.
fn collect(bits: u64) -> u32 {
    let mut bits = bits & 0x5555_5555_5555_5555;
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0F0F_0F0F_0F0F_0F0F),
        (4, 0x00FF_00FF_00FF_00FF),
        (8, 0x0000_FFFF_0000_FFFF),
        (16, 0x0000_0000_FFFF_FFFF),
    ] {
        bits = (bits | bits >> shift) & mask;
    }
    bits as u32
}

/// The numbers of a cell as one: latitude at the even places.
pub(super) fn interleave(latitude: u32, longitude: u32) -> u64 {
    spread(latitude) | spread(longitude) << 1
}

/// Latitude and longitude of what [`interleave`] made.
pub(super) fn deinterleave(bits: u64) -> (u32, u32) {
    (collect(bits), collect(bits >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_go_there_and_back() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let (latitude, longitude) = (rng.u32(..), rng.u32(..));
            assert_eq!(deinterleave(interleave(latitude, longitude)), (latitude, longitude));
        }
        assert_eq!(interleave(0b11, 0b10), 0b1101);
    }

    #[test]
    fn scores_are_near_their_positions() {
        let mut rng = fastrand::Rng::with_seed(2);
        for _ in 0..1000 {
            let position = Position {
                longitude: (rng.f64() - 0.5) * 360.0,
                latitude: (rng.f64() - 0.5) * 2.0 * LATITUDE_MAX,
            };
            let score = position.score();
            assert!(score < (1_u64 << 52) as f64);
            let back = Position::of_score(score);
            assert!(position.distance(&back) < 0.6, "{position:?} {back:?}");
            assert_eq!(back.score(), score);
        }
    }

    #[test]
    fn known_places() {
        let palermo = Position { longitude: 13.361389, latitude: 38.115556 };
        let catania = Position { longitude: 15.087269, latitude: 37.502669 };
        assert_eq!(palermo.score(), 3_479_099_956_230_698.0);
        let decoded = Position::of_score(palermo.score());
        assert_eq!(&decoded.geohash(), b"sqc8b49rny0");
        assert!((decoded.distance(&Position::of_score(catania.score())) - 166_274.151_6).abs() < 0.0001);
    }

    #[test]
    fn any_score_is_on_the_map() {
        for score in [-1.0, -1e300, 1e300, f64::INFINITY, f64::NEG_INFINITY, 0.5, 1e19, (1_u64 << 52) as f64]
        {
            assert!(Position::of_score(score).is_valid(), "{score}");
        }
    }
}
