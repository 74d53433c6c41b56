/** ChaCha20-Poly1305 (RFC 8439), which WebCrypto has not. For single messages of a few dozen bytes. */

import { join, type Bytes } from "./bytes.js";
import { CheckError } from "./errors.js";

const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
const ROUNDS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
] as const;

const turn = (x: number, by: number): number => (x << by) | (x >>> (32 - by));

function block(key: Bytes, counter: number, nonce: Bytes): Bytes {
  const words = new DataView(join(key, nonce).buffer);
  const start = new Uint32Array(16);
  start.set(CONSTANTS);
  for (let i = 0; i < 8; i++) start[4 + i] = words.getUint32(4 * i, true);
  start[12] = counter;
  for (let i = 0; i < 3; i++) start[13 + i] = words.getUint32(32 + 4 * i, true);
  const x = start.slice();
  for (let round = 0; round < 10; round++) {
    for (const [a, b, c, d] of ROUNDS) {
      x[a]! += x[b]!; x[d] = turn(x[d]! ^ x[a]!, 16);
      x[c]! += x[d]!; x[b] = turn(x[b]! ^ x[c]!, 12);
      x[a]! += x[b]!; x[d] = turn(x[d]! ^ x[a]!, 8);
      x[c]! += x[d]!; x[b] = turn(x[b]! ^ x[c]!, 7);
    }
  }
  const out = new Uint8Array(64);
  const view = new DataView(out.buffer);
  x.forEach((word, i) => view.setUint32(4 * i, word + start[i]!, true));
  return out;
}

function little(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]!);
  return value;
}

function poly1305(key: Bytes, message: Bytes): Bytes {
  const prime = 2n ** 130n - 5n;
  const r = little(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let i = 0; i < message.length; i += 16) {
    const part = message.subarray(i, i + 16);
    sum = ((sum + little(part) + (1n << BigInt(8 * part.length))) * r) % prime;
  }
  sum += little(key.subarray(16));
  return Uint8Array.from({ length: 16 }, (_, i) => Number((sum >> BigInt(8 * i)) & 255n));
}

const padded = (bytes: Bytes): Bytes => join(bytes, new Uint8Array((16 - (bytes.length % 16)) % 16));

function crypt(key: Bytes, nonce: Bytes, text: Bytes): Bytes {
  const out = text.slice();
  for (let i = 0; i < out.length; i += 64) {
    const stream = block(key, 1 + i / 64, nonce);
    for (let j = 0; j < 64 && i + j < out.length; j++) out[i + j]! ^= stream[j]!;
  }
  return out;
}

function authenticator(key: Bytes, nonce: Bytes, aad: Bytes, sealed: Bytes): Bytes {
  const lengths = new Uint8Array(16);
  new DataView(lengths.buffer).setUint32(0, aad.length, true);
  new DataView(lengths.buffer).setUint32(8, sealed.length, true);
  return poly1305(block(key, 0, nonce).slice(0, 32), join(padded(aad), padded(sealed), lengths));
}

/** Seals a message: the ciphertext, then 16 bytes that authenticate it. */
export function seal(key: Bytes, nonce: Bytes, aad: Bytes, plain: Bytes): Bytes {
  const sealed = crypt(key, nonce, plain);
  return join(sealed, authenticator(key, nonce, aad, sealed));
}

/** Opens a sealed message; throws CheckError if it was not sealed with this key, nonce and aad. */
export function open(key: Bytes, nonce: Bytes, aad: Bytes, message: Bytes): Bytes {
  const sealed = message.slice(0, -16);
  const said = message.slice(-16);
  const is = authenticator(key, nonce, aad, sealed);
  let difference = said.length ^ 16;
  for (let i = 0; i < 16; i++) difference |= is[i]! ^ (said[i] ?? 0);
  if (difference !== 0) throw new CheckError("opening", "it does not open: another key, another place, or changed bytes");
  return crypt(key, nonce, sealed);
}
