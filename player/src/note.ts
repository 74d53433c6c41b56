/** Signed notes (c2sp.org/signed-note), checkpoints and cosignatures: PROTOCOL.md section 9, WITNESS.md section 2. */

import { hex, unbase64, utf8, type Bytes } from "./bytes.js";
import { verifyEd25519 } from "./curves.js";
import { CheckError, FormatError } from "./errors.js";
import type { VerifierKey } from "./keys.js";

const MOST_BYTES = 100_000;
const MOST_LINES = 100;

export interface SignatureLine {
  readonly name: string;
  readonly id: string;
  /** What stands after the key id. */
  readonly signature: Bytes;
}

export interface Note {
  /** The signed text, which ends in a newline. */
  readonly text: string;
  readonly lines: readonly SignatureLine[];
}

/** Takes a signed note apart; verifies nothing. Throws FormatError. */
export function parseNote(whole: string): Note {
  if (utf8(whole).length > MOST_BYTES) throw new FormatError(`a note of more than ${MOST_BYTES} bytes`);
  if (/[\u0000-\u0009\u000b-\u001f\ufffd]/.test(whole)) throw new FormatError("a note holds control characters, or is not UTF-8");
  const split = whole.lastIndexOf("\n\n");
  if (split < 0 || !whole.endsWith("\n")) throw new FormatError("a note has no empty line before its signatures, or no last newline");
  const below = whole.slice(split + 2, -1);
  const rows = below === "" ? [] : below.split("\n");
  if (rows.length === 0 || rows.length > MOST_LINES) throw new FormatError("a note has no signature line, or far too many");
  const lines = rows.map((row) => {
    const match = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(row);
    if (match === null) throw new FormatError("a signature line of a note does not decode");
    const raw = unbase64(match[2], "a signature line");
    if (raw.length < 5) throw new FormatError("a signature line of a note is too short");
    return { name: match[1]!, id: hex(raw.slice(0, 4)), signature: raw.slice(4) };
  });
  return { text: whole.slice(0, split + 1), lines };
}

const known = (note: Note, key: VerifierKey): SignatureLine[] =>
  note.lines.filter((line) => line.name === key.name && line.id === key.id);

/** Requires a good signature by a log's key; a wrong one with its name and id spoils the note. */
export async function requireSignature(note: Note, key: VerifierKey): Promise<void> {
  const lines = known(note, key);
  if (lines.length === 0) throw new CheckError("checkpoint", `no signature by ${key.name} with key id ${key.id}`);
  for (const line of lines) {
    if (!(await verifyEd25519(key.publicKey, line.signature, utf8(note.text)))) {
      throw new CheckError("checkpoint", `the signature of ${key.name} is wrong`);
    }
  }
}

/** Returns the time of a witness's cosignature, the later of several; undefined if there is none. Throws CheckError if one is wrong. */
export async function cosignedAt(note: Note, key: VerifierKey): Promise<bigint | undefined> {
  let latest: bigint | undefined;
  for (const line of known(note, key)) {
    const wrong = new CheckError("witness", `the cosignature of ${key.name} is wrong`);
    if (line.signature.length !== 72) throw wrong;
    const time = BigInt(`0x${hex(line.signature.slice(0, 8))}`);
    if (time >= 2n ** 63n) throw wrong;
    const message = utf8(`cosignature/v1\ntime ${time}\n${note.text}`);
    if (!(await verifyEd25519(key.publicKey, line.signature.slice(8), message))) throw wrong;
    if (latest === undefined || time > latest) latest = time;
  }
  return latest;
}

export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Bytes;
}

/** Reads the text of a checkpoint: three lines, no extension. */
export function parseCheckpoint(text: string): Checkpoint {
  const lines = text.split("\n");
  if (lines.length !== 4 || lines[0] === "" || !/^(0|[1-9][0-9]*)$/.test(lines[1]!)) {
    throw new FormatError("a checkpoint is not three lines: origin, size, root");
  }
  const size = Number(lines[1]);
  if (!Number.isSafeInteger(size)) throw new FormatError("a checkpoint's size is beyond 2^53-1");
  const root = unbase64(lines[2], "a checkpoint's root");
  if (root.length !== 32) throw new FormatError("a checkpoint's root has not 32 bytes");
  return { origin: lines[0]!, size, root };
}

