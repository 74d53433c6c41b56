// Deals one hand of Seven Card Stud at a dealer and checks every card: node deal.js HOST:PORT VERIFIER_KEY

import { randomUUID } from "node:crypto";
import { promisify } from "node:util";

import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

import { checkCard, checkDeck, checkReceipt, handBytes, parseKey } from "./cutcard.js";
import { PROTO } from "./protos.js";

const STREETS = ["THIRD", "FOURTH", "FIFTH", "SIXTH", "SEVENTH"];

const [address, keyText, table = `node-${randomUUID()}`] = process.argv.slice(2);
if (!keyText) {
  console.error("usage: node deal.js HOST:PORT VERIFIER_KEY [TABLE]");
  process.exit(2);
}

const definition = loader.loadSync("dealer/v1/dealer.proto", {
  includeDirs: [PROTO],
  keepCase: true, // fields as the proto names them: request_id, not requestId
  defaults: true, // position 0 is a position
  enums: String,
  longs: String,
});
const { DealerService } = grpc.loadPackageDefinition(definition).dealer.v1;
const client = new DealerService(address, grpc.credentials.createInsecure());
const call = (method, request) => promisify(client[method].bind(client))({ request_id: randomUUID(), ...request });

const verifier = parseKey(keyText);
const { hand } = await call("OpenHand", {
  table,
  game: "GAME_SEVEN_CARD_STUD",
  seats: [1, 2, 3],
  reveal: "REVEAL_PUBLIC",
});

// Before any card: the commit is in the log, for this hand, and binds the dealer to the list of commitments.
const commit = checkReceipt(hand.receipt, hand.commit_entry, verifier);
if (commit.content.hand !== hand.hand_id || commit.content.table !== table) throw new Error("the commit of another hand");
checkDeck(handBytes(hand.hand_id), hand.card_commitments, commit.content.deck_commitment);
console.log(`hand ${hand.number} of ${table}: committed in entry ${commit.index} of ${verifier.name}`);

let position = 0;
for (const street of STREETS) {
  const { cards } = await call("DealStreet", { hand_id: hand.hand_id, street: `STREET_${street}` });
  for (const card of cards) {
    if (card.position !== position++) throw new Error("a gap in the positions");
    checkCard(handBytes(hand.hand_id), hand.card_commitments, card);
  }
  console.log(street.toLowerCase().padEnd(8), cards.map((card) => `${card.seat}:${card.card}`).join(" "));
}

const { receipt, entry } = await call("CloseHand", { hand_id: hand.hand_id });
const close = checkReceipt(receipt, entry, verifier);
console.log(`${close.content.outcome}: entry ${close.index}; every card was the one committed to`);
client.close();
