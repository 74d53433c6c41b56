// Plays a sealed seat: node sealed.js HOST:PORT VERIFIER_KEY HAND_FILE [TABLE]. `Player` is what runs at a player's, on the
// checks of @cutcard/player; the rest is the room, which passes on what it cannot read.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as cutcard from "@cutcard/player";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const SEAT = 2;
const CONTRIBUTOR = "player-2";

const [address, keyText, out, table = `sealed-${randomUUID()}`] = process.argv.slice(2);
if (!out) {
  console.error("usage: node sealed.js HOST:PORT VERIFIER_KEY HAND_FILE [TABLE]");
  process.exit(2);
}

function require(holds, message) {
  if (!holds) throw new Error(message);
}

const bytes = (buffer) => new Uint8Array(buffer);

class Player {
  constructor(key, seatKey, number) {
    Object.assign(this, { key, seatKey, number, own: [], acknowledgements: [] });
    this.value = crypto.getRandomValues(new Uint8Array(32));
  }

  /** What goes to the room before the hand: a key, and a commitment to a value that nobody has seen. */
  brings() {
    const commitment = cutcard.contributionCommitment(table, this.number, CONTRIBUTOR, this.value);
    return { contributor: { id: CONTRIBUTOR, commitment }, seatKey: { seat: SEAT, key: this.seatKey.publicKey } };
  }

  /** Checks an entry under its receipt: its own table and number, the reveal that it plays, its own key at its own seat. */
  async entry(raw, receipt) {
    await cutcard.checkReceipt(receipt, bytes(raw), this.key);
    const said = cutcard.parseEntry(bytes(raw));
    this.hand = cutcard.handBytes(said.hand);
    require(said.table === table && said.number === this.number && said.reveal === "sealed", "an entry of another hand");
    const digest = cutcard.hex(cutcard.seatKeyDigest(this.hand, SEAT, this.seatKey.publicKey));
    require(said.seatKeys.get(SEAT) === digest, "the room swapped or dropped this seat's key");
    return said;
  }

  /** Gives its value, once its commitment stands in the log beside the dealer's. */
  async offered(raw, receipt) {
    const offer = await this.entry(raw, receipt);
    const { commitment } = this.brings().contributor;
    const mine = offer.contributors.find((each) => each.contributor === CONTRIBUTOR);
    require(mine?.commitment === cutcard.hex(commitment), "the offer does not have this player's commitment");
    this.offer = { entry: cutcard.base64(raw), receipt };
    return this.value;
  }

  async acknowledged(note) {
    const said = await cutcard.checkAcknowledgement(note, this.key);
    require(cutcard.same(said.value, this.value), "another value was acknowledged");
    this.acknowledgements.push(note);
  }

  async committed({ commit_entry, receipt, card_commitments, envelopes }) {
    const commit = await this.entry(commit_entry, receipt);
    const mine = commit.contributions.find((each) => each.contributor === CONTRIBUTOR);
    require(mine && cutcard.same(mine.value, this.value), "the commit leaves this player's value out");
    this.commitments = bytes(card_commitments);
    require(cutcard.hex(cutcard.deckCommitment(this.hand, this.commitments)) === commit.deckCommitment, "another deck");
    this.envelope = bytes(envelopes.find((each) => each.seat === SEAT).envelope);
    this.secret = await this.seatKey.open(this.hand, SEAT, this.envelope);
    this.commit = { entry: cutcard.base64(commit_entry), receipt };
  }

  /** Opens a down card of its own; checks any other that is in the clear. */
  card({ position, seat, face, card, salt, sealed }) {
    const commitment = this.commitments.slice(32 * position, 32 * position + 32);
    if (seat === SEAT && face === "FACE_DOWN") {
      require(card === "" && sealed.length > 0, "a down card of a sealed seat came in the clear");
      this.own.push({ position, sealed: cutcard.base64(sealed) });
      return cutcard.openCard(this.hand, position, this.secret, commitment, bytes(sealed)).card;
    }
    const made = cutcard.cardCommitment(this.hand, position, card, bytes(salt));
    require(cutcard.same(made, commitment), `${card} was not committed to`);
    return card;
  }

  consent() {
    return { seat: SEAT, mac: cutcard.consent(this.secret, this.hand, this.own.map((each) => each.position)) };
  }

  /** Its hand file, for `audit receipt` and the page. */
  file(entry, receipt) {
    return JSON.stringify({
      format: "cutcard-hand/v1", key: this.key.text, hand: cutcard.parseEntry(bytes(entry)).hand,
      offer: this.offer, commit: this.commit, close: { entry: cutcard.base64(entry), receipt }, cards: [],
      seat: SEAT, seat_key: cutcard.hex(this.seatKey.reveal()), envelope: cutcard.base64(this.envelope), sealed: this.own,
      acknowledgements: this.acknowledgements,
    });
  }
}

const here = dirname(fileURLToPath(import.meta.url));
const definition = loader.loadSync("dealer/v1/dealer.proto", {
  includeDirs: [join(here, "..", "..", "proto")], keepCase: true, defaults: true, enums: String, longs: String,
});
const { DealerService } = grpc.loadPackageDefinition(definition).dealer.v1;
const client = new DealerService(address, grpc.credentials.createInsecure());
const ask = (method, request) => promisify(client[method].bind(client))(request);
const call = (method, request) => ask(method, { request_id: randomUUID(), ...request });

const { next_number } = await ask("GetTable", { table });
const player = new Player(cutcard.parseKey(keyText), await cutcard.SeatKey.draw(), Number(next_number));
const { contributor, seatKey } = player.brings();
const { hand } = await call("OpenHand", {
  table, number: next_number, game: "GAME_SEVEN_CARD_STUD", seats: [1, SEAT, 3], reveal: "REVEAL_SEALED",
  contributors: [contributor], seat_keys: [seatKey],
});
const { hand_id } = hand;
const value = await player.offered(hand.offer_entry, hand.offer_receipt);
const { acknowledgement } = await call("SubmitEntropy", { hand_id, contributor: CONTRIBUTOR, value });
await player.acknowledged(acknowledgement);
await player.committed((await call("LockDeck", { hand_id })).hand);
console.log(`hand ${hand.number} of ${table}: this player's value is in the deck, and its key at seat ${SEAT}`);

for (const street of ["THIRD", "FOURTH", "FIFTH", "SIXTH", "SEVENTH"]) {
  const { cards } = await call("DealStreet", { hand_id, street: `STREET_${street}` });
  const seen = cards.map((card) => `${card.seat}:${player.card(card)}`);
  const room = cards.map((card) => `${card.seat}:${card.card || "sealed"}`);
  console.log(`${street.toLowerCase().padEnd(8)} the room sees ${room.join(" ")}; seat ${SEAT} sees ${seen.filter((each) => each.startsWith(`${SEAT}:`)).join(" ")}`);
}
await call("ShowCards", { hand_id, positions: player.own.map((each) => each.position), consents: [player.consent()] });
const { entry, receipt } = await call("CloseHand", { hand_id });
client.close();

const file = player.file(entry, receipt);
writeFileSync(out, file, { mode: 0o600, flag: "wx" });
const { verdict, steps } = await cutcard.checkHandFile(cutcard.parseHandFile(file), { key: player.key });
for (const step of steps.filter((each) => each.state !== "ok")) console.log(`${step.state.padEnd(8)} ${step.name}: ${step.detail}`);
console.log(`${verdict}: ${steps.filter((each) => each.state === "ok").length} checks hold`);
process.exit(steps.some((each) => each.state === "fail") ? 1 : 0);
