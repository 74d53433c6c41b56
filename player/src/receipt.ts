/** Receipts (c2sp.org/tlog-proof) and acknowledgements (PROTOCOL.md sections 3 and 9). */

import { handBytes, same, unbase64, unhex, type Bytes } from "./bytes.js";
import { CheckError, FormatError } from "./errors.js";
import type { VerifierKey } from "./keys.js";
import { leafHash, rootFromInclusion } from "./merkle.js";
import { parseCheckpoint, parseNote, requireSignature, type Checkpoint, type Note } from "./note.js";

export interface Receipt {
  readonly index: number;
  readonly proof: readonly Bytes[];
  readonly note: Note;
  readonly checkpoint: Checkpoint;
}

/** Reads a receipt; verifies nothing. Throws FormatError. */
export function parseReceipt(text: string): Receipt {
  const split = text.indexOf("\n\n");
  if (split < 0) throw new FormatError("a receipt has no checkpoint");
  const [first, second, ...rows] = text.slice(0, split).split("\n");
  if (first !== "c2sp.org/tlog-proof@v1") throw new FormatError("not a c2sp.org/tlog-proof");
  const match = /^index (0|[1-9][0-9]{0,15})$/.exec(second ?? "");
  if (match === null || !Number.isSafeInteger(Number(match[1]))) throw new FormatError("a receipt has no index");
  if (rows.length > 63) throw new FormatError("a receipt's proof is longer than any");
  const proof = rows.map((row) => unbase64(row, "a hash of a receipt"));
  if (proof.some((each) => each.length !== 32)) throw new FormatError("a hash of a receipt has not 32 bytes");
  const note = parseNote(text.slice(split + 2));
  return { index: Number(match[1]), proof, note, checkpoint: parseCheckpoint(note.text) };
}

/** Requires that the receipt's proof leads from this entry to its checkpoint; throws CheckError. */
export function requireInclusion(receipt: Receipt, entry: Uint8Array): void {
  const { size, root } = receipt.checkpoint;
  if (!same(rootFromInclusion(receipt.index, size, leafHash(entry), receipt.proof), root)) {
    throw new CheckError("checkpoint", `the proof does not lead from this entry to the tree of ${size}`);
  }
}

/** Checks a receipt whole: the signature by the pinned key, its origin, the proof. */
export async function checkReceipt(text: string, entry: Uint8Array, key: VerifierKey): Promise<Receipt> {
  const receipt = parseReceipt(text);
  await requireSignature(receipt.note, key);
  if (receipt.checkpoint.origin !== key.name) throw new CheckError("checkpoint", `a tree of ${receipt.checkpoint.origin}, not of ${key.name}`);
  requireInclusion(receipt, entry);
  return receipt;
}

export interface Acknowledgement {
  readonly hand: string;
  readonly contributor: string;
  readonly value: Bytes;
  readonly note: Note;
}

/** Reads an acknowledgement of a contributed value; verifies nothing. */
export function parseAcknowledgement(text: string): Acknowledgement {
  const note = parseNote(text);
  const lines = note.text.split("\n");
  if (lines.length !== 5 || lines[0] !== "cutcard/v1/entropy") throw new FormatError("not an acknowledgement of a value");
  handBytes(lines[1]);
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(lines[2]!)) throw new FormatError("an acknowledgement's contributor is no id");
  return { hand: lines[1]!, contributor: lines[2]!, value: unhex(lines[3], 32, "an acknowledgement's value"), note };
}

/** Checks an acknowledgement's signature by the log's key. */
export async function checkAcknowledgement(text: string, key: VerifierKey): Promise<Acknowledgement> {
  const acknowledgement = parseAcknowledgement(text);
  await requireSignature(acknowledgement.note, key);
  return acknowledgement;
}
