/** The hand file, `cutcard-hand/v1` (API.md): its form, and its way into a link and out of it. */

import { base64, handBytes, unbase64, unhex, utf8, type Bytes } from "./bytes.js";
import { weakX25519, publicX25519 } from "./curves.js";
import { cardText, type Face } from "./entries.js";
import { FormatError } from "./errors.js";

export const FORMAT = "cutcard-hand/v1";
/** Readers stop here. */
export const MOST_BYTES = 1 << 20;

export interface Proven {
  readonly entry: Bytes;
  readonly receipt: string;
}

export interface OwnCard {
  readonly position: number;
  readonly seat: number;
  readonly face: Face;
  readonly card: string;
  readonly salt: Bytes;
}

export interface OwnSeat {
  readonly seat: number;
  /** The private key. */
  readonly secret: Bytes;
  readonly envelope: Bytes | undefined;
  readonly sealed: readonly { readonly position: number; readonly sealed: Bytes }[];
}

export interface HandFile {
  /** The verifier key as the room says it: a hint, never believed. */
  readonly key: string;
  readonly hand: string;
  readonly offer: Proven | undefined;
  readonly commit: Proven;
  readonly close: Proven | undefined;
  readonly cards: readonly OwnCard[];
  readonly own: OwnSeat | undefined;
  readonly acknowledgements: readonly string[];
}

type Members = Record<string, unknown>;

function members(value: unknown, name: string, must: readonly string[], may: readonly string[] = []): Members {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new FormatError(`${name} is not an object`);
  for (const each of must) if (!Object.hasOwn(value, each)) throw new FormatError(`${name}: the member ${each} is missing`);
  for (const each of Object.keys(value)) {
    if (!must.includes(each) && !may.includes(each)) throw new FormatError(`${name}: unknown member ${each}`);
  }
  return value as Members;
}

function text(value: unknown, name: string): string {
  if (typeof value !== "string" || /[\ud800-\udfff]/u.test(value)) throw new FormatError(`${name} is no text`);
  return value;
}

function whole(value: unknown, name: string, least: number, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw new FormatError(`${name} is not a whole number from ${least} to ${most}`);
  }
  return value;
}

function list(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value)) throw new FormatError(`${name} is not a list`);
  return value;
}

function proven(value: unknown, name: string): Proven {
  const given = members(value, name, ["entry", "receipt"]);
  return { entry: unbase64(given["entry"], `${name}'s entry`), receipt: text(given["receipt"], `${name}'s receipt`) };
}

function ownCard(value: unknown): OwnCard {
  const given = members(value, "a card", ["position", "seat", "face", "card", "salt"]);
  const face = given["face"];
  if (face !== "down" && face !== "up") throw new FormatError("a card's face is not down or up");
  return {
    position: whole(given["position"], "a card's position", 0, 63), seat: whole(given["seat"], "a card's seat", 0, 255), face,
    card: cardText(given["card"] as string, "a card"), salt: unhex(given["salt"], 32, "a card's salt"),
  };
}

function ownSeat(given: Members): OwnSeat | undefined {
  const named = ["seat", "seat_key", "envelope", "sealed"].filter((name) => Object.hasOwn(given, name));
  if (named.length === 0) return undefined;
  if (!named.includes("seat") || !named.includes("seat_key")) throw new FormatError("a sealed seat needs seat and seat_key");
  const rows = list(given["sealed"] ?? [], "sealed").map((each) => {
    const row = members(each, "a sealed card", ["position", "sealed"]);
    return { position: whole(row["position"], "a sealed card's position", 0, 63), sealed: unbase64(row["sealed"], "a sealed card") };
  });
  const secret = unhex(given["seat_key"], 32, "seat_key");
  if (secret.every((byte) => byte === 0)) throw new FormatError("seat_key is zero: nobody drew it");
  return {
    seat: whole(given["seat"], "seat", 1, 255), secret, sealed: rows,
    envelope: Object.hasOwn(given, "envelope") ? unbase64(given["envelope"], "envelope") : undefined,
  };
}

/** Refuses a text of JSON in which a member of one object stands twice: JSON.parse takes the last in silence. */
function once(source: string): void {
  const open: (Set<string> | undefined)[] = [];
  let name = false;
  for (const [token] of source.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/gs)) {
    const here = open.at(-1);
    if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : undefined);
      name = token === "{";
    } else if (token === "}" || token === "]") {
      open.pop();
      name = false;
    } else if (token === ",") name = here !== undefined;
    else if (token === ":") name = false;
    else if (name && here !== undefined) {
      const member = JSON.parse(token) as string;
      if (here.has(member)) throw new FormatError(`the member ${member} stands twice`);
      here.add(member);
    }
  }
}

/** Reads a hand file. Throws FormatError: no such file, or a member malformed, missing or unknown. */
export function parseHandFile(source: string | Bytes): HandFile {
  if ((typeof source === "string" ? utf8(source) : source).length > MOST_BYTES) {
    throw new FormatError(`longer than ${MOST_BYTES} bytes, which no hand file is`);
  }
  let value: unknown;
  let read: string;
  try {
    read = typeof source === "string" ? source : new TextDecoder("utf-8", { fatal: true }).decode(source);
    value = JSON.parse(read);
  } catch {
    throw new FormatError("not JSON: a hand file is one object");
  }
  if (value === null || typeof value !== "object" || (value as Members)["format"] !== FORMAT) {
    throw new FormatError(`its format is not ${FORMAT}`);
  }
  once(read);
  const given = members(value, "the file", ["format", "key", "hand", "commit"], [
    "offer", "close", "cards", "seat", "seat_key", "envelope", "sealed", "acknowledgements",
  ]);
  handBytes(given["hand"]);
  const part = (name: string): Proven | undefined => (Object.hasOwn(given, name) ? proven(given[name], name) : undefined);
  return {
    key: text(given["key"], "key"), hand: given["hand"] as string,
    offer: part("offer"), commit: proven(given["commit"], "commit"), close: part("close"),
    cards: list(given["cards"] ?? [], "cards").map(ownCard), own: ownSeat(given),
    acknowledgements: list(given["acknowledgements"] ?? [], "acknowledgements").map((each) => text(each, "an acknowledgement")),
  };
}

/** Requires that a hand file's seat key is one; throws FormatError. */
export async function requireSeatKey(own: OwnSeat): Promise<Bytes> {
  const key = await publicX25519(own.secret);
  if (weakX25519(key)) throw new FormatError("seat_key is no key");
  return key;
}

async function piped(bytes: Bytes, through: CompressionStream | DecompressionStream, most: number): Promise<Bytes> {
  const reader = new Blob([bytes]).stream().pipeThrough(through).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new FormatError(`longer than ${most} bytes, which no hand file is`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts as Bytes[]).arrayBuffer());
}

/** Returns a link's fragment for a hand file: `#h=` and base64url of raw DEFLATE. */
export async function toFragment(file: string): Promise<string> {
  const deflated = await piped(utf8(file), new CompressionStream("deflate-raw"), MOST_BYTES);
  return `#h=${base64(deflated).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Reads a hand file's bytes out of a link's fragment. Throws FormatError. */
export async function fromFragment(fragment: string): Promise<Bytes> {
  const match = /^#?h=([A-Za-z0-9_-]+)$/.exec(fragment);
  if (match === null) throw new FormatError("the link holds no hand: it was cut, or changed on the way");
  const plain = match[1]!.replaceAll("-", "+").replaceAll("_", "/");
  try {
    const deflated = unbase64(plain + "=".repeat((4 - (plain.length % 4)) % 4), "the link");
    return await piped(deflated, new DecompressionStream("deflate-raw"), MOST_BYTES);
  } catch (error) {
    if (error instanceof FormatError && error.message.startsWith("longer")) throw error;
    throw new FormatError("the link does not decode: it was cut, or changed on the way");
  }
}
