/** Decks, the shuffle and the commitments (PROTOCOL.md sections 2 to 5). */

import { join, lp, u16, u64, utf8, type Bytes } from "./bytes.js";
import { FormatError } from "./errors.js";
import { sha256, shake, shake256, tag } from "./hashing.js";

const RANKS = "23456789TJQKA";
const SUITS = "cdhs";

/** Each deck kind's reference order, index 0 first. */
export const DECKS: Readonly<Record<string, readonly string[]>> = {
  standard52: reference(RANKS),
  short36: reference(RANKS.slice(4)),
};

function reference(ranks: string): string[] {
  return Array.from(ranks).flatMap((rank) => Array.from(SUITS, (suit) => rank + suit));
}

/** Returns the reference order of a deck kind. */
export function referenceOrder(kind: string): readonly string[] {
  const order = Object.hasOwn(DECKS, kind) ? DECKS[kind] : undefined;
  if (order === undefined) throw new FormatError(`${kind} is no deck kind of version 1`);
  return order;
}

/** A value that somebody gave to the hand's entropy. */
export interface Contribution {
  readonly contributor: string;
  readonly value: Bytes;
}

export const seedCommitment = (hand: Bytes, seed: Bytes): Bytes => sha256(tag("seed"), hand, seed);

export function contributionCommitment(table: string, number: number, contributor: string, value: Bytes): Bytes {
  return sha256(tag("contribution"), lp(utf8(table)), u64(number), lp(utf8(contributor)), value);
}

export function entropyDigest(hand: Bytes, taken: readonly Contribution[]): Bytes {
  const values = taken.flatMap((each) => [lp(utf8(each.contributor)), each.value]);
  return sha256(tag("entropy"), hand, u16(taken.length), ...values);
}

/** What deck and salts are derived from. */
export const material = (hand: Bytes, digest: Bytes, seed: Bytes): Bytes => join(hand, digest, seed);

/** Shuffles a reference order; `words` is how many 16-bit words it took (section 4). */
export function shuffle(order: readonly string[], from: Bytes): { deck: string[]; words: number } {
  const stream = shake.create({}).update(tag("shuffle")).update(from);
  const deck = [...order];
  let block = new Uint8Array(0);
  let at = 0;
  let words = 0;
  for (let i = deck.length - 1; i >= 1; i--) {
    const limit = 65536 - (65536 % (i + 1));
    let word: number;
    do {
      if (at === block.length) [block, at] = [stream.xof(136) as Bytes, 0];
      word = (block[at]! << 8) | block[at + 1]!;
      at += 2;
      words++;
    } while (word >= limit);
    const j = word % (i + 1);
    [deck[i], deck[j]] = [deck[j]!, deck[i]!];
  }
  return { deck, words };
}

/** Returns the salts of all positions, joined, 32 bytes each. */
export const salts = (from: Bytes, cards: number): Bytes => shake256(join(tag("salts"), from), 32 * cards);

export function cardCommitment(hand: Bytes, position: number, card: string, salt: Bytes): Bytes {
  return sha256(tag("card"), hand, u16(position), utf8(card), salt);
}

export function deckCommitment(hand: Bytes, commitments: Bytes): Bytes {
  return sha256(tag("deck"), hand, u16(commitments.length / 32), commitments);
}

/** Returns the card commitments of a whole deck, joined. */
export function cardCommitments(hand: Bytes, deck: readonly string[], salt: Bytes): Bytes {
  return join(...deck.map((card, p) => cardCommitment(hand, p, card, salt.slice(32 * p, 32 * p + 32))));
}
