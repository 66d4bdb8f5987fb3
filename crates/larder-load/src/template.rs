//! Templates of keys and values: text with the names of columns in braces, `user:{id}`. `{{` and `}}` stand for braces.

use crate::row::Row;

/// A template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Column(String),
}

impl Template {
    /// Parses a template; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Template, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let column = after.split_once('}').filter(|(name, _)| brace == "{" && !name.is_empty());
            let Some((name, after)) = column else {
                return Err(format!(
                    "the template '{text}' has a brace that is not part of {{column}}: double it for a plain brace"
                ));
            };
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Column(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template(parts))
    }

    /// The template that is one column.
    pub fn column(name: &str) -> Template {
        Template(vec![Part::Column(name.to_owned())])
    }

    /// The names of its columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Column(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Appends the template filled in; the error is the name of a column that the row lacks.
    pub fn fill<'a>(&'a self, row: &dyn Row, to: &mut Vec<u8>) -> Result<(), &'a str> {
        for part in &self.0 {
            match part {
                Part::Text(text) => to.extend_from_slice(text.as_bytes()),
                Part::Column(name) => to.extend_from_slice(row.get(name).ok_or(name.as_str())?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_braces() {
        let columns =
            |text| Template::parse(text).map(|t| t.columns().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(columns("user:{id}:{b c}"), Ok(vec!["id".to_owned(), "b c".to_owned()]));
        assert_eq!(columns("{{tag}}"), Ok(vec![]));
        for bad in ["{", "}", "a{}", "{a", "a}b"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
        let pairs = [("id".to_owned(), b"7".to_vec())];
        let mut key = Vec::new();
        let template = Template::parse("{{u}}:{id}").unwrap();
        template.fill(&&pairs[..], &mut key).unwrap();
        assert_eq!(key, b"{u}:7");
        assert_eq!(Template::column("no").fill(&&pairs[..], &mut key), Err("no"));
    }
}
