//! Parts of replies that several families write.

use larder_packed::block::Element;
use larder_resp::Reply;

/// Writes an element as a bulk string.
#[inline]
pub(crate) fn write_element(reply: &mut Reply<'_>, element: Element<'_>) {
    match element {
        Element::Bytes(bytes) => reply.bulk(bytes),
        Element::Int(number) => reply.bulk_int(number),
    }
}

/// The text of an element; integers are printed into `number`.
pub(crate) fn element_bytes<'e>(element: &Element<'e>, number: &'e mut itoa::Buffer) -> &'e [u8] {
    match element {
        Element::Bytes(bytes) => bytes,
        Element::Int(n) => number.format(*n).as_bytes(),
    }
}
