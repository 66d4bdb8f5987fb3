//! What a search looks in: a circle or a box around a position, or a polygon.

use super::position::{EARTH_RADIUS, Position, degrees, radians};

/// See the module's comment. Lengths are in meters.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// From where distances are measured.
    pub center: Position,
    pub area: Area,
}

#[derive(Clone, Debug)]
pub(super) enum Area {
    Circle {
        radius: f64,
    },
    Box {
        width: f64,
        height: f64,
    },
    /// The vertices in order; the last is joined with the first.
    Polygon(Vec<Position>),
}

/// Degrees that enclose a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub longitude: (f64, f64),
    pub latitude: (f64, f64),
}

impl Shape {
    /// The polygon with these vertices, measured from the point of the sphere below their mean in space. Their sum has the same direction, and
    /// is what Valkey takes: a division would change last digits.
    pub fn polygon(vertices: Vec<Position>) -> Shape {
        let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
        for vertex in &vertices {
            let (longitude, latitude) = (radians(vertex.longitude), radians(vertex.latitude));
            x += latitude.cos() * longitude.cos();
            y += latitude.cos() * longitude.sin();
            z += latitude.sin();
        }
        let latitude = z.atan2((x * x + y * y).sqrt());
        let center = Position { longitude: degrees(y.atan2(x)), latitude: degrees(latitude) };
        Shape { center, area: Area::Polygon(vertices) }
    }

    /// The distance of a position from the center in meters, if it lies in the shape.
    #[inline]
    pub fn distance_inside(&self, position: &Position) -> Option<f64> {
        let center = &self.center;
        match &self.area {
            Area::Circle { radius } => {
                let distance = center.distance(position);
                (distance <= *radius).then_some(distance)
            }
            Area::Box { width, height } => {
                let across = position.distance(&Position { longitude: center.longitude, ..*position });
                let along = position.distance(&Position { latitude: center.latitude, ..*position });
                (across <= width / 2.0 && along <= height / 2.0).then(|| center.distance(position))
            }
            Area::Polygon(vertices) => encloses(vertices, position).then(|| center.distance(position)),
        }
    }

    /// Meters from the center that the whole shape is within.
    pub fn reach(&self) -> f64 {
        match &self.area {
            Area::Circle { radius } => *radius,
            Area::Box { width, height } => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
            Area::Polygon(vertices) => {
                vertices.iter().map(|vertex| self.center.distance(vertex)).fold(0.0, f64::max)
            }
        }
    }

    /// Degrees outside which no position is in the shape: cheaper to compare with than to compute the distance.
    pub fn limits(&self) -> Bounds {
        let mut bounds = self.bounds();
        let is_exact = match &self.area {
            // A circle around a pole or across the date line has places at longitudes far off.
            Area::Circle { .. } => {
                bounds.latitude.0 > -89.0
                    && bounds.latitude.1 < 89.0
                    && bounds.longitude.0 >= -180.0
                    && bounds.longitude.1 <= 180.0
            }
            // Its width counts on the surface, at the latitude of each position.
            Area::Box { .. } => false,
            Area::Polygon(_) => true,
        };
        if !is_exact {
            bounds.longitude = (f64::NEG_INFINITY, f64::INFINITY);
        }
        bounds
    }

    /// Degrees that enclose it.
    pub fn bounds(&self) -> Bounds {
        let (width, height) = match &self.area {
            Area::Circle { radius } => (*radius, *radius),
            Area::Box { width, height } => (width / 2.0, height / 2.0),
            Area::Polygon(vertices) => return enclosing(vertices),
        };
        let Position { longitude, latitude } = self.center;
        let up = degrees(height / EARTH_RADIUS);
        // Meridians are closer to each other on the side of the nearer pole.
        let narrow = if latitude < 0.0 { latitude - up } else { latitude + up };
        let aside = degrees(width / EARTH_RADIUS / radians(narrow).cos());
        Bounds { longitude: (longitude - aside, longitude + aside), latitude: (latitude - up, latitude + up) }
    }
}

impl Bounds {
    /// Degrees by which rounding could be off, and much more: a tenth of a meter.
    const MARGIN: f64 = 1e-6;

    /// Whether a position lies outside by more than rounding could explain. Never true of bounds that are no numbers.
    #[inline]
    pub fn exclude(&self, position: &Position) -> bool {
        let outside = |at, (min, max): (f64, f64)| at < min - Self::MARGIN || at > max + Self::MARGIN;
        outside(position.latitude, self.latitude) || outside(position.longitude, self.longitude)
    }
}

fn enclosing(vertices: &[Position]) -> Bounds {
    let ends = |of: fn(&Position) -> f64| {
        let all = vertices.iter().map(of);
        (all.clone().fold(f64::INFINITY, f64::min), all.fold(f64::NEG_INFINITY, f64::max))
    };
    Bounds { longitude: ends(|v| v.longitude), latitude: ends(|v| v.latitude) }
}

/// Whether a polygon encloses a position: whether a line from there to the east crosses its sides an odd number of times.
/// Sides are straight on the map.
fn encloses(vertices: &[Position], position: &Position) -> bool {
    let Some(mut from) = vertices.last() else { return false };
    let mut inside = false;
    for to in vertices {
        if (from.latitude > position.latitude) != (to.latitude > position.latitude) {
            let part = (position.latitude - from.latitude) / (to.latitude - from.latitude);
            let crossing = from.longitude + part * (to.longitude - from.longitude);
            inside ^= position.longitude < crossing;
        }
        from = to;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(longitude: f64, latitude: f64) -> Position {
        Position { longitude, latitude }
    }

    #[test]
    fn nothing_inside_is_beyond_the_limits() {
        let mut rng = fastrand::Rng::with_seed(1);
        for round in 0..2000 {
            let center = at((rng.f64() - 0.5) * 360.0, (rng.f64() - 0.5) * 170.0);
            let length = 10_f64.powf(rng.f64() * 7.0);
            let area = match round % 2 {
                0 => Area::Circle { radius: length },
                _ => Area::Box { width: length, height: length * rng.f64() },
            };
            let shape = Shape { center, area };
            let limits = shape.limits();
            for _ in 0..50 {
                let spread = length / 40_000.0;
                let position = at(
                    (center.longitude + (rng.f64() - 0.5) * spread).clamp(-180.0, 180.0),
                    (center.latitude + (rng.f64() - 0.5) * spread).clamp(-85.0, 85.0),
                );
                let is_inside = shape.distance_inside(&position).is_some();
                assert!(!(is_inside && limits.exclude(&position)), "{shape:?} {position:?}");
            }
        }
    }

    #[test]
    fn polygons() {
        // The letter L.
        let l = [at(0.0, 0.0), at(4.0, 0.0), at(4.0, 1.0), at(1.0, 1.0), at(1.0, 5.0), at(0.0, 5.0)];
        for (x, y, inside) in [
            (0.5, 0.5, true),
            (3.5, 0.5, true),
            (0.5, 4.5, true),
            (2.0, 2.0, false),
            (-1.0, 0.5, false),
            (5.0, 0.5, false),
        ] {
            assert_eq!(encloses(&l, &at(x, y)), inside, "{x} {y}");
        }
        let bounds = Shape::polygon(l.to_vec()).bounds();
        assert_eq!((bounds.longitude, bounds.latitude), ((0.0, 4.0), (0.0, 5.0)));
        assert!(!encloses(&[], &at(0.0, 0.0)));
    }
}
