/** Bytes, and the forms in which text says them (PROTOCOL.md section 1). */

import { FormatError } from "./errors.js";

export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Returns the UTF-8 bytes of a text. */
export const utf8 = (text: string): Bytes => encoder.encode(text);

/** Joins bytes. */
export function join(...parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns whether two byte strings are the same. Not in constant time: for what is public. */
export const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((x, i) => x === b[i]);

function big(value: number | bigint, size: number): Bytes {
  const bytes = new Uint8Array(size);
  let left = BigInt(value);
  for (let i = size - 1; i >= 0; i--, left >>= 8n) bytes[i] = Number(left & 255n);
  if (left !== 0n) throw new RangeError(`${value} does not fit ${size} bytes`);
  return bytes;
}

/** Two bytes; the plain way, as every card's hash has one. */
export function u16(value: number): Bytes {
  if (!(value >= 0 && value <= 65535)) throw new RangeError(`${value} does not fit 2 bytes`);
  return Uint8Array.of(value >> 8, value & 255);
}

export const u64 = (value: number | bigint): Bytes => big(value, 8);

/** A byte string with its length before it. */
export const lp = (bytes: Uint8Array): Bytes => join(u16(bytes.length), bytes);

/** Returns lower-case hex. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte]!;
  return text;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Reads lower-case hex of `size` bytes; throws FormatError otherwise. */
export function unhex(text: unknown, size: number, name: string): Bytes {
  if (typeof text !== "string" || text.length !== 2 * size || !/^[0-9a-f]*$/.test(text)) {
    throw new FormatError(`${name} is not ${size} bytes in lower-case hex`);
  }
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++) bytes[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

/** Returns canonical base64. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const [a, b, c] = [bytes[i]!, bytes[i + 1], bytes[i + 2]];
    const word = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    text += ALPHABET[word >> 18]! + ALPHABET[(word >> 12) & 63]!;
    text += (b === undefined ? "=" : ALPHABET[(word >> 6) & 63]!) + (c === undefined ? "=" : ALPHABET[word & 63]!);
  }
  return text;
}

/** Reads canonical base64: padded, no unused bit set. Throws FormatError otherwise. */
export function unbase64(text: unknown, name: string): Bytes {
  if (typeof text !== "string" || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    throw new FormatError(`${name} is not base64`);
  }
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  if (base64(bytes) !== text) throw new FormatError(`${name} is not canonical base64`);
  return bytes;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Reads a hand's id: a UUID of version 7 with RFC 9562's variant, in its usual lower-case text. */
export function handBytes(text: unknown): Bytes {
  if (typeof text !== "string" || !UUID.test(text)) throw new FormatError("a hand's id is not a UUID of version 7");
  return unhex(text.replaceAll("-", ""), 16, "hand");
}
