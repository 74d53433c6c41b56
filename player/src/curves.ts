/** Ed25519 and X25519 by WebCrypto, and the keys of small order, which it takes, refused. */

import { join, same, type Bytes } from "./bytes.js";
import { FormatError } from "./errors.js";

const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const MASK = 2n ** 255n - 1n;

function little(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]!);
  return value;
}

/** y of the points of order 8 on edwards25519; P less this is the other one. */
const Y8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const SMALL_Y = new Set([0n, 1n, P - 1n, Y8, P - Y8]);

/** u of the points of order 8 on curve25519: both. */
const SMALL_U = new Set([
  0n,
  1n,
  P - 1n,
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
]);

/** Returns whether an Ed25519 key is none to believe: of small order, or not the canonical encoding of a point. */
export function weakEd25519(key: Uint8Array): boolean {
  const y = little(key) & MASK;
  return y >= P || SMALL_Y.has(y % P);
}

/** Returns whether an X25519 key is of small order, in any encoding: every exchange with it gives zero. */
export const weakX25519 = (key: Uint8Array): boolean => SMALL_U.has((little(key) & MASK) % P);

const imported = new WeakMap<Uint8Array, Promise<CryptoKey>>();

/** Verifies an Ed25519 signature strictly (RFC 8032: S below the group order). */
export async function verifyEd25519(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  if (signature.length !== 64 || little(signature.subarray(32)) >= L || weakEd25519(key)) return false;
  let usable = imported.get(key);
  if (usable === undefined) {
    usable = crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    imported.set(key, usable);
  }
  try {
    return await crypto.subtle.verify("Ed25519", await usable, signature, message);
  } catch {
    return false; // no point of the curve
  }
}

/** DER before the raw private key: PKCS #8 with the algorithm X25519 (RFC 8410). */
const PKCS8 = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20);
const BASE = new Uint8Array(32);
BASE[0] = 9;

/** Returns the shared secret of X25519. Throws FormatError for a key of small order. */
export async function exchange(secret: Bytes, publicKey: Bytes): Promise<Bytes> {
  if (publicKey.length !== 32 || weakX25519(publicKey)) throw new FormatError("an X25519 key of small order");
  const own = await crypto.subtle.importKey("pkcs8", join(PKCS8, secret), "X25519", false, ["deriveBits"]);
  const other = await crypto.subtle.importKey("raw", publicKey, "X25519", false, []);
  const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: other }, own, 256));
  if (same(shared, new Uint8Array(32))) throw new FormatError("an X25519 key of small order");
  return shared;
}

/** Returns the public key of a private one: what it makes of the base point. */
export const publicX25519 = (secret: Bytes): Promise<Bytes> => exchange(secret, BASE);
