//! What the columns of a file consist of: values, structs, lists and maps, as the schema's groups say it, in today's forms and in those of
//! old writers.
//!
//! ```text
//!  optional group LIST { repeated group list { optional element } }     a list
//!  optional group LIST { repeated int32 }   { repeated group array {..} }   of old writers: the repeated one is the element
//!  optional group MAP { repeated group key_value { required key; optional value } }
//!  repeated anything                                                    a list without a name
//! ```

use crate::parquet::kind::{Kind, kind_of};
use ::parquet::basic::{ConvertedType, LogicalType, Repetition};
use ::parquet::schema::types::Type;
use std::ops::Range;

/// A column, or what it consists of.
#[derive(Debug, PartialEq)]
pub struct Node {
    /// The name in its group.
    pub name: String,
    /// What it is.
    pub shape: Shape,
    /// The definition level from which on it is there.
    pub definition: i16,
    /// The columns of values in it, by their numbers among those that are read.
    pub leaves: Range<usize>,
}

/// What a node is.
#[derive(Debug, PartialEq)]
pub enum Shape {
    /// Any number of elements.
    List(Repeated, Box<Node>),
    /// Keys, and the value of each.
    Map(Repeated, Box<[Node; 2]>),
    /// Fields by their names.
    Struct(Vec<Node>),
    /// A value.
    Value(Kind),
}

/// The levels of something repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The definition level from which on there is an element.
    pub definition: i16,
    /// The repetition level of all elements but the first.
    pub repetition: i16,
}

/// How many columns of values are in a field.
pub fn leaves(field: &Type) -> usize {
    if field.is_group() { field.get_fields().iter().map(|field| leaves(field)).sum() } else { 1 }
}

/// A field of the file; its columns of values get numbers from `next` on. The error says what is not read.
pub fn node(field: &Type, next: &mut usize) -> Result<Node, String> {
    at(field, Place::default(), next)
}

/// The levels of what is around a field.
#[derive(Clone, Copy, Default)]
struct Place {
    definition: i16,
    repetition: i16,
}

impl Place {
    fn optional(self) -> Place {
        Place { definition: self.definition + 1, ..self }
    }

    fn repeated(self) -> Place {
        Place { definition: self.definition + 1, repetition: self.repetition + 1 }
    }

    fn of_elements(self) -> Repeated {
        Repeated { definition: self.definition, repetition: self.repetition }
    }
}

fn at(field: &Type, around: Place, next: &mut usize) -> Result<Node, String> {
    match field.get_basic_info().repetition() {
        Repetition::REQUIRED => content(field, around, next),
        Repetition::OPTIONAL => content(field, around.optional(), next),
        Repetition::REPEATED => list(field.name(), around, next, |inside, next| content(field, inside, next)),
    }
}

fn list(
    name: &str,
    place: Place,
    next: &mut usize,
    element: impl FnOnce(Place, &mut usize) -> Result<Node, String>,
) -> Result<Node, String> {
    let (first, inside) = (*next, place.repeated());
    let element = Box::new(element(inside, next)?);
    let shape = Shape::List(inside.of_elements(), element);
    Ok(Node { name: name.to_owned(), shape, definition: place.definition, leaves: first..*next })
}

/// What a field is, whether or not it is optional or repeated.
fn content(field: &Type, place: Place, next: &mut usize) -> Result<Node, String> {
    let (name, first) = (field.name().to_owned(), *next);
    if field.is_primitive() {
        let kind = kind_of(field).map_err(|reason| format!("'{name}': {reason}"))?;
        *next += 1;
        return Ok(Node {
            name,
            shape: Shape::Value(kind),
            definition: place.definition,
            leaves: first..*next,
        });
    }
    if let Some(repeated) = repeated_of(field, &LogicalType::List, &[ConvertedType::LIST]) {
        return list(&name, place, next, |inside, next| match element_of(field, repeated) {
            Some(element) => at(element, inside, next),
            None => content(repeated, inside, next),
        });
    }
    let maps = [ConvertedType::MAP, ConvertedType::MAP_KEY_VALUE];
    if let Some(entry) = repeated_of(field, &LogicalType::Map, &maps).filter(|entry| entry.is_group()) {
        let inside = place.repeated();
        match entry.get_fields() {
            [key, value] => {
                let entry = Box::new([at(key, inside, next)?, at(value, inside, next)?]);
                let shape = Shape::Map(inside.of_elements(), entry);
                return Ok(Node { name, shape, definition: place.definition, leaves: first..*next });
            }
            // A map without values is a list of keys.
            [key] => return list(&name, place, next, |inside, next| at(key, inside, next)),
            _ => {}
        }
    }
    let fields = field.get_fields().iter().filter(|field| leaves(field) > 0);
    let fields = fields.map(|field| at(field, place, next)).collect::<Result<Vec<_>, _>>()?;
    Ok(Node { name, shape: Shape::Struct(fields), definition: place.definition, leaves: first..*next })
}

/// The one repeated field of a group that is annotated as a list or a map.
fn repeated_of<'a>(field: &'a Type, logical: &LogicalType, converted: &[ConvertedType]) -> Option<&'a Type> {
    let info = field.get_basic_info();
    let is_so = info.logical_type_ref() == Some(logical) || converted.contains(&info.converted_type());
    let [only] = field.get_fields() else { return None };
    let is_repeated = only.get_basic_info().repetition() == Repetition::REPEATED && leaves(only) > 0;
    (is_so && is_repeated).then_some(&**only)
}

/// The element of a list in the repeated group; None if that is the element itself, by the rules for old writers.
fn element_of<'a>(list: &Type, repeated: &'a Type) -> Option<&'a Type> {
    let only = match (repeated.is_group(), repeated.is_group().then(|| repeated.get_fields())) {
        (true, Some([only])) => only,
        _ => return None,
    };
    let is_of_old = repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    let is_repeated = only.get_basic_info().repetition() == Repetition::REPEATED;
    (!is_of_old && !is_repeated).then_some(&**only)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::schema::parser::parse_message_type;

    fn shown(node: &Node) -> String {
        let Node { name, shape, definition, leaves } = node;
        let inside = match shape {
            Shape::List(of, element) => format!("[{}/{} {}]", of.definition, of.repetition, shown(element)),
            Shape::Map(of, entry) => {
                format!("{{{}/{} {}: {}}}", of.definition, of.repetition, shown(&entry[0]), shown(&entry[1]))
            }
            Shape::Struct(fields) => format!("({})", fields.iter().map(shown).collect::<Vec<_>>().join(", ")),
            Shape::Value(kind) => format!("{kind:?}"),
        };
        format!("{name}:{definition}:{}-{} {inside}", leaves.start, leaves.end)
    }

    /// The shape of one field.
    fn of(field: &str) -> String {
        let message = parse_message_type(&format!("message m {{ {field} }}")).unwrap();
        shown(&node(&message.get_fields()[0], &mut 5).unwrap())
    }

    #[test]
    fn values_and_structs() {
        assert_eq!(of("required int32 a;"), "a:0:5-6 Plain");
        assert_eq!(of("optional int64 a (DECIMAL(9,2));"), "a:1:5-6 Decimal(2)");
        assert_eq!(
            of("optional group s { required double a; optional group t { optional int32 b (DATE); } }"),
            "s:1:5-7 (a:1:5-6 Plain, t:2:6-7 (b:3:6-7 Date))"
        );
    }

    #[test]
    fn lists_of_all_writers() {
        let today = of("optional group l (LIST) { repeated group list { optional int32 element; } }");
        assert_eq!(today, "l:1:5-6 [2/1 element:3:5-6 Plain]");
        assert_eq!(of("repeated int32 l;"), "l:0:5-6 [1/1 l:1:5-6 Plain]");
        let plain = of("optional group l (LIST) { repeated int32 element; }");
        assert_eq!(plain, "l:1:5-6 [2/1 element:2:5-6 Plain]");
        let pairs =
            of("required group l (LIST) { repeated group e { required int32 a; optional int32 b; } }");
        assert_eq!(pairs, "l:0:5-7 [1/1 e:1:5-7 (a:1:5-6 Plain, b:2:6-7 Plain)]");
        for name in ["array", "l_tuple"] {
            let single =
                of(&format!("required group l (LIST) {{ repeated group {name} {{ required int32 a; }} }}"));
            assert_eq!(single, format!("l:0:5-6 [1/1 {name}:1:5-6 (a:1:5-6 Plain)]"));
        }
        let nested = of("required group l (LIST) { repeated group array (LIST) { repeated int32 array; } }");
        assert_eq!(nested, "l:0:5-6 [1/1 array:1:5-6 [2/2 array:2:5-6 Plain]]");
        let odd = of("required group l (LIST) { required int32 a; }");
        assert_eq!(odd, "l:0:5-6 (a:0:5-6 Plain)");
    }

    #[test]
    fn maps() {
        let map = of("optional group m (MAP) { repeated group kv { required binary k; optional int32 v; } }");
        assert_eq!(map, "m:1:5-7 {2/1 k:2:5-6 Plain: v:3:6-7 Plain}");
        let keys = of("optional group m (MAP) { repeated group kv { required binary k; } }");
        assert_eq!(keys, "m:1:5-6 [2/1 k:2:5-6 Plain]");
        let old = of(
            "optional group m (MAP_KEY_VALUE) { repeated group map { required binary k; required int32 v; } }",
        );
        assert_eq!(old, "m:1:5-7 {2/1 k:2:5-6 Plain: v:2:6-7 Plain}");
    }
}
