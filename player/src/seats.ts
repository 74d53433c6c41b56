/** Sealed seats: keys, envelopes, cards, consents and proofs (SEATS.md). */

import { join, lp, u16, u64, utf8, type Bytes } from "./bytes.js";
import { cardCommitment } from "./cards.js";
import { open, seal } from "./chacha.js";
import { publicX25519 } from "./curves.js";
import { CheckError } from "./errors.js";
import { mac, sha256, shake256, tag } from "./hashing.js";
import { hpkeOpen } from "./hpke.js";

const NONCE = new Uint8Array(12);

export const seatKeyDigest = (hand: Bytes, seat: number, key: Bytes): Bytes =>
  sha256(tag("seat-key"), hand, u16(seat), key);

export const seatSecret = (hand: Bytes, seat: number, seed: Bytes): Bytes =>
  shake256(join(tag("seat-secret"), hand, u16(seat), seed), 32);

export const envelopeInfo = (hand: Bytes, seat: number, key: Bytes): Bytes =>
  join(tag("seat-envelope"), hand, u16(seat), key);

export const cardKey = (hand: Bytes, position: number, secret: Bytes): Bytes =>
  sha256(tag("seat-card"), hand, u16(position), secret);

/** Seals one card as the dealer does (section 3). */
export function sealCard(hand: Bytes, position: number, secret: Bytes, commitment: Bytes, card: string, salt: Bytes): Bytes {
  return seal(cardKey(hand, position, secret), NONCE, commitment, join(utf8(card), salt));
}

/** Opens a sealed card and holds it against its commitment; throws CheckError if either fails. */
export function openCard(
  hand: Bytes, position: number, secret: Bytes, commitment: Bytes, sealed: Bytes,
): { card: string; salt: Bytes } {
  if (sealed.length !== 50) throw new CheckError("opening", `a sealed card has 50 bytes, not ${sealed.length}`);
  const plain = open(cardKey(hand, position, secret), NONCE, commitment, sealed);
  const card = String.fromCharCode(plain[0]!, plain[1]!);
  const salt = plain.slice(2);
  if (!equal(cardCommitment(hand, position, card, salt), commitment)) {
    throw new CheckError("opening", `it opens, and holds another card than position ${position}'s commitment`);
  }
  return { card, salt };
}

/** Compares in constant time. */
export function equal(a: Bytes, b: Bytes): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ (b[i] ?? 0);
  return difference === 0;
}

/** Consent to show these positions, in ascending order whatever the order given (section 4). */
export function consent(secret: Bytes, hand: Bytes, positions: readonly number[]): Bytes {
  const ascending = [...positions].sort((a, b) => a - b);
  return mac(secret, tag("seat-show"), hand, u16(ascending.length), ...ascending.map(u16));
}

/** Consent to the showdown, for any of the seat's positions. */
export const showdownConsent = (secret: Bytes, hand: Bytes): Bytes => mac(secret, tag("seat-showdown"), hand);

/** Proof of an action at the referee's table; `leave` and `watch` take sequence and amount 0 (section 5). */
export function actionProof(secret: Bytes, hand: Bytes, sequence: number | bigint, action: string, amount: number | bigint): Bytes {
  return mac(secret, tag("seat-act"), hand, u64(sequence), lp(utf8(action)), u64(amount));
}

/** One seat's key, fresh for one hand. Its private half is never in what is printed. */
export class SeatKey {
  readonly #secret: Bytes;
  private constructor(secret: Bytes, readonly publicKey: Bytes) {
    this.#secret = secret;
  }

  /** Draws a key. */
  static draw(): Promise<SeatKey> {
    return SeatKey.from(crypto.getRandomValues(new Uint8Array(32)));
  }

  /** Takes a private key of 32 bytes. */
  static async from(secret: Bytes): Promise<SeatKey> {
    return new SeatKey(secret, await publicX25519(secret));
  }

  /** Opens a seat's envelope: the seat secret. A secret is believed once a card has opened under it (section 6). */
  async open(hand: Bytes, seat: number, envelope: Bytes): Promise<Bytes> {
    if (envelope.length !== 80) throw new CheckError("opening", `an envelope has 80 bytes, not ${envelope.length}`);
    const secret = await hpkeOpen(this.#secret, envelopeInfo(hand, seat, this.publicKey), envelope);
    if (secret.length !== 32) throw new CheckError("opening", "the envelope holds no seat secret");
    return secret;
  }

  /** The private key, for its owner's hand file. */
  reveal(): Bytes {
    return this.#secret.slice();
  }
}
