// Checks what a dealer gives: a receipt against the log's key, and a card against its commitment (docs/protocol.md).

import { createHash, createPublicKey, verify } from "node:crypto";

const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const tag = (name) => Buffer.from(`cutcard/v1/${name}\0`, "ascii");
const u16 = (number) => Buffer.from([number >> 8, number & 255]);
const ED25519_SPKI = Buffer.from("302a300506032b6570032100", "hex"); // what X.509 puts before the 32 bytes of a key

/** The bytes of a hand's UUID. */
export const handBytes = (uuid) => Buffer.from(uuid.replaceAll("-", ""), "hex");

/** Throws unless `holds`. */
function require(holds, message) {
  if (!holds) throw new Error(message);
}

/** Reads a verifier key, `name+id+base64(01 || public key)`. */
export function parseKey(text) {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  require(name, "not a verifier key: name+id+key");
  const data = Buffer.from(encoded, "base64");
  require(data.length === 33 && data[0] === 1, "not an Ed25519 key");
  const expected = sha256(Buffer.from(`${name}\n`), data).subarray(0, 4).toString("hex");
  require(expected === id, "the key does not have the id that it states");
  const key = createPublicKey({ key: Buffer.concat([ED25519_SPKI, data.subarray(1)]), format: "der", type: "spki" });
  return { name, id: Buffer.from(id, "hex"), key };
}

/** Checks a signed note and returns its text. */
function openNote(note, { name, id, key }) {
  const end = note.lastIndexOf("\n\n");
  require(end >= 0, "not a signed note");
  const text = note.slice(0, end + 1);
  const ours = note
    .slice(end + 2)
    .split("\n")
    .filter((line) => line.startsWith(`\u2014 ${name} `))
    .map((line) => Buffer.from(line.split(" ")[2], "base64"))
    .filter((data) => data.subarray(0, 4).equals(id));
  require(ours.length > 0, `the note is not signed by ${name}`);
  require(ours.every((data) => verify(null, Buffer.from(text), key, data.subarray(4))), "a signature is wrong");
  return text;
}

/** Checks that a receipt proves that `entry` stands in the log; returns its index and the entry as an object. */
export function checkReceipt(receipt, entry, verifier) {
  const cut = receipt.indexOf("\n\n");
  const [header, index, ...hashes] = receipt.slice(0, cut).split("\n");
  require(header === "c2sp.org/tlog-proof@v1" && /^index (0|[1-9]\d*)$/.test(index), "not a receipt");
  const [origin, size, root] = openNote(receipt.slice(cut + 2), verifier).split("\n");
  require(origin === verifier.name, "the checkpoint is of another log");
  let place = BigInt(index.slice(6));
  let last = BigInt(size) - 1n;
  require(place <= last, "the tree has no such entry");
  let node = sha256(Buffer.of(0), entry);
  for (const hash of hashes) { // RFC 9162, section 2.1.3.2
    require(last > 0n, "the proof is too long");
    const sibling = Buffer.from(hash, "base64");
    if (place & 1n || place === last) {
      node = sha256(Buffer.of(1), sibling, node);
      while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
    } else {
      node = sha256(Buffer.of(1), node, sibling);
    }
    [place, last] = [place >> 1n, last >> 1n];
  }
  require(last === 0n && node.equals(Buffer.from(root, "base64")), "the proof does not lead to the root");
  return { index: index.slice(6), content: JSON.parse(entry.toString("ascii")) };
}

/** Checks that the list of card commitments gives the deck commitment that the log holds. */
export function checkDeck(hand, commitments, deckCommitment) {
  const made = sha256(tag("deck"), hand, u16(commitments.length / 32), commitments).toString("hex");
  require(made === deckCommitment, "the card commitments do not give the deck commitment");
}

/** Checks that a card is the one that was committed to at its position. */
export function checkCard(hand, commitments, { position, card, salt }) {
  const made = sha256(tag("card"), hand, u16(position), Buffer.from(card, "ascii"), salt);
  require(made.equals(commitments.subarray(32 * position, 32 * position + 32)), `${card} was not committed to`);
}
