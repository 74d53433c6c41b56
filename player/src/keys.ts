/** Verifier keys of logs (type 01) and witnesses (type 04): PROTOCOL.md section 9, WITNESS.md section 2. */

import { base64, hex, unbase64, utf8, type Bytes } from "./bytes.js";
import { weakEd25519 } from "./curves.js";
import { FormatError } from "./errors.js";
import { sha256 } from "./hashing.js";

export const LOG_KEY = 1;
export const WITNESS_KEY = 4;

export interface VerifierKey {
  readonly text: string;
  readonly name: string;
  /** Eight hex digits. */
  readonly id: string;
  readonly type: number;
  readonly publicKey: Bytes;
}

/** Reads a verifier key; throws FormatError if it is none of this type. */
export function parseKey(text: string, type: number = LOG_KEY): VerifierKey {
  const match = /^([^+\s\p{Cc}]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/u.exec(text);
  if (match === null) throw new FormatError("a verifier key is name+id+key: eight hex digits, then base64");
  const [, name, id, encoded] = match as unknown as [string, string, string, string];
  const raw = unbase64(encoded, "the key");
  if (raw[0] !== type || raw.length !== 33) {
    throw new FormatError(`the key is not ${type === LOG_KEY ? "a log's Ed25519 key (type 01)" : "a witness's key (type 04)"}`);
  }
  const publicKey = raw.slice(1);
  if (weakEd25519(publicKey)) throw new FormatError("the key is of small order, or no key: anybody could sign for it");
  if (hex(keyId(name, type, publicKey)) !== id) throw new FormatError("the key id is not this key's: a part of it was mistyped");
  if (type === LOG_KEY && name.startsWith("cutcard")) throw new FormatError("an origin does not begin with `cutcard`");
  return { text: `${name}+${id}+${base64(raw)}`, name, id, type, publicKey };
}

export const keyId = (name: string, type: number, publicKey: Bytes): Bytes =>
  sha256(utf8(name), Uint8Array.of(10, type), publicKey).slice(0, 4);

/** Whether a log's records are a test double's (PROTOCOL.md section 11). */
export const isTestName = (name: string): boolean => name.startsWith("test.invalid/");

