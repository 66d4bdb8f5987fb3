// Ways to look at bytes: as text, JSON, MessagePack, the fields of a protocol buffer, what gzip or zlib has compressed, or hexadecimal.
//
// Every decoder returns text. Whatever the bytes are, its work is bounded by their number, and by DEPTH_MAX and INFLATED_MAX.

import { bytes as size, show } from "/dom.js";

const DEPTH_MAX = 64;
const INFLATED_MAX = 1 << 20;
const NOT = Symbol("not of this format");

function fail() {
  throw NOT;
}

function attempt(what) {
  try {
    return what();
  } catch (error) {
    if (error === NOT || error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

function utf8(bytes) {
  return attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
}

function hexOf(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A text as it is, but for what cannot be seen. Lines stay lines. */
function asText(bytes) {
  const text = utf8(bytes);
  return text === null ? show({ hex: hexOf(bytes) }) : text.split("\n").map((line) => show(line.replaceAll("\\", "\u0000")).replaceAll("\\x00", "\\")).join("\n");
}

function asHex(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.subarray(at, at + 16);
    const digits = [...row].map((byte) => byte.toString(16).padStart(2, "0"));
    const text = [...row].map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits.slice(0, 8).join(" ").padEnd(23)}  ${digits.slice(8).join(" ").padEnd(23)}  ${text}`);
  }
  return lines.join("\n");
}

/** Whole numbers beyond 2^53 would lose digits in JSON.parse: the text is only indented. */
function indent(text) {
  let depth = 0;
  let out = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const line = () => `\n${"  ".repeat(depth)}`;
    if (token === "{" || token === "[") {
      depth += 1;
      out += token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      out = /[{[]\s*$/.test(out) ? out.trimEnd() + token : out + line() + token;
    } else if (token === ",") out += token + line();
    else out += token === ":" ? ": " : token;
  }
  return out;
}

function asJson(bytes) {
  const text = utf8(bytes);
  if (text === null) return null;
  return attempt(() => {
    JSON.parse(text);
    return indent(text);
  });
}

/** Reads MessagePack into texts of JSON. */
class Pack {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  number(method, length) {
    const value = this.view[method](this.at);
    this.at += length;
    return value;
  }

  take(length) {
    if (this.at + length > this.bytes.length) fail();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  string(length) {
    return JSON.stringify(utf8(this.take(length)) ?? fail());
  }

  list(length, depth) {
    if (length > this.bytes.length - this.at) fail();
    return `[${Array.from({ length }, () => this.value(depth + 1)).join(",")}]`;
  }

  map(length, depth) {
    if (length > this.bytes.length - this.at) fail();
    return `{${Array.from({ length }, () => `${this.value(depth + 1)}:${this.value(depth + 1)}`).join(",")}}`;
  }

  extension(length) {
    const type = this.number("getInt8", 1);
    return `"ext ${type}: ${hexOf(this.take(length))}"`;
  }

  float(value) {
    return Number.isFinite(value) ? String(value) : `"${value}"`;
  }

  value(depth) {
    if (depth > DEPTH_MAX) fail();
    const head = this.number("getUint8", 1);
    if (head < 0x80) return String(head);
    if (head < 0x90) return this.map(head & 15, depth);
    if (head < 0xa0) return this.list(head & 15, depth);
    if (head < 0xc0) return this.string(head & 31);
    if (head >= 0xe0) return String(head - 256);
    const u = [() => this.number("getUint8", 1), () => this.number("getUint16", 2), () => this.number("getUint32", 4)];
    switch (head) {
      case 0xc0: return "null";
      case 0xc2: return "false";
      case 0xc3: return "true";
      case 0xc4: case 0xc5: case 0xc6: return `"bin: ${hexOf(this.take(u[head - 0xc4]()))}"`;
      case 0xc7: case 0xc8: case 0xc9: return this.extension(u[head - 0xc7]());
      case 0xca: return this.float(this.number("getFloat32", 4));
      case 0xcb: return this.float(this.number("getFloat64", 8));
      case 0xcc: case 0xcd: case 0xce: return String(u[head - 0xcc]());
      case 0xcf: return String(this.number("getBigUint64", 8));
      case 0xd0: return String(this.number("getInt8", 1));
      case 0xd1: return String(this.number("getInt16", 2));
      case 0xd2: return String(this.number("getInt32", 4));
      case 0xd3: return String(this.number("getBigInt64", 8));
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return this.extension(1 << (head - 0xd4));
      case 0xd9: case 0xda: case 0xdb: return this.string(u[head - 0xd9]());
      case 0xdc: case 0xdd: return this.list(u[head - 0xdb](), depth);
      case 0xde: case 0xdf: return this.map(u[head - 0xdd](), depth);
      default: return fail();
    }
  }
}

function asMessagePack(bytes) {
  return attempt(() => {
    const pack = new Pack(bytes);
    const text = pack.value(0);
    return pack.at === bytes.length ? indent(text) : null;
  });
}

/** The fields of a protocol buffer by their numbers: without a schema, their names are unknown. */
function fieldsOf(bytes, depth) {
  if (depth > 16) fail();
  let at = 0;
  const lines = [];
  const pad = "  ".repeat(depth);
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= bytes.length) fail();
      const byte = bytes[at];
      at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return fail();
  };
  const fixed = (length, method) => {
    if (at + length > bytes.length) fail();
    at += length;
    return new DataView(bytes.buffer, bytes.byteOffset + at - length, length)[method](0, true);
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, wire] = [tag >> 3n, Number(tag & 7n)];
    if (field === 0n || field > 536870911n) fail();
    if (wire === 0) lines.push(`${pad}${field}: ${varint()}`);
    else if (wire === 1) lines.push(`${pad}${field}: ${fixed(8, "getFloat64")}`);
    else if (wire === 5) lines.push(`${pad}${field}: ${fixed(4, "getFloat32")}`);
    else if (wire === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) fail();
      const inner = bytes.subarray(at, at + length);
      at += length;
      lines.push(...fieldLines(field, inner, depth, pad));
    } else fail();
  }
  return lines;
}

function fieldLines(field, inner, depth, pad) {
  const text = utf8(inner);
  if (text !== null && /^[^\u0000-\u0008\u000e-\u001f]*$/.test(text)) return [`${pad}${field}: ${JSON.stringify(text)}`];
  const nested = inner.length > 0 ? attempt(() => fieldsOf(inner, depth + 1)) : null;
  return nested === null ? [`${pad}${field}: 0x${hexOf(inner)}`] : [`${pad}${field} {`, ...nested, `${pad}}`];
}

function asProtobuf(bytes) {
  return bytes.length === 0 ? null : attempt(() => fieldsOf(bytes, 0).join("\n"));
}

/** The compression that the first bytes speak of. */
function compressionOf(bytes) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  if (bytes.length > 5 && (bytes[0] & 15) === 8 && bytes[0] >> 4 <= 7 && (bytes[0] * 256 + bytes[1]) % 31 === 0) return "deflate";
  return null;
}

/** Decompresses, up to a size. */
async function inflate(bytes, format) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)).getReader();
  const parts = [];
  let length = 0;
  try {
    while (length < INFLATED_MAX) {
      const { value, done } = await reader.read();
      if (done) break;
      parts.push(value);
      length += value.length;
    }
  } catch {
    if (length === 0) return null;
  }
  reader.cancel().catch(() => {});
  return new Uint8Array(await new Blob(parts).arrayBuffer()).subarray(0, INFLATED_MAX);
}

async function asInflated(bytes) {
  const format = compressionOf(bytes);
  const plain = format === null ? null : await inflate(bytes, format);
  if (plain === null) return null;
  const { format: inner, text } = await decode(plain, "auto");
  return `${format}, ${size(bytes.length)} to ${size(plain.length)}, ${inner}\n\n${text}`;
}

const DECODERS = { text: asText, json: asJson, messagepack: asMessagePack, protobuf: asProtobuf, compressed: asInflated, hex: asHex };

/** The formats, with the names that are shown. */
export const FORMATS = [["auto", "automatic"], ["text", "text"], ["json", "JSON"], ["messagepack", "MessagePack"], ["protobuf", "Protocol Buffers"], ["compressed", "gzip, zlib"], ["hex", "hexadecimal"]];

/** Whether a text has nothing but what can be seen. */
function isPlain(bytes) {
  const text = utf8(bytes);
  return text !== null && /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$/.test(text);
}

/** The format that fits the bytes best. */
function guess(bytes) {
  if (bytes.length === 0) return "text";
  if (compressionOf(bytes) && !isPlain(bytes)) return "compressed";
  if ((bytes[0] === 0x7b || bytes[0] === 0x5b) && asJson(bytes) !== null) return "json";
  if (isPlain(bytes)) return "text";
  const isCollection = (bytes[0] >= 0x80 && bytes[0] < 0xa0) || (bytes[0] >= 0xdc && bytes[0] <= 0xdf);
  if (isCollection && asMessagePack(bytes) !== null) return "messagepack";
  return asProtobuf(bytes) !== null ? "protobuf" : "hex";
}

/** Shows bytes in a format: `{format, text}`. Where they are not of that format, `text` says so. */
export async function decode(bytes, wanted) {
  let format = wanted === "auto" ? guess(bytes) : wanted;
  let text = await DECODERS[format](bytes);
  if (text === null && wanted === "auto") {
    format = "hex";
    text = asHex(bytes);
  }
  return { format, text: text ?? "The bytes are not of this format." };
}
