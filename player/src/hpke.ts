/** HPKE (RFC 9180), base mode, X25519 / HKDF-SHA256 / ChaCha20-Poly1305, one message (PROTOCOL.md section 8). */

import { expand, extract } from "@noble/hashes/hkdf.js";

import { join, u16, utf8, type Bytes } from "./bytes.js";
import { open, seal } from "./chacha.js";
import { exchange, publicX25519 } from "./curves.js";
import { CheckError } from "./errors.js";
import { sha256Hash } from "./hashing.js";

const NONE = new Uint8Array(0);
const KEM = join(utf8("KEM"), u16(0x20));
const SUITE = join(utf8("HPKE"), u16(0x20), u16(1), u16(3));

function labeledExtract(suite: Bytes, salt: Bytes, label: string, ikm: Bytes): Bytes {
  return extract(sha256Hash, join(utf8("HPKE-v1"), suite, utf8(label), ikm), salt) as Bytes;
}

function labeledExpand(suite: Bytes, prk: Bytes, label: string, info: Bytes, length: number): Bytes {
  return expand(sha256Hash, prk, join(u16(length), utf8("HPKE-v1"), suite, utf8(label), info), length) as Bytes;
}

function schedule(shared: Bytes, context: Bytes, info: Bytes): { key: Bytes; nonce: Bytes } {
  const prk = labeledExtract(KEM, NONE, "eae_prk", shared);
  const secret = labeledExpand(KEM, prk, "shared_secret", context, 32);
  const ids = labeledExtract(SUITE, NONE, "psk_id_hash", NONE);
  const full = join(Uint8Array.of(0), ids, labeledExtract(SUITE, NONE, "info_hash", info));
  const root = labeledExtract(SUITE, secret, "secret", NONE);
  return { key: labeledExpand(SUITE, root, "key", full, 32), nonce: labeledExpand(SUITE, root, "base_nonce", full, 12) };
}

/** Opens `enc || ct` with a private key; throws CheckError if it does not open. */
export async function hpkeOpen(secret: Bytes, info: Bytes, message: Bytes): Promise<Bytes> {
  const enc = message.slice(0, 32);
  let shared: Bytes;
  try {
    shared = await exchange(secret, enc);
  } catch {
    throw new CheckError("opening", "it does not open: the key in it is none");
  }
  const { key, nonce } = schedule(shared, join(enc, await publicX25519(secret)), info);
  return open(key, nonce, NONE, message.slice(32));
}

/** Seals to a public key with an ephemeral private key of the caller's: `enc || ct`. */
export async function hpkeSeal(publicKey: Bytes, ephemeral: Bytes, info: Bytes, plain: Bytes): Promise<Bytes> {
  const enc = await publicX25519(ephemeral);
  const { key, nonce } = schedule(await exchange(ephemeral, publicKey), join(enc, publicKey), info);
  return join(enc, seal(key, nonce, NONE, plain));
}
