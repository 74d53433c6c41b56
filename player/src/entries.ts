/** What an entry of the log says, each member in its form and range (PROTOCOL.md section 6). */

import { handBytes, unbase64, unhex, utf8, type Bytes } from "./bytes.js";
import { DECKS } from "./cards.js";
import { FormatError } from "./errors.js";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Members = { readonly [name: string]: Json };

export type Face = "down" | "up";
/** Position, seat (0: the board), face. */
export type Row = readonly [number, number, Face];
export type Event =
  | { readonly kind: "deal"; readonly street: string; readonly rows: readonly Row[] }
  | { readonly kind: "draw"; readonly rows: readonly Row[] }
  | { readonly kind: "fold"; readonly seat: number }
  | { readonly kind: "show"; readonly positions: readonly number[] };

/** What offer and commit both say, and the commit repeats. */
export interface Opening {
  readonly test: boolean;
  readonly hand: string;
  readonly table: string;
  readonly number: number;
  readonly game: string;
  readonly deck: string;
  readonly seats: readonly number[];
  readonly reveal: "public" | "sealed";
  readonly seedCommitment: string;
  readonly escrow: { readonly key: string; readonly digest: string } | undefined;
  readonly seatKeys: ReadonlyMap<number, string>;
  readonly time: string;
}

export interface Offer extends Opening {
  readonly kind: "offer";
  readonly contributors: readonly { readonly contributor: string; readonly commitment: string }[];
}

export interface Commit extends Opening {
  readonly kind: "commit";
  readonly offer: number | undefined;
  readonly contributions: readonly { readonly contributor: string; readonly value: Bytes }[];
  readonly withheld: readonly string[];
  readonly entropyDigest: string;
  readonly deckCommitment: string;
}

export interface Close {
  readonly kind: "close";
  readonly test: boolean;
  readonly hand: string;
  readonly commit: number | undefined;
  readonly offer: number | undefined;
  readonly outcome: "completed" | "void" | "lost";
  readonly reason: string | undefined;
  readonly events: readonly Event[];
  readonly seed: Bytes | undefined;
  readonly cardCommitments: Bytes | undefined;
  readonly openings: readonly { readonly position: number; readonly card: string; readonly salt: Bytes }[] | undefined;
  readonly escrow: Bytes | undefined;
  readonly history: string | undefined;
  /** A test record's deck: stands in for the shuffle (section 11). */
  readonly deck: readonly string[] | undefined;
  readonly time: string;
}

export type Entry = Offer | Commit | Close;

/** The schema is text that this version does not know. */
export class UnknownSchemaError extends FormatError {
  override name = "UnknownSchemaError";
}

/** Encodes a value by RFC 8785; text and member names here are ASCII. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const members = value as Members;
    return `{${Object.keys(members).sort().map((name) => `${JSON.stringify(name)}:${canonical(members[name]!)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

const MOST_BYTES = 65_535;
const MOST_NUMBER = Number.MAX_SAFE_INTEGER;
const REASONS = ["operator", "timeout", "misdeal", "failure"];
const GAMES = ["seven-card-stud", "seven-card-stud-hi-lo", "free-draw"];
export const STREETS = ["third", "fourth", "fifth", "sixth", "seventh"];
const ID = /^[A-Za-z0-9._-]{1,64}$/;

const OPENING = ["schema", "hand", "table", "number", "game", "deck", "seats", "reveal", "seed_commitment", "time"];
const OFFER = [...OPENING, "contributors"];
const COMMIT = [...OPENING, "contributions", "withheld", "entropy_digest", "deck_commitment"];
const CLOSE = ["schema", "hand", "outcome", "events", "time"];
const CLOSE_MAY = ["commit", "offer", "reason", "seed", "card_commitments", "openings", "escrow", "history", "deck"];

function object(value: Json | undefined, name: string): Members {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new FormatError(`${name} is not an object`);
  return value as Members;
}

function list(value: Json | undefined, name: string): readonly Json[] {
  if (!Array.isArray(value)) throw new FormatError(`${name} is not a list`);
  return value as readonly Json[];
}

function members(value: Json | undefined, name: string, must: readonly string[], may: readonly string[] = []): Members {
  const given = object(value, name);
  for (const each of must) if (!Object.hasOwn(given, each)) throw new FormatError(`${name}: the member ${each} is missing`);
  for (const each of Object.keys(given)) {
    if (!must.includes(each) && !may.includes(each)) throw new FormatError(`${name}: unknown member ${each}`);
  }
  return given;
}

function integer(value: Json | undefined, name: string, least: number, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw new FormatError(`${name} is not a whole number from ${least} to ${most}`);
  }
  return value;
}

function oneOf<T extends string>(value: Json | undefined, name: string, known: readonly T[]): T {
  if (typeof value !== "string" || !(known as readonly string[]).includes(value)) {
    throw new FormatError(`${name} is not one of ${known.join(", ")}`);
  }
  return value as T;
}

function id(value: Json | undefined, name: string): string {
  if (typeof value !== "string" || !ID.test(value)) throw new FormatError(`${name} is not an id`);
  return value;
}

function hash(value: Json | undefined, name: string, size = 32): string {
  unhex(value, size, name);
  return value as string;
}

function distinct(values: readonly unknown[], name: string): void {
  if (new Set(values).size < values.length) throw new FormatError(`${name}: one stands twice`);
}

function time(value: Json | undefined): string {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) || value.startsWith("0000")) {
    throw new FormatError("time is not YYYY-MM-DDThh:mm:ss.sssZ");
  }
  const read = new Date(value);
  if (Number.isNaN(read.getTime()) || read.toISOString() !== value) throw new FormatError("time is no real date and time of day");
  return value;
}

/** Two characters; whether they are a card is for the check that uses them. */
function twoCharacters(value: Json | undefined, name: string): string {
  if (typeof value !== "string" || !/^[!-~]{2}$/.test(value)) throw new FormatError(`${name} is not two characters`);
  return value;
}

/** Requires one of the 52 cards. */
export function cardText(value: Json | undefined, name: string): string {
  if (typeof value !== "string" || !DECKS["standard52"]!.includes(value)) throw new FormatError(`${name} is no card`);
  return value;
}

const POSITION = 63;

function row(value: Json): Row {
  const cells = list(value, "a dealt card");
  if (cells.length !== 3) throw new FormatError("a dealt card is not position, seat, face");
  return [integer(cells[0], "position", 0, POSITION), integer(cells[1], "seat", 0, 255), oneOf(cells[2], "face", ["down", "up"])];
}

function event(value: Json): Event {
  const given = object(value, "an event");
  if ("deal" in given) {
    members(given, "an event", ["deal", "cards"]);
    return { kind: "deal", street: oneOf(given["deal"], "deal", STREETS), rows: list(given["cards"], "cards").map(row) };
  }
  if ("draw" in given) {
    return { kind: "draw", rows: list(members(given, "an event", ["draw"])["draw"], "draw").map(row) };
  }
  if ("fold" in given) {
    return { kind: "fold", seat: integer(members(given, "an event", ["fold"])["fold"], "fold", 1, 255) };
  }
  const shown = list(members(given, "an event", ["show"])["show"], "show");
  return { kind: "show", positions: shown.map((each) => integer(each, "position", 0, POSITION)) };
}

function opening(given: Members, test: boolean): Opening {
  const hand = given["hand"];
  handBytes(hand);
  const game = oneOf(given["game"], "game", GAMES);
  const stud = game !== "free-draw";
  const deck = oneOf(given["deck"], "deck", stud ? ["standard52"] : Object.keys(DECKS));
  const seats = list(given["seats"], "seats").map((each) => integer(each, "a seat", 1, 255));
  const [least, most] = stud ? [2, 8] : [1, 23];
  if (seats.length < least || seats.length > most) throw new FormatError(`seats are not ${least} to ${most}`);
  distinct(seats, "seats");
  const reveal = oneOf(given["reveal"], "reveal", ["public", "sealed"]);
  let escrow: Opening["escrow"];
  if (Object.hasOwn(given, "escrow")) {
    const said = members(given["escrow"], "escrow", ["key", "digest"]);
    escrow = { key: hash(said["key"], "escrow key", 8), digest: hash(said["digest"], "escrow digest") };
  }
  if ((escrow !== undefined) !== (reveal === "sealed")) throw new FormatError("escrow is there exactly where reveal is sealed");
  const seatKeys = new Map<number, string>();
  if (Object.hasOwn(given, "seat_keys")) {
    const rows = list(given["seat_keys"], "seat_keys");
    if (rows.length === 0) throw new FormatError("seat_keys is empty");
    let last = -1;
    for (const each of rows) {
      const cells = list(each, "a seat key");
      if (cells.length !== 2) throw new FormatError("a seat key is not seat and digest");
      const seat = integer(cells[0], "a seat key's seat", 1, 255);
      const place = seats.indexOf(seat);
      if (place < 0) throw new FormatError(`seat_keys names seat ${seat}, which is not in the hand`);
      if (place <= last) throw new FormatError("seat_keys is not in the order of seats");
      last = place;
      seatKeys.set(seat, hash(cells[1], "a seat key's digest"));
    }
    distinct([...seatKeys.values()], "seat_keys");
  }
  return {
    test, hand: hand as string, game, deck, seats, reveal, escrow, seatKeys,
    table: id(given["table"], "table"), number: integer(given["number"], "number", 1, MOST_NUMBER),
    seedCommitment: hash(given["seed_commitment"], "seed_commitment"), time: time(given["time"]),
  };
}

function offer(value: Json, test: boolean): Offer {
  const given = members(value, "offer", OFFER, ["escrow", "seat_keys"]);
  const contributors = list(given["contributors"], "contributors").map((each) => {
    const said = members(each, "a contributor", ["contributor", "commitment"]);
    return { contributor: id(said["contributor"], "contributor"), commitment: hash(said["commitment"], "commitment") };
  });
  if (contributors.length < 1 || contributors.length > 64) throw new FormatError("contributors are not 1 to 64");
  distinct(contributors.map((each) => each.contributor), "contributors");
  return { kind: "offer", ...opening(given, test), contributors };
}

function commit(value: Json, test: boolean): Commit {
  const given = members(value, "commit", COMMIT, ["offer", "escrow", "seat_keys"]);
  const contributions = list(given["contributions"], "contributions").map((each) => {
    const said = members(each, "a contribution", ["contributor", "value"]);
    return { contributor: id(said["contributor"], "contributor"), value: unhex(said["value"], 32, "value") };
  });
  return {
    kind: "commit", ...opening(given, test), contributions,
    offer: Object.hasOwn(given, "offer") ? integer(given["offer"], "offer", 0, MOST_NUMBER) : undefined,
    withheld: list(given["withheld"], "withheld").map((each) => id(each, "withheld")),
    entropyDigest: hash(given["entropy_digest"], "entropy_digest"),
    deckCommitment: hash(given["deck_commitment"], "deck_commitment"),
  };
}

function close(value: Json, test: boolean): Close {
  const given = members(value, "close", CLOSE, test ? CLOSE_MAY : CLOSE_MAY.slice(0, -1));
  handBytes(given["hand"]);
  const has = (name: string): boolean => Object.hasOwn(given, name);
  const outcome = oneOf(given["outcome"], "outcome", ["completed", "void", "lost"]);
  if (has("reason") !== (outcome === "void")) throw new FormatError("reason is there exactly for void");
  if (has("commit") === has("offer")) throw new FormatError("a close has one of commit and offer");
  if (has("offer") && outcome !== "lost") throw new FormatError("only a lost hand's close names an offer");
  if (test && has("deck") === (outcome === "lost")) throw new FormatError("a test record's close has a deck, a lost one none");
  const events = list(given["events"], "events").map(event);
  if (has("history") && outcome !== "lost" && !events.some((each) => each.kind === "deal")) {
    throw new FormatError("a history where nothing was dealt");
  }
  const openings = has("openings")
    ? list(given["openings"], "openings").map((each) => {
        const cells = list(each, "an opening");
        if (cells.length !== 3) throw new FormatError("an opening is not position, card, salt");
        const position = integer(cells[0], "position", 0, POSITION);
        return { position, card: twoCharacters(cells[1], "an opened card"), salt: unhex(cells[2], 32, "salt") };
      })
    : undefined;
  const escrow = has("escrow") ? unbase64(given["escrow"], "escrow") : undefined;
  if (escrow !== undefined && escrow.length !== 112) throw new FormatError("escrow has not 112 bytes");
  const cardCommitments = has("card_commitments") ? unbase64(given["card_commitments"], "card_commitments") : undefined;
  if (cardCommitments !== undefined && (cardCommitments.length % 32 !== 0 || cardCommitments.length < 64 || cardCommitments.length > 2048)) {
    throw new FormatError("card_commitments are not 2 to 64 of 32 bytes");
  }
  let deck: string[] | undefined;
  if (has("deck")) {
    if (typeof given["deck"] !== "string") throw new FormatError("deck is no text");
    deck = given["deck"].split(" ").map((each) => cardText(each, "a card of the deck"));
  }
  return {
    kind: "close", test, hand: given["hand"] as string, outcome, events, openings, escrow, cardCommitments, deck,
    commit: has("commit") ? integer(given["commit"], "commit", 0, MOST_NUMBER) : undefined,
    offer: has("offer") ? integer(given["offer"], "offer", 0, MOST_NUMBER) : undefined,
    reason: has("reason") ? oneOf(given["reason"], "reason", REASONS) : undefined,
    seed: has("seed") ? unhex(given["seed"], 64, "seed") : undefined,
    history: has("history") ? hash(given["history"], "history") : undefined,
    time: time(given["time"]),
  };
}

/** Reads an entry's exact bytes. Throws FormatError (check `schema`), UnknownSchemaError if its schema is not known. */
export function parseEntry(raw: Bytes): Entry {
  if (raw.length > MOST_BYTES) throw new FormatError(`an entry of more than ${MOST_BYTES} bytes`);
  let value: Json;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
    value = JSON.parse(text) as Json;
  } catch {
    throw new FormatError("not JSON");
  }
  const given = object(value, "the entry");
  const schema = given["schema"];
  const match = typeof schema === "string" ? /^cutcard(-test)?\/v1\/(offer|commit|close)$/.exec(schema) : null;
  if (typeof schema === "string" && match === null) throw new UnknownSchemaError(`unknown schema ${JSON.stringify(schema)}`);
  if (match === null) throw new FormatError("schema is no text");
  if (canonical(value) !== text || utf8(text).length !== text.length) throw new FormatError("not canonical JSON (RFC 8785), or not ASCII");
  const test = match[1] !== undefined;
  return match[2] === "offer" ? offer(value, test) : match[2] === "commit" ? commit(value, test) : close(value, test);
}
