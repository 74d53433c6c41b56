/** The protocol for a player's program: PROTOCOL.md, SEATS.md and WITNESS.md section 3, in the browser and in Node. */

export * from "./bytes.js";
export * from "./cards.js";
export * from "./check.js";
export { replay, type Place, type Replay } from "./dealing.js";
export { parseEntry, UnknownSchemaError, type Close, type Commit, type Entry, type Event, type Offer } from "./entries.js";
export * from "./errors.js";
export { fromFragment, parseHandFile, toFragment, type HandFile, type OwnCard, type OwnSeat } from "./handfile.js";
export { hpkeOpen, hpkeSeal } from "./hpke.js";
export * from "./keys.js";
export * from "./merkle.js";
export * from "./note.js";
export * from "./policy.js";
export * from "./receipt.js";
export * from "./seats.js";
export { verifyEd25519, weakEd25519, weakX25519 } from "./curves.js";
