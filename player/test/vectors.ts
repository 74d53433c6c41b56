/** Every vector that concerns one hand, in whatever runs this: Node or a browser. */

import * as player from "../src/index.js";
import { material } from "../src/cards.js";
import { cardKey } from "../src/seats.js";

const { hex, unhex } = player;
// The vectors are JSON of forms that their own page describes.
type Vectors = any;

export interface Result {
  readonly run: number;
  readonly wrong: readonly string[];
}

class Asked {
  run = 0;
  readonly wrong: string[] = [];

  equal(what: string, is: unknown, must: unknown): void {
    this.run++;
    if (is !== must) this.wrong.push(`${what}: ${String(is)}, and must be ${String(must)}`);
  }

  async refuses(what: string, call: () => unknown): Promise<void> {
    this.run++;
    try {
      await call();
    } catch (error) {
      if (error instanceof player.FormatError || error instanceof player.CheckError) return;
      throw error;
    }
    this.wrong.push(`${what}: taken, and must be refused`);
  }
}

const free = (text: string): player.Bytes => unhex(text, text.length / 2, "a vector");

/** hands.json: seed, contributions and everything derived from them. */
function hands(asked: Asked, vectors: Vectors): void {
  const { table, number } = vectors.commitments_are_for;
  for (const each of vectors.hands) {
    const [hand, seed] = [free(each.hand_id), free(each.seed)];
    const taken = each.contributions.map((c: Vectors) => ({ contributor: c.contributor, value: free(c.value) }));
    for (const c of each.contributions) {
      asked.equal(`${each.name}: commitment`, hex(player.contributionCommitment(table, number, c.contributor, free(c.value))), c.commitment);
    }
    asked.equal(`${each.name}: seed`, hex(player.seedCommitment(hand, seed)), each.seed_commitment);
    const digest = player.entropyDigest(hand, taken);
    asked.equal(`${each.name}: entropy`, hex(digest), each.entropy_digest);
    const from = material(hand, digest, seed);
    const { deck, words } = player.shuffle(player.referenceOrder(each.deck_kind), from);
    asked.equal(`${each.name}: deck`, deck.join(" "), each.deck);
    asked.equal(`${each.name}: words`, words, each.words_consumed);
    const salt = player.salts(from, deck.length);
    asked.equal(`${each.name}: first salt`, hex(salt.slice(0, 32)), each.first_salt);
    asked.equal(`${each.name}: last salt`, hex(salt.slice(-32)), each.last_salt);
    const commitments = player.cardCommitments(hand, deck, salt);
    asked.equal(`${each.name}: first card`, hex(commitments.slice(0, 32)), each.first_card_commitment);
    asked.equal(`${each.name}: last card`, hex(commitments.slice(-32)), each.last_card_commitment);
    asked.equal(`${each.name}: deck commitment`, hex(player.deckCommitment(hand, commitments)), each.deck_commitment);
  }
}

/** seats.json: keys, secrets, envelopes, cards, consents, proofs. */
async function seats(asked: Asked, vectors: Vectors): Promise<void> {
  for (const each of vectors.hands) {
    const [hand, seed] = [player.handBytes(each.hand), free(each.seed)];
    for (const said of each.seats) {
      const what = `${each.hand}, seat ${said.seat}`;
      const key = await player.SeatKey.from(free(said.private_key));
      asked.equal(`${what}: key`, hex(key.publicKey), said.key);
      asked.equal(`${what}: digest`, hex(player.seatKeyDigest(hand, said.seat, key.publicKey)), said.digest);
      asked.equal(`${what}: secret`, hex(player.seatSecret(hand, said.seat, seed)), said.secret);
      const secret = await key.open(hand, said.seat, free(said.envelope));
      asked.equal(`${what}: envelope`, hex(secret), said.secret);
      const again = await player.hpkeSeal(key.publicKey, free(said.private_key), player.envelopeInfo(hand, said.seat, key.publicKey), secret);
      asked.equal(`${what}: sealed and opened`, hex(await key.open(hand, said.seat, again)), said.secret);
      await asked.refuses(`${what}: envelope of another seat`, () => key.open(hand, said.seat + 1, free(said.envelope)));
      for (const card of said.cards) {
        const [position, commitment] = [card.position, free(card.commitment)];
        const place = `${what}, position ${position}`;
        asked.equal(`${place}: commitment`, hex(player.cardCommitment(hand, position, card.card, free(card.salt))), card.commitment);
        asked.equal(`${place}: key`, hex(cardKey(hand, position, secret)), card.card_key);
        asked.equal(`${place}: sealed`, hex(player.sealCard(hand, position, secret, commitment, card.card, free(card.salt))), card.sealed);
        asked.equal(`${place}: opened`, player.openCard(hand, position, secret, commitment, free(card.sealed)).card, card.card);
        await asked.refuses(`${place}: elsewhere`, () => player.openCard(hand, position + 1, secret, commitment, free(card.sealed)));
        const broken = free(card.sealed);
        broken[3]! ^= 1;
        await asked.refuses(`${place}: changed`, () => player.openCard(hand, position, secret, commitment, broken));
      }
      for (const { positions, mac } of said.consents) {
        asked.equal(`${what}: consent to ${positions}`, hex(player.consent(secret, hand, positions)), mac);
      }
      asked.equal(`${what}: showdown`, hex(player.showdownConsent(secret, hand)), said.showdown);
      for (const { sequence, action, amount, mac } of said.proofs) {
        asked.equal(`${what}: proof of ${action}`, hex(player.actionProof(secret, hand, sequence, action, amount)), mac);
      }
    }
  }
}

/** receipts.json: tlog-proofs and an acknowledgement; a changed byte of each is refused. */
async function receipts(asked: Asked, vectors: Vectors): Promise<void> {
  const key = player.parseKey(vectors.verifier_key);
  for (const { size, index, entry, receipt } of vectors.receipts) {
    const raw = player.utf8(entry);
    const read = await player.checkReceipt(receipt, raw, key);
    asked.equal(`receipt ${index} of ${size}`, `${read.index} ${read.checkpoint.size}`, `${index} ${size}`);
    await asked.refuses(`receipt ${index} of ${size}, another entry`, () => player.checkReceipt(receipt, player.join(raw, raw), key));
    if (size > 1) {
      const moved = receipt.replace(`index ${index}\n`, `index ${index === 0 ? 1 : index - 1}\n`);
      await asked.refuses(`receipt ${index} of ${size}, another index`, () => player.checkReceipt(moved, raw, key));
    }
  }
  const { hand, contributor, value, note } = vectors.acknowledgement;
  const said = await player.checkAcknowledgement(note, key);
  asked.equal("acknowledgement", `${said.hand} ${said.contributor} ${hex(said.value)}`, `${hand} ${contributor} ${value}`);
  await asked.refuses("acknowledgement, changed", () => player.checkAcknowledgement(note.replace(value, value.replaceAll("0", "1")), key));
}

/** witness.json: cosignatures, policies, receipts with cosignatures, the golden log's checkpoints. */
async function witness(asked: Asked, vectors: Vectors): Promise<void> {
  const cosigned = async (each: Vectors): Promise<string> => {
    try {
      const note = player.parseNote(`${each.checkpoint}\n${each.line.trimEnd()}\n`);
      const time = await player.cosignedAt(note, player.parseKey(each.witness, player.WITNESS_KEY));
      return time === undefined ? "passed over" : String(time);
    } catch {
      return "wrong";
    }
  };
  for (const each of vectors.cosignatures) {
    asked.equal(`cosignature ${each.why ?? each.time}`, await cosigned(each), each.valid ? /time (\d+)/.exec(each.message)![1] : "wrong");
  }
  for (const each of vectors.passed_over) asked.equal(`passed over: ${each.why}`, await cosigned(each), "passed over");
  const judge = async (policy: string, note: string): Promise<string> => {
    try {
      const { holds, time } = await player.witnessed(player.parsePolicy(policy), player.parseNote(note));
      return holds ? `holds ${time ?? 0n}` : "missing";
    } catch (error) {
      if (error instanceof player.CheckError) return "wrong";
      throw error;
    }
  };
  for (const each of vectors.policies) {
    asked.equal(`policy ${each.policy}`, await judge(each.policy, each.note), each.holds ? `holds ${each.time}` : "missing");
  }
  for (const each of vectors.bad_policies) await asked.refuses(`policy: ${each.why}`, () => player.parsePolicy(each.policy));
  for (const each of vectors.receipts) {
    const read = player.parseReceipt(each.receipt);
    const policy = player.parsePolicy(each.policy);
    let signature = true;
    let inclusion = true;
    await player.requireSignature(read.note, policy.logs[0]!).catch(() => (signature = false));
    try {
      player.requireInclusion(read, player.utf8(each.entry));
    } catch {
      inclusion = false;
    }
    asked.equal(`receipt of ${each.entry}: signature`, signature, each.signature);
    asked.equal(`receipt of ${each.entry}: inclusion`, inclusion, each.inclusion);
    const must = each.witness === "holds" ? `holds ${each.time}` : each.witness === "too few" ? "missing" : each.witness;
    asked.equal(`receipt of ${each.entry}: witness`, await judge(each.policy, read.note.text + "\n" + each.receipt.slice(each.receipt.lastIndexOf("\n\n") + 2)), must);
  }
  for (const each of vectors.golden_log.cases) {
    const time = each.exit_code === 0 ? `holds ${each.time}` : each.exit_code === 1 ? "wrong" : "missing";
    asked.equal(`golden log: ${each.why}`, await judge(vectors.golden_log.policy, each.checkpoint), time);
  }
}

/** Points of small order, in every encoding: refused as keys of either kind. */
async function smallOrder(asked: Asked): Promise<void> {
  const P = 2n ** 255n - 19n;
  const encode = (value: bigint, sign: boolean): player.Bytes => {
    const bytes = Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n));
    if (sign) bytes[31]! |= 128;
    return bytes;
  };
  const y8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
  for (const y of [0n, 1n, P - 1n, P, P + 1n, y8, P - y8]) {
    for (const sign of [false, true]) {
      const raw = encode(y, sign);
      const text = `n+${hex(player.keyId("n", 1, raw))}+${player.base64(player.join(Uint8Array.of(1), raw))}`;
      await asked.refuses(`Ed25519 key ${hex(raw)}`, () => player.parseKey(text));
    }
  }
  const u8 = 0xb8495f16056286fdb1329ceb8d09da6ac49ff1fae35616aeb8413b7c7aebe0n;
  for (const u of [0n, 1n, P - 1n, P, P + 1n, u8]) {
    for (const sign of [false, true]) {
      asked.equal(`X25519 key ${hex(encode(u, sign))}`, player.weakX25519(encode(u, sign)), true);
    }
  }
}

/** merkle-proofs.json, others' data: inclusion and consistency, right and wrong. */
function merkle(asked: Asked, vectors: Vectors): void {
  const raw = (text: string | null): player.Bytes => (text === null ? new Uint8Array(0) : player.unbase64(text, "a vector"));
  const holds = (call: () => void): boolean => {
    try {
      call();
      return true;
    } catch {
      return false;
    }
  };
  for (const each of vectors.inclusion) {
    const proof = (each.proof ?? []).map(raw);
    const is = holds(() => {
      const root = player.rootFromInclusion(each.leafIdx, each.treeSize, raw(each.leafHash), proof);
      if (!player.same(root, raw(each.root)) || raw(each.leafHash).length !== 32) throw new Error();
    });
    asked.equal(`inclusion ${each.case}`, is, !each.wantErr);
  }
  for (const each of vectors.consistency) {
    if (each.size1 === 0) continue; // the RFC leaves it open; here the empty tree is a prefix of every tree
    const proof = (each.proof ?? []).map(raw);
    const is = holds(() => player.requireConsistency(each.size1, each.size2, raw(each.root1), raw(each.root2), proof));
    asked.equal(`consistency ${each.case}`, is, !each.wantErr);
  }
}

/** Runs all that is given, by the vectors' file names. */
export async function runVectors(given: Record<string, Vectors>): Promise<Result> {
  const asked = new Asked();
  hands(asked, given["hands.json"]);
  await seats(asked, given["seats.json"]);
  await receipts(asked, given["receipts.json"]);
  await witness(asked, given["witness.json"]);
  await smallOrder(asked);
  if (given["merkle-proofs.json"] !== undefined) merkle(asked, given["merkle-proofs.json"]);
  return asked;
}
