//! Glob patterns over option names: `* ? [a-c] [^a] \x`, letter case ignored.

/// Whether `name` matches `pattern`. O(pattern * name) at worst: a star only ever retries from the latest one.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, n));
            p += 1;
        } else if let Some(used) = one(&pattern[p..], name[n]) {
            p += used;
            n += 1;
        } else if let Some((after_star, from)) = retry {
            (p, n) = (after_star, from + 1);
            retry = Some((p, n));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

/// Bytes of the pattern's first item if it matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', rest @ ..] => class(rest, byte).map(|used| used + 1),
        [b'\\', escaped, ..] => escaped.eq_ignore_ascii_case(&byte).then_some(2),
        [literal, ..] => literal.eq_ignore_ascii_case(&byte).then_some(1),
    }
}

/// Bytes behind `[`, the `]` included, if the class holds `byte`.
fn class(body: &[u8], byte: u8) -> Option<usize> {
    let negated = body.first() == Some(&b'^');
    let mut i = usize::from(negated);
    let byte = byte.to_ascii_lowercase();
    let mut found = false;
    loop {
        i += match &body[i.min(body.len())..] {
            [] => break,
            [b']', ..] => {
                i += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                found |= escaped.eq_ignore_ascii_case(&byte);
                2
            }
            [from, b'-', to, ..] => {
                let (a, b) = (from.to_ascii_lowercase(), to.to_ascii_lowercase());
                found |= (a.min(b)..=a.max(b)).contains(&byte);
                3
            }
            [literal, ..] => {
                found |= literal.eq_ignore_ascii_case(&byte);
                1
            }
        };
    }
    (found != negated).then_some(i)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "x"),
            ("max*", "maxmemory"),
            ("*memory*", "maxmemory-policy"),
            ("t?meout", "timeout"),
            ("[st]ave", "save"),
            ("[a-t]ave", "save"),
            ("[^a]ave", "save"),
            ("SAVE", "save"),
            ("\\save", "save"),
            ("*a*a*a", "xaxaxa"),
            ("[s", "s"),
        ] {
            assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "x"), ("max", "maxmemory"), ("[^s]ave", "save"), ("*a*b", "xaxa"), ("?", "")]
        {
            assert!(!matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
