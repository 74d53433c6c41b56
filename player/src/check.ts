/** Checks a hand file whole, by the names of PROTOCOL.md section 10, each check with its arithmetic. */

import { handBytes, hex, join, same, type Bytes } from "./bytes.js";
import {
  cardCommitment, cardCommitments, contributionCommitment, deckCommitment, entropyDigest, material, referenceOrder, salts,
  seedCommitment, shuffle,
} from "./cards.js";
import { notComplete, replay, type Replay } from "./dealing.js";
import { parseEntry, UnknownSchemaError, type Close, type Commit, type Entry, type Offer } from "./entries.js";
import { CheckError, FormatError } from "./errors.js";
import { requireSeatKey, type HandFile, type Proven } from "./handfile.js";
import { sha256, tag } from "./hashing.js";
import { hpkeOpen } from "./hpke.js";
import { isTestName, type VerifierKey } from "./keys.js";
import { requireSignature } from "./note.js";
import { witnessed, type Policy } from "./policy.js";
import { parseAcknowledgement, parseReceipt, requireInclusion, type Receipt } from "./receipt.js";
import { openCard, SeatKey, seatKeyDigest, seatSecret } from "./seats.js";

export type State = "ok" | "fail" | "missing" | "unmade";
/** One line of a check's arithmetic: what it is, and its value. */
export type Line = readonly [string, string];

export interface Step {
  readonly name: string;
  readonly state: State;
  readonly detail: string;
  /** The arithmetic, worked out when asked for. */
  readonly work?: () => readonly Line[];
}

export type Verdict = "valid" | "invalid" | "incomplete" | "test-record" | "unreadable";

export interface Checked {
  readonly verdict: Verdict;
  readonly steps: readonly Step[];
  readonly offer: Offer | undefined;
  readonly commit: Commit | undefined;
  readonly close: Close | undefined;
  readonly replay: Replay | undefined;
  /** The deck, top first, where the seed is known and gives the committed one. */
  readonly deck: readonly string[] | undefined;
  /** Cards that are known and match their commitments, by position. */
  readonly known: ReadonlyMap<number, string>;
  /** Positions of the file's owner. */
  readonly own: ReadonlySet<number>;
  /** POSIX seconds since when enough witnesses have seen it. */
  readonly witnessedSince: bigint | undefined;
}

export interface CheckOptions {
  /** The verifier key that the reader pins; the file's own is never believed. */
  readonly key?: VerifierKey | undefined;
  readonly policy?: Policy | undefined;
  /** Private escrow keys of 32 bytes, for auditors. */
  readonly escrowKeys?: readonly Bytes[];
  /** Judges a test double's record as any other. */
  readonly allowTest?: boolean;
}

interface At<T> {
  readonly entry: T;
  readonly receipt: Receipt;
}

const message = (error: unknown): string => {
  if (error instanceof CheckError || error instanceof FormatError) return error.message;
  throw error;
};

/** One file's check, step by step. */
class Checking {
  readonly steps: Step[] = [];
  offer: At<Offer> | undefined;
  commit: At<Commit> | undefined;
  close: At<Close> | undefined;
  replayed: Replay | undefined;
  deck: readonly string[] | undefined;
  commitments: Bytes | undefined;
  seed: Bytes | undefined;
  proven = false;
  unknown = false;
  isTest = false;
  /** Seed and contributions match what was committed: what is derived from others says nothing more. */
  sound = true;
  since: bigint | undefined;
  readonly known = new Map<number, string>();
  readonly own = new Set<number>();
  readonly hand: Bytes;

  constructor(readonly file: HandFile, readonly options: CheckOptions) {
    this.hand = handBytes(file.hand);
    this.isTest = options.key !== undefined && isTestName(options.key.name);
  }

  say(name: string, state: State, detail: string, work?: () => readonly Line[]): void {
    this.steps.push(work === undefined ? { name, state, detail } : { name, state, detail, work });
  }

  /** Says `ok`, or why not. */
  hold(name: string, good: string, wrong: string | undefined, work?: () => readonly Line[]): void {
    this.say(name, wrong === undefined ? "ok" : "fail", wrong ?? good, work);
  }

  async entry(name: "offer" | "commit" | "close", given: Proven | undefined): Promise<At<Entry> | undefined> {
    if (given === undefined) {
      if (name === "close") this.say("close", "missing", "it is not here: the hand was in play when the file was written");
      return undefined;
    }
    try {
      const receipt = parseReceipt(given.receipt);
      const { key } = this.options;
      if (key !== undefined) {
        await requireSignature(receipt.note, key);
        this.proven = true;
        if (receipt.checkpoint.origin !== key.name) throw new CheckError("checkpoint", `a tree of ${receipt.checkpoint.origin}`);
      }
      requireInclusion(receipt, given.entry);
      let entry: Entry;
      try {
        entry = parseEntry(given.entry);
      } catch (error) {
        if (error instanceof UnknownSchemaError) {
          this.unknown = true;
          this.say(name, "missing", error.message);
          return undefined;
        }
        throw error;
      }
      if (entry.kind !== name) throw new CheckError("lifecycle", `the entry is a ${entry.kind}`);
      this.isTest ||= entry.test;
      this.say(name, "ok", `entry ${receipt.index} of the log`, () => [
        ["entry", new TextDecoder().decode(given.entry)],
        ["leaf = SHA-256(00 || entry)", hex(sha256(Uint8Array.of(0), given.entry))],
        ["inclusion proof", receipt.proof.map(hex).join("\n") || "(empty: the tree is this entry)"],
        [`root of ${receipt.checkpoint.size} entries`, hex(receipt.checkpoint.root)],
        ["checkpoint", receipt.note.text],
      ]);
      return { entry, receipt };
    } catch (error) {
      this.say(name, "fail", message(error));
      return undefined;
    }
  }

  lifecycle(): void {
    const { commit, offer, close } = this;
    const opened = [offer, commit, close].filter((each) => each !== undefined);
    if (opened.some((each) => each.entry.hand !== this.file.hand)) {
      // Of which hand would the rest speak? No other check is made.
      this.offer = this.commit = this.close = this.replayed = undefined;
      return this.say("lifecycle", "fail", "the entries are not all this hand's");
    }
    if (commit === undefined) return;
    let wrong: string | undefined;
    const said = commit.entry;
    if (new Set(opened.map((each) => each.entry.test)).size > 1) wrong = "test records and others are mixed";
    else if (offer !== undefined && said.offer !== offer.receipt.index) wrong = "the commit names another entry as its offer";
    else if (offer !== undefined && offer.receipt.index >= commit.receipt.index) wrong = "the offer comes after the commit";
    else if (offer !== undefined) {
      const parts = (of: Offer | Commit): string => JSON.stringify([
        of.table, of.number, of.game, of.deck, of.seats, of.reveal, of.seedCommitment, of.escrow, [...of.seatKeys],
      ]);
      if (parts(offer.entry) !== parts(said)) wrong = "the commit does not repeat its offer unchanged";
    } else if (said.offer !== undefined && said.offer >= commit.receipt.index) wrong = "the offer comes after the commit";
    const first = (offer ?? commit).receipt.index;
    // Each hand before it at its table was closed before it began, and has two entries at the least.
    if (first < 2 * (said.number - 1)) wrong ??= `entry ${first} comes too early for a table's hand ${said.number}`;
    if (wrong === undefined && close !== undefined) {
      if (close.entry.commit !== commit.receipt.index) wrong = "the close names another entry as its commit";
      else if (close.receipt.index <= commit.receipt.index) wrong = "the close comes before the commit";
      else if (close.entry.outcome === "completed") wrong = notComplete(said, close.entry.events);
    }
    this.hold("lifecycle", "the entries are one hand's, in their order", wrong);
  }

  entropy(): void {
    if (this.commit === undefined) return;
    const said = this.commit.entry;
    const invited = this.offer?.entry.contributors ?? [];
    if (said.offer !== undefined && this.offer === undefined) {
      return this.say("entropy", "missing", "the offer, which has the commitments, is not here");
    }
    let wrong: string | undefined;
    const given = new Map(said.contributions.map((each) => [each.contributor, each.value]));
    const silent = new Set(said.withheld);
    const order = (names: readonly string[], of: { has(name: string): boolean }): boolean =>
      JSON.stringify(names) === JSON.stringify(invited.map((each) => each.contributor).filter((name) => of.has(name)));
    if (given.size + silent.size !== invited.length || invited.some((each) => given.has(each.contributor) === silent.has(each.contributor))) {
      wrong = "contributions and withheld together are not the offer's contributors";
    } else if (!order(said.contributions.map((each) => each.contributor), given) || !order(said.withheld, silent)) {
      wrong = "contributions or withheld are not in the offer's order";
    }
    for (const { contributor, commitment } of invited) {
      const value = given.get(contributor);
      if (value !== undefined && hex(contributionCommitment(this.offer!.entry.table, this.offer!.entry.number, contributor, value)) !== commitment) {
        wrong ??= `the value of ${contributor} does not match its commitment in the offer`;
      }
    }
    const digest = hex(entropyDigest(this.hand, said.contributions));
    if (digest !== said.entropyDigest) wrong ??= "the entropy digest is not that of the contributions";
    this.sound &&= wrong === undefined;
    this.hold("entropy", "contributions, and their digest, are as they must be", wrong, () => [
      ...said.contributions.map((each): Line => [`value of ${each.contributor}`, hex(each.value)]),
      ['SHA-256(tag("entropy") || hand || count || contributors and values)', digest],
      ["logged entropy_digest", said.entropyDigest],
    ]);
  }

  async findSeed(): Promise<void> {
    if (this.commit === undefined || this.close === undefined) return;
    const said = this.commit.entry;
    const end = this.close.entry;
    if (end.outcome === "lost") return;
    let wrong: string | undefined;
    let unopened = false;
    let seed = said.reveal === "public" ? end.seed : undefined;
    if (said.reveal === "public" && seed === undefined) return; // `reveal` says so
    if (said.reveal === "sealed") {
      if (end.escrow === undefined) return;
      const digest = hex(sha256(tag("escrow-digest"), this.hand, end.escrow));
      if (digest !== said.escrow?.digest) wrong = "the escrow does not match its digest in the commit";
      const secrets = await Promise.all((this.options.escrowKeys ?? []).map((each) => SeatKey.from(each)));
      const match = secrets.find((each) => hex(sha256(each.publicKey).slice(0, 8)) === said.escrow?.key);
      unopened = match === undefined;
      if (match !== undefined) {
        try {
          const info = join(tag("escrow"), this.hand, fromHex(said.seedCommitment));
          seed = await hpkeOpen(match.reveal(), info, end.escrow);
          if (seed.length !== 64) [seed, wrong] = [undefined, "the escrow holds no seed"];
        } catch (error) {
          wrong ??= `the escrow does not open: ${message(error)}`;
        }
      }
    }
    if (seed !== undefined && hex(seedCommitment(this.hand, seed)) !== said.seedCommitment) wrong ??= "the seed does not match its commitment";
    this.sound &&= wrong === undefined;
    this.seed = seed;
    const shown = said.reveal === "public" ? seed : undefined;
    this.hold("seed", unopened ? "the escrow matches its digest" : "matches its commitment", wrong, () => [
      ...(shown === undefined ? [] : ([["seed", hex(shown)], ['SHA-256(tag("seed") || hand || seed)', hex(seedCommitment(this.hand, shown))]] as Line[])),
      ["logged seed_commitment", said.seedCommitment],
      ...(end.escrow === undefined ? [] : ([['SHA-256(tag("escrow-digest") || hand || ciphertext)', hex(sha256(tag("escrow-digest"), this.hand, end.escrow))], ["logged escrow digest", said.escrow?.digest ?? ""]] as Line[])),
    ]);
  }

  derive(): void {
    if (this.commit === undefined || this.close === undefined || this.seed === undefined || !this.sound) return;
    const said = this.commit.entry;
    const from = material(this.hand, entropyDigest(this.hand, said.contributions), this.seed);
    const order = referenceOrder(said.deck);
    const { deck, words } = this.close.entry.deck === undefined ? shuffle(order, from) : { deck: [...this.close.entry.deck], words: 0 };
    let wrong: string | undefined;
    if (deck.length !== order.length || new Set(deck).size < deck.length || deck.some((card) => !order.includes(card))) wrong = "the deck is no permutation of its kind";
    const salt = salts(from, deck.length);
    const commitments = cardCommitments(this.hand, deck, salt);
    const root = hex(deckCommitment(this.hand, commitments));
    if (root !== said.deckCommitment) wrong ??= "the seed does not give the committed deck";
    this.hold("deck", "the seed gives the committed deck", wrong, () => [
      ["material = hand || entropy digest || seed", hex(from)],
      ['deck from SHAKE256(tag("shuffle") || material)', `${deck.join(" ")}   (${words} words)`],
      ...deck.map((card, p): Line => [`${p} ${card}: SHA-256(tag("card") || hand || ${p} || card || salt)`, hex(commitments.slice(32 * p, 32 * p + 32))]),
      ['SHA-256(tag("deck") || hand || n || all of them)', root],
      ["logged deck_commitment", said.deckCommitment],
    ]);
    if (wrong !== undefined) return;
    [this.deck, this.commitments] = [deck, commitments];
    deck.forEach((card, p) => this.known.set(p, card));
  }

  dealing(): void {
    if (this.commit === undefined || this.close === undefined) return;
    try {
      this.replayed = replay(this.commit.entry, this.close.entry.events);
      this.say("dealing", "ok", "the events obey the rules");
    } catch (error) {
      this.say("dealing", "fail", message(error));
    }
  }

  reveal(): void {
    if (this.commit === undefined || this.close === undefined) return;
    const said = this.commit.entry;
    const end = this.close.entry;
    const sealed = [end.cardCommitments, end.openings, end.escrow];
    let wrong: string | undefined;
    if (end.outcome === "lost") {
      if ([end.seed, end.history, ...sealed].some((each) => each !== undefined)) wrong = "a lost hand's close reveals something";
    } else if (said.reveal === "public") {
      if (end.seed === undefined) wrong = "the seed is not there";
      else if (sealed.some((each) => each !== undefined)) wrong = "a public close has what only a sealed one has";
    } else if (end.seed !== undefined) wrong = "a sealed close gives the seed";
    else if (sealed.some((each) => each === undefined)) wrong = "card commitments, openings or escrow are not there";
    else if (this.replayed !== undefined) {
      const opened = new Set(end.openings!.map((each) => each.position));
      const seen = new Set([...this.replayed.places.values()].filter((place) => place.face === "up" || place.shown).map((place) => place.position));
      if (opened.size !== seen.size || [...seen].some((each) => !opened.has(each))) wrong = "it does not open exactly the cards that the table saw";
    }
    this.hold("reveal", "what is revealed is what the policy asks", wrong);
  }

  opening(): void {
    if (this.commit === undefined || this.close === undefined) return;
    const said = this.commit.entry;
    const { cardCommitments: listed, openings, outcome } = this.close.entry;
    if (said.reveal !== "sealed" || outcome === "lost" || listed === undefined || openings === undefined) return;
    const order = referenceOrder(said.deck);
    let wrong: string | undefined;
    if (listed.length !== 32 * order.length || hex(deckCommitment(this.hand, listed)) !== said.deckCommitment) {
      wrong = "the card commitments do not give the deck commitment";
    } else {
      this.commitments = listed;
    }
    if (this.seed !== undefined && this.deck !== undefined && !same(listed, cardCommitments(this.hand, this.deck, this.salts(said)))) {
      wrong ??= "the card commitments are not those that the seed gives";
    }
    if (openings.some((each, i) => i > 0 && each.position <= openings[i - 1]!.position)) wrong ??= "the openings are not ascending";
    if (new Set(openings.map((each) => each.card)).size < openings.length) wrong ??= "a card is opened twice";
    for (const { position, card, salt } of openings) {
      const is = cardCommitment(this.hand, position, card, salt);
      if (!order.includes(card)) wrong ??= `${card} is no card of ${said.deck}`;
      else if (!same(is, listed.slice(32 * position, 32 * position + 32))) wrong ??= `the opening of position ${position} does not match its commitment`;
      else if (this.commitments !== undefined) this.known.set(position, card);
    }
    this.hold("opening", "the opened cards match their commitments", wrong, () => [
      ...openings.map(({ position, card, salt }): Line => [`${position} ${card}: SHA-256(tag("card") || hand || ${position} || card || salt)`, hex(cardCommitment(this.hand, position, card, salt))]),
      ['SHA-256(tag("deck") || hand || n || all commitments)', hex(deckCommitment(this.hand, listed))],
      ["logged deck_commitment", said.deckCommitment],
    ]);
  }

  salts(said: Commit): Bytes {
    return salts(material(this.hand, entropyDigest(this.hand, said.contributions), this.seed!), referenceOrder(said.deck).length);
  }

  /** What stands in the way although nothing failed. */
  gaps(): void {
    if (this.commit === undefined) return;
    const said = this.commit.entry;
    if (said.number > 1) this.say("number", "unmade", `that number ${said.number} is the next at its table, the log alone can show`);
    const end = this.close?.entry;
    if (end?.outcome === "lost") this.say("lost", "missing", "the dealer can no longer read this hand's seed: for money it is void, and never a valid hand");
    else if (said.reveal === "sealed" && end !== undefined && this.seed === undefined) {
      this.say("escrow", "missing", "the hand is sealed: what nobody showed is the auditor's to see, who holds the escrow key");
    }
  }

  card(position: number, card: string, salt: Bytes, name: string, good: string): boolean {
    if (this.commitments === undefined) {
      this.say(name, "missing", "there is no list of card commitments to hold it against");
      return false;
    }
    const is = cardCommitment(this.hand, position, card, salt);
    const logged = this.commitments.slice(32 * position, 32 * position + 32);
    const wrong = same(is, logged) ? undefined : `${card} with this salt does not match the commitment of position ${position}`;
    this.hold(name, good, wrong, () => [
      ["card and salt", `${card} ${hex(salt)}`],
      [`SHA-256(tag("card") || hand || ${position} || card || salt)`, hex(is)],
      ["commitment", hex(logged)],
    ]);
    if (wrong === undefined) this.known.set(position, card);
    return wrong === undefined;
  }

  cards(): void {
    for (const { position, seat, face, card, salt } of this.file.cards) {
      const name = `card ${position}`;
      if (!this.card(position, card, salt, name, `${card}, which matches its commitment`) || this.replayed === undefined) continue;
      const place = this.replayed.places.get(position);
      if (place === undefined || place.seat !== seat || place.face !== face) {
        const where = place === undefined ? "not dealt" : `dealt ${place.face} to seat ${place.seat}`;
        this.say(name, "fail", `dealt ${face} to seat ${seat}, and by the log it was ${where}`);
      } else if (seat !== 0) this.own.add(position);
    }
  }

  async sealedSeat(): Promise<void> {
    const { own } = this.file;
    if (own === undefined) return;
    const key = await SeatKey.from(own.secret);
    if (this.commit === undefined) return this.say("seat key", "missing", "there is no proven commit to hold it against");
    const logged = this.commit.entry.seatKeys.get(own.seat);
    const digest = hex(seatKeyDigest(this.hand, own.seat, key.publicKey));
    const wrong = logged === undefined
      ? `the commit names no key of seat ${own.seat}: it was dropped, and the seat was open`
      : logged === digest ? undefined : `the commit names another key of seat ${own.seat}: whoever has that one can read its cards`;
    this.hold("seat key", `the commit names it at seat ${own.seat}`, wrong, () => [
      ["seat key", hex(key.publicKey)],
      ['SHA-256(tag("seat-key") || hand || seat || key)', digest],
      ["logged digest", logged ?? "(none)"],
    ]);
    if (wrong !== undefined) return;
    if (own.envelope === undefined) return this.say("envelope", "missing", "it is not here: without it this seat's cards stay closed");
    let secret: Bytes;
    try {
      secret = await key.open(this.hand, own.seat, own.envelope);
    } catch (error) {
      return this.say("envelope", "fail", message(error));
    }
    const other = this.seed !== undefined && !same(seatSecret(this.hand, own.seat, this.seed), secret);
    this.hold("envelope", "opens under the seat's key", other ? "it opens, and holds another secret than the one that the seed gives" : undefined);
    for (const { position, sealed } of own.sealed) {
      const name = `sealed card ${position}`;
      if (this.commitments === undefined) {
        this.say(name, "missing", "there is no list of card commitments to open it against");
        continue;
      }
      try {
        const { card, salt } = openCard(this.hand, position, secret, this.commitments.slice(32 * position, 32 * position + 32), sealed);
        if (!this.card(position, card, salt, name, `${card}, which matches its commitment`)) continue;
      } catch (error) {
        this.say(name, "fail", message(error));
        continue;
      }
      const place = this.replayed?.places.get(position);
      if (this.replayed !== undefined && (place?.seat !== own.seat || place.face !== "down")) {
        this.say(name, "fail", `by the log position ${position} was not dealt down to seat ${own.seat}`);
      } else this.own.add(position);
    }
  }

  /** Tells whether a value is one that the offer has the commitment to, as far as there is an offer. */
  private invited(contributor: string, value: Bytes): boolean {
    if (this.offer === undefined) return true;
    const { table, number, contributors } = this.offer.entry;
    const found = hex(contributionCommitment(table, number, contributor, value));
    return contributors.some((each) => each.contributor === contributor && each.commitment === found);
  }

  async acknowledgements(): Promise<void> {
    const values = new Map<string, Bytes>();
    for (const text of this.file.acknowledgements) {
      let wrong: string | undefined;
      let detail = "";
      try {
        const said = parseAcknowledgement(text);
        if (this.options.key !== undefined) await requireSignature(said.note, this.options.key);
        detail = `the value of ${said.contributor} was taken`;
        const taken = this.commit?.entry.contributions.find((each) => each.contributor === said.contributor);
        const other = values.get(said.contributor);
        values.set(said.contributor, said.value);
        if ([this.offer, this.commit].some((each) => each !== undefined && each.entry.hand !== said.hand)) wrong = "it is of another hand";
        else if (other !== undefined && !same(other, said.value)) wrong = `two values of ${said.contributor} were acknowledged`;
        else if (!this.invited(said.contributor, said.value)) wrong = `the offer did not ask for this value of ${said.contributor}`;
        else if (this.commit === undefined) {
          this.say("acknowledgement", "missing", "there is no proven commit to hold it against");
          continue;
        } else if (taken === undefined) wrong = `${said.contributor}'s value was acknowledged, and the commit does not have it`;
        else if (!same(taken.value, said.value)) wrong = `the commit has another value of ${said.contributor} than the one acknowledged`;
      } catch (error) {
        wrong = message(error);
      }
      this.hold("acknowledgement", detail, wrong);
    }
  }

  async witness(): Promise<void> {
    const { policy } = this.options;
    if (policy === undefined) return;
    if (policy.quorum === "none") return this.say("witness", "unmade", "the policy asks for no witness");
    try {
      const notes = [this.offer, this.commit, this.close].filter((each) => each !== undefined).map((each) => each.receipt.note);
      const results = [];
      for (const note of notes) results.push(await witnessed(policy, note));
      const last = results.at(-1);
      if (last === undefined) return;
      if (!last.holds) return this.say("witness", "missing", `cosignatures: ${last.names.length} of the policy's witnesses, too few`);
      this.since = last.time;
      if (last.time! > BigInt(Math.floor(Date.now() / 1000)) + 300n) return this.say("witness", "missing", "a time that can be: cosigned in the future");
      this.say("witness", "ok", `${last.names.length} of ${policy.witnesses.size} (${last.names.join(", ")}), since ${instant(last.time!)}`);
    } catch (error) {
      this.say("witness", "fail", message(error));
    }
  }

  signature(): void {
    const { key } = this.options;
    if (key === undefined) this.say("signature", "missing", "no verifier key was pinned: all of this is the file's word");
    else if (!this.proven) this.say("signature", "missing", `nothing here is signed by ${key.name}: all of this is the file's word`);
  }

  verdict(): Verdict {
    const has = (state: State): boolean => this.steps.some((step) => step.state === state);
    if (this.isTest && this.options.allowTest !== true) return "test-record";
    if (has("fail") && this.proven) return "invalid";
    if (this.unknown) return "unreadable";
    if (has("fail") || has("missing")) return "incomplete";
    return this.isTest ? "test-record" : "valid";
  }
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
}

/** Says a POSIX time as text, as far as a calendar goes. */
export function instant(seconds: bigint): string {
  return seconds < 253_402_300_800n ? new Date(Number(seconds) * 1000).toISOString().replace(".000", "") : `second ${seconds}`;
}

/** Checks a hand file. Throws FormatError if its seat key is none. */
export async function checkHandFile(file: HandFile, options: CheckOptions = {}): Promise<Checked> {
  if (file.own !== undefined) await requireSeatKey(file.own);
  const checking = new Checking(file, options);
  checking.offer = (await checking.entry("offer", file.offer)) as At<Offer> | undefined;
  checking.commit = (await checking.entry("commit", file.commit)) as At<Commit> | undefined;
  checking.close = (await checking.entry("close", file.close)) as At<Close> | undefined;
  checking.dealing();
  checking.lifecycle();
  checking.entropy();
  await checking.findSeed();
  checking.derive();
  checking.reveal();
  checking.opening();
  checking.gaps();
  checking.cards();
  await checking.sealedSeat();
  await checking.acknowledgements();
  await checking.witness();
  checking.signature();
  return {
    verdict: checking.verdict(), steps: checking.steps, offer: checking.offer?.entry, commit: checking.commit?.entry,
    close: checking.close?.entry, replay: checking.replayed, deck: checking.deck, known: checking.known, own: checking.own,
    witnessedSince: checking.since,
  };
}
