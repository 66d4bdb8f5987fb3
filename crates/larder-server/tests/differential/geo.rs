//! Scripts of the geo commands, and random searches.

use crate::{Pair, compare, run_script, words};
use fastrand::Rng;
use larder_testkit::{Server, Value, full_run, seed};

#[test]
fn adding_and_reading() {
    run_script(
        r#"
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
        GEOADD g 13.361389 38.115556 Palermo
        GEOADD g NX 0 0 Palermo 1 1 fresh
        GEOADD g XX CH 0 0 fresh 3 3 none
        GEOADD g CH XX 0 0 fresh
        GEOADD g ch 1 1 fresh 2 2 new
        GEOADD g NX XX 0 0 a
        GEOADD g NX CH 0
        GEOADD g NX 0 0
        GEOADD g NX CH XX
        GEOADD g 0 0
        GEOADD g 0 0 a 1
        GEOADD g x 0 a
        GEOADD g 0 y a
        GEOADD g 181 0 a
        GEOADD g 0 86 a
        GEOADD g 0 -85.06 a
        GEOADD g 1 1 a 200 100 b
        EXISTS a
        ZSCORE g a
        GEOADD g inf 0 a
        GEOADD g nan 0 a
        GEOADD g 1e400 0 a
        GEOADD g 1e-400 0 a
        ZADD g 1e400 a
        ZADD g -1e-400 a
        ZINCRBY g 1e400 a
        GEOADD edge 180 85.05112878 ne -180 -85.05112878 sw 180 -85.05112878 se -180 85.05112878 nw 0 0 zero
        ZRANGE edge 0 -1 WITHSCORES
        GEOPOS edge ne sw se nw zero
        GEOHASH edge ne sw se nw zero
        GEODIST edge ne sw
        GEODIST edge ne nw
        GEODIST edge sw nw
        GEODIST g Palermo Catania
        GEODIST g Palermo Catania km
        GEODIST g Palermo Catania KM
        GEODIST g Palermo Catania mi
        GEODIST g Palermo Catania ft
        GEODIST g Palermo Catania xx
        GEODIST g Palermo Catania km x
        GEODIST g Palermo Palermo
        GEODIST g Palermo none
        GEODIST none a b
        GEODIST none a b xx
        GEODIST g Palermo
        GEOPOS g Palermo none Catania fresh
        GEOPOS g
        GEOPOS none a b
        GEOPOS none
        GEOHASH g Palermo none Catania
        GEOHASH none a
        GEOHASH g
        ZADD odd -1 minus 0.5 half 1e300 huge inf inf -inf minf 4503599627370496 over 18446744073709551616 wide 9223372036854775808 edge -9223372036854775809 low 18446744073709549568 high
        GEOPOS odd minus half huge inf minf over wide edge low high
        GEOHASH odd minus half huge inf minf over wide edge low high
        GEODIST odd half over
        SET s x
        GEOADD s 0 0 a
        GEOADD s 0 0
        GEODIST s a b
        GEODIST s a b xx
        GEOPOS s a
        GEOHASH s a
        GEOSEARCH s FROMLONLAT 0 0 BYRADIUS 1 m
        GEORADIUS s 0 0 1 m
        GEORADIUS s 0 0 1 m STORE
        GEORADIUS s 0 0 1 m NOSUCH
        GEORADIUSBYMEMBER s a 1 m
        GEOSEARCHSTORE d s FROMLONLAT 0 0 BYRADIUS 1 m
        OBJECT ENCODING g
        TYPE g
        DEBUG DIGEST-VALUE g edge odd
        "#,
        &[],
    );
}

#[test]
fn searching() {
    run_script(
        r#"
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km DESC WITHDIST WITHCOORD WITHHASH
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST
        GEOSEARCH g FROMMEMBER Palermo BYBOX 400 400 km DESC WITHDIST
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 1e5 m COUNT 1
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT 2 ANY
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT 2 ANY ASC
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT 2 DESC
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi ANY
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT 0
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT -1
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT x
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 500 mi COUNT
        GEOSEARCH g FROMMEMBER none BYRADIUS 500 mi
        GEOSEARCH none FROMMEMBER x BYRADIUS 500 mi
        GEOSEARCH none FROMLONLAT 0 0 BYRADIUS 500 mi
        GEOSEARCH none FROMLONLAT 0 0 BYRADIUS 500 xx
        GEOSEARCH none FROMLONLAT 0 0 BYRADIUS 500 km NOSUCH
        GEOSEARCH none FROMMEMBER x WITHDIST WITHDIST WITHDIST
        GEOSEARCH g BYRADIUS 500 mi ASC ASC WITHDIST
        geosearch g BYRADIUS 500 mi ASC ASC WITHDIST
        GEOSEARCH g FROMLONLAT 0 0 ASC WITHDIST
        GEOSEARCH g FROMLONLAT 0 0 FROMMEMBER Palermo BYRADIUS 1 m
        GEOSEARCH g FROMMEMBER Palermo FROMLONLAT 0 0 BYRADIUS 1 m
        GEOSEARCH g FROMMEMBER Palermo FROMMEMBER Catania BYRADIUS 1 m
        GEOSEARCH g FROMLONLAT 1 2 FROMLONLAT 15 37 BYRADIUS 200 km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km BYRADIUS 200 km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km BYBOX 1 1 km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 1 km BYRADIUS 1 km
        GEOSEARCH g FROMLONLAT 200 37 BYBOX 1 1 km
        GEOSEARCH g FROMLONLAT x 37 BYBOX 1 1 km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS -1 km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS x km
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS x xx
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS -1 xx
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 -1 km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX x y km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 y km
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 1 xx
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 1
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 0 km
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 0 km
        GEOSEARCH g FROMMEMBER Palermo BYBOX 0 0 km WITHDIST
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS inf km WITHDIST ASC
        GEOSEARCH g FROMLONLAT 15 37 BYBOX inf inf km ASC
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 0 inf km ASC
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 30000 km ASC
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1e300 km ASC
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km STORE d
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST
        GEORADIUS g 15 37 200 km
        GEORADIUS g 15 37 200 km WITHDIST WITHHASH WITHCOORD DESC
        GEORADIUS g 15 37 200 km COUNT 1
        GEORADIUS g 15 37 200 km COUNT 1 ANY
        GEORADIUS g 15 37 200 km FROMLONLAT 0 0
        GEORADIUS g 15 37 200 km BYRADIUS 1 m
        GEORADIUS g 15 37 200 xx
        GEORADIUS g 15 x 200 km
        GEORADIUS g 15 37 -1 km
        GEORADIUS none 15 37 200 km
        GEORADIUS_RO g 15 37 200 km WITHDIST
        GEORADIUS_RO g 15 37 200 km STORE d
        GEORADIUSBYMEMBER g Palermo 200 km WITHDIST
        GEORADIUSBYMEMBER g none 200 km
        GEORADIUSBYMEMBER none a 200 km
        GEORADIUSBYMEMBER none a x xx
        GEORADIUSBYMEMBER none a x xx STORE d
        GEORADIUSBYMEMBER_RO g Palermo 200 km
        GEORADIUSBYMEMBER_RO g Palermo 200 km STORE d
        GEORADIUS g 15 37 200 km STORE d
        ZRANGE d 0 -1 WITHSCORES
        GEORADIUS g 15 37 200 km STOREDIST d
        ZRANGE d 0 -1 WITHSCORES
        GEORADIUS g 15 37 200 km STORE d STOREDIST e
        ZRANGE e 0 -1 WITHSCORES
        GEORADIUS g 15 37 200 km STORE store1 STORE store2 STORE store3 STORE store4 STORE store5
        ZCARD store5
        EXISTS store1 store2 store3 store4
        GEORADIUS g 15 37 200 km STORE STORE
        ZCARD STORE
        GEORADIUS g 15 37 200 km STORE
        GEORADIUS g 15 37 200 km STOREDIST
        GEORADIUS g 15 37 200 km STORE d WITHDIST
        GEORADIUS g 15 37 200 km STORE d COUNT 1
        ZRANGE d 0 -1
        GEORADIUS g 15 37 1 m STORE d
        EXISTS d
        GEORADIUS none 15 37 1 m STORE e
        EXISTS e
        GEORADIUSBYMEMBER g Palermo 200 km STOREDIST d
        ZRANGE d 0 -1 WITHSCORES
        GEORADIUSBYMEMBER g STORE 200 km
        GEORADIUSBYMEMBER none STORE 200 km STORE d
        EXISTS d
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km
        ZRANGE d 0 -1 WITHSCORES
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYBOX 400 400 km STOREDIST ASC COUNT 2
        ZRANGE d 0 -1 WITHSCORES
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST
        GEOSEARCHSTORE d g BYRADIUS 200 km WITHDIST ASC
        GEOSEARCHSTORE d g BYRADIUS 200 km ASC STOREDIST
        GEOSEARCHSTORE d none FROMLONLAT 15 37 BYRADIUS 200 km
        EXISTS d
        SET s x
        GEOSEARCHSTORE s g FROMLONLAT 15 37 BYRADIUS 200 km
        TYPE s
        GEOSEARCHSTORE g g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1
        ZRANGE g 0 -1
        "#,
        &[],
    );
}

/// Fills a sorted set on both with random places, most of them near a few centers.
fn fill(pair: &mut Pair, rng: &mut Rng, members: usize) -> Vec<(f64, f64)> {
    let anywhere = |rng: &mut Rng| ((rng.f64() - 0.5) * 360.0, (rng.f64() - 0.5) * 170.0);
    let centers: Vec<(f64, f64)> =
        (0..6).map(|_| anywhere(rng)).chain([(179.99, 10.0), (0.123_456_7, 84.9)]).collect();
    let mut line = "GEOADD g".to_owned();
    for member in 0..members {
        let (x, y) = match rng.u8(..10) {
            0 => anywhere(rng),
            1 => (0.0, (rng.f64() - 0.5) * 170.0),
            _ => {
                let (x, y) = centers[rng.usize(..centers.len())];
                let spread = 10_f64.powi(rng.i32(-2..=1));
                (x + (rng.f64() - 0.5) * spread, y + (rng.f64() - 0.5) * spread)
            }
        };
        // Members at the edge would be equally far from each other in pairs: Valkey orders those by chance.
        let y = if y.abs() < 85.0 { y } else { (rng.f64() - 0.5) * 170.0 };
        line += &format!(" {} {y} m{member}", x.clamp(-180.0, 180.0));
    }
    let (ours, theirs) = pair.both(&words(&line));
    assert_eq!(ours, theirs);
    centers
}

fn random_search(rng: &mut Rng, centers: &[(f64, f64)], members: usize) -> String {
    let (x, y) = centers[rng.usize(..centers.len())];
    let from = match rng.bool() {
        true => format!("FROMLONLAT {} {}", x.clamp(-180.0, 180.0), (y + rng.f64() - 0.5).clamp(-85.0, 85.0)),
        false => format!("FROMMEMBER m{}", rng.usize(..members + 3)),
    };
    let mut length = || 10_f64.powf(rng.f64() * 6.0) / 50.0;
    let (width, height) = (length(), length());
    let unit = ["m", "km", "ft", "mi"][rng.usize(..4)];
    let by = match rng.bool() {
        true => format!("BYRADIUS {width} {unit}"),
        false => format!("BYBOX {width} {height} {unit}"),
    };
    let order = ["", " ASC", " DESC"][rng.usize(..3)];
    let count = ["", " COUNT 3", " COUNT 5 ANY", " COUNT 100"][rng.usize(..4)];
    match rng.u8(..5) {
        0 => format!("GEOSEARCHSTORE d g {from} {by}{order}{count}{}", ["", " STOREDIST"][rng.usize(..2)]),
        1 => "ZRANGE d 0 -1 WITHSCORES".to_owned(),
        2 => {
            let (a, b) = (rng.usize(..members), rng.usize(..members));
            [
                format!("GEODIST g m{a} m{b} {unit}"),
                format!("GEOPOS g m{a} m{b}"),
                format!("GEOHASH g m{a} m{b}"),
            ][rng.usize(..3)]
            .clone()
        }
        _ => {
            let with = ["", " WITHDIST", " WITHCOORD WITHDIST", " WITHHASH"][rng.usize(..4)];
            format!("GEOSEARCH g {from} {by}{order}{count}{with}")
        }
    }
}

/// Distances on a meridian are computed by another formula, and differ from those of the general one in the last bit.
#[test]
fn places_on_one_meridian() {
    let places: String = (-42..42).map(|n| format!(" 0 {}.{:02} m{n}", n * 2, (n * n) % 100)).collect();
    let mut script = format!("GEOADD g{places} 13.361389 38.115556 Palermo\n");
    for center in [-40, -7, 0, 3, 41] {
        for area in ["BYRADIUS 9000 km", "BYBOX 9000 9000 mi"] {
            script += &format!(
                "GEOSEARCHSTORE d g FROMMEMBER m{center} {area} STOREDIST\nZRANGE d 0 -1 WITHSCORES\n"
            );
        }
    }
    run_script(&script, &[]);
}

#[test]
fn random_searches() {
    let mut pair = Pair::start(1, &[]);
    let mut hits = 0;
    for (own, members, searches) in [(61, 100, 1500), (62, 3000, 1500)] {
        pair.reset("3");
        let seed = seed(own);
        let mut rng = Rng::with_seed(seed);
        let centers = fill(&mut pair, &mut rng, members);
        for step in 0..searches * if full_run() { 30 } else { 1 } {
            let line = random_search(&mut rng, &centers, members);
            let replies = pair.both(&words(&line));
            hits += replies.0.items().len();
            let difference = compare(&line, &replies);
            assert!(difference.is_none(), "SEED={seed} step {step}: {}", difference.unwrap_or_default());
        }
    }
    assert!(hits > 10_000, "{hits}");
}

/// Meters between two places, by the formula that the search need not know of.
fn haversine(a: (f64, f64), b: (f64, f64)) -> f64 {
    let [x1, y1, x2, y2] = [a.0, a.1, b.0, b.1].map(f64::to_radians);
    let h = ((y2 - y1) / 2.0).sin().powi(2) + y1.cos() * y2.cos() * ((x2 - x1) / 2.0).sin().powi(2);
    2.0 * 6_372_797.560_856 * h.sqrt().asin()
}

#[test]
fn circles_and_polygons_against_looking_at_every_member() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    let mut rng = Rng::with_seed(seed(63));
    let mut places = Vec::new();
    for member in 0..2000 {
        let place = (10.0 + rng.f64() * 4.0, 45.0 + rng.f64() * 4.0);
        client.ask(&format!("GEOADD g {} {} m{member}", place.0, place.1));
        places.push(place);
    }
    let names = |value: &Value| {
        let mut names: Vec<String> = value.items().iter().map(Value::text).collect();
        names.sort();
        names
    };
    let expected = |inside: &dyn Fn(&(f64, f64)) -> bool| {
        let mut names: Vec<String> =
            (0..places.len()).filter(|&i| inside(&places[i])).map(|i| format!("m{i}")).collect();
        names.sort();
        names
    };
    for _ in 0..100 {
        let (x, y) = (10.0 + rng.f64() * 4.0, 45.0 + rng.f64() * 4.0);
        let radius = rng.f64() * 100_000.0;
        let found = client.ask(&format!("GEOSEARCH g FROMLONLAT {x} {y} BYRADIUS {radius} m"));
        // Positions are kept to half a meter.
        let sure = expected(&|place| haversine((x, y), *place) < radius - 1.0);
        let maybe = expected(&|place| haversine((x, y), *place) < radius + 1.0);
        let found = names(&found);
        assert!(
            sure.iter().all(|name| found.contains(name)) && found.iter().all(|name| maybe.contains(name))
        );
        let (x2, y2) = (x + rng.f64(), y + rng.f64());
        let square = format!("GEOSEARCH g BYPOLYGON 4 {x} {y} {x2} {y} {x2} {y2} {x} {y2}");
        let inside = |place: &(f64, f64), by: f64| {
            place.0 > x - by && place.0 < x2 + by && place.1 > y - by && place.1 < y2 + by
        };
        let found = names(&client.ask(&square));
        let (sure, maybe) = (expected(&|place| inside(place, -1e-5)), expected(&|place| inside(place, 1e-5)));
        assert!(
            sure.iter().all(|name| found.contains(name)) && found.iter().all(|name| maybe.contains(name))
        );
    }
    for (line, error) in [
        ("GEOSEARCH g BYPOLYGON 2 0 0 1 1", "ERR GEOSEARCH BYPOLYGON must have at least 3 vertices"),
        ("GEOSEARCH g BYPOLYGON 3 0 0 1 1 0", "ERR GEOSEARCH BYPOLYGON must have at least 3 vertices"),
        ("GEOSEARCH g BYPOLYGON x 0 0 1 1 0 1", "ERR invalid number of vertices"),
        ("GEOSEARCH g BYPOLYGON 9223372036854775807 0 0 1 1", "ERR invalid number of vertices"),
        ("GEOSEARCH g BYPOLYGON 3 0 0 1 1 0 100", "ERR invalid longitude,latitude pair 0.000000,100.000000"),
    ] {
        assert_eq!(client.ask(line).text(), error, "{line}");
    }
}
