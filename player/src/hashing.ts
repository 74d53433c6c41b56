/** Hashes, each with its purpose's own tag (PROTOCOL.md section 1). */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 as noble } from "@noble/hashes/sha2.js";
import { shake256 as shake } from "@noble/hashes/sha3.js";

import { join, utf8, type Bytes } from "./bytes.js";

const tags = new Map<string, Bytes>();

/** Returns the bytes that begin every hash made for this purpose. */
export function tag(name: string): Bytes {
  let bytes = tags.get(name);
  if (bytes === undefined) tags.set(name, (bytes = utf8(`cutcard/v1/${name}\0`)));
  return bytes;
}

export const sha256 = (...parts: Uint8Array[]): Bytes => noble(join(...parts)) as Bytes;
export const mac = (key: Uint8Array, ...parts: Uint8Array[]): Bytes => hmac(noble, key, join(...parts)) as Bytes;
export const shake256 = (message: Uint8Array, length: number): Bytes => shake(message, { dkLen: length }) as Bytes;
export { shake };
export { noble as sha256Hash };
