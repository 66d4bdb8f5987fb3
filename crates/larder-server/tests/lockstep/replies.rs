//! Replies in forms that can be compared.

use larder_testkit::Value;

pub fn same(larder: &Value, other: &Value) -> Result<(), String> {
    if larder == other { Ok(()) } else { Err(format!("Larder: {larder:?}\n      other:  {other:?}")) }
}

/// The same with zero where there was minus zero.
pub fn without_minus_zero(value: &Value) -> Value {
    match value {
        Value::Bulk(text) if text == b"-0" => Value::Bulk(b"0".to_vec()),
        Value::Double(text) if text == "-0" => Value::Double("0".to_owned()),
        Value::Array(items) => Value::Array(items.iter().map(without_minus_zero).collect()),
        other => other.clone(),
    }
}

/// A number in one form, whatever its digits; anything else as it is.
pub fn number_of(item: &Value) -> Value {
    let number = item.text().parse::<f64>().ok();
    number.map_or_else(|| item.clone(), |number| Value::Double(number.to_string()))
}

/// Whether something comes from a channel, and answers nothing.
pub fn is_message(value: &Value) -> bool {
    let is_one = |items: &[Value]| {
        items.len() >= 3 && ["message", "pmessage", "smessage"].contains(&&*items[0].text())
    };
    matches!(value, Value::Push(items) | Value::Array(items) if is_one(items))
}

/// A message without the pattern that let it through: when there are several, they come in any order.
pub fn without_pattern(value: Value) -> Value {
    match value {
        Value::Push(mut items) | Value::Array(mut items) if items.len() == 4 => {
            items.remove(1);
            Value::Push(items)
        }
        value => value,
    }
}

/// Messages as they came, but those of keys that have expired come last, and in order: walks come across them in any. Those
/// of fields that have expired are left out: they are told when a server takes the fields out.
pub fn in_order(messages: &[Value], with_deletions: bool) -> Vec<Value> {
    let of_deletion = |message: &Value| {
        message.items().iter().any(|item| item.bytes() == b"del" || item.bytes().ends_with(b":del"))
    };
    let of_expiry = |message: &&Value| message.items().iter().any(|item| item.bytes().ends_with(b"expired"));
    let of_fields = |message: &&Value| message.items().iter().any(|item| item.bytes().ends_with(b"hexpired"));
    let (mut expired, others): (Vec<&Value>, Vec<&Value>) =
        messages.iter().filter(|m| !of_fields(m) && (with_deletions || !of_deletion(m))).partition(of_expiry);
    expired.sort_by_key(|message| format!("{message:?}"));
    others.into_iter().chain(expired).cloned().collect()
}

pub fn is_wrong_type(reply: &Value) -> bool {
    matches!(reply, Value::Error(text) if text.starts_with("WRONGTYPE"))
}
