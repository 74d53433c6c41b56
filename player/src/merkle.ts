/** RFC 6962's tree: leaves, inclusion and consistency (PROTOCOL.md section 9). Indexes below 2^53. */

import { same, type Bytes } from "./bytes.js";
import { CheckError } from "./errors.js";
import { sha256 } from "./hashing.js";

export const leafHash = (entry: Uint8Array): Bytes => sha256(Uint8Array.of(0), entry);
export const nodeHash = (left: Bytes, right: Bytes): Bytes => sha256(Uint8Array.of(1), left, right);

const half = (x: number): number => Math.floor(x / 2);

/** Returns the root that an inclusion proof gives; throws CheckError if its length does not fit (RFC 9162, 2.1.3.2). */
export function rootFromInclusion(index: number, size: number, leaf: Bytes, proof: readonly Bytes[]): Bytes {
  if (index >= size) throw new CheckError("checkpoint", `entry ${index} is not in a tree of ${size}`);
  let [fn, sn, root] = [index, size - 1, leaf];
  for (const step of proof) {
    if (sn === 0) throw new CheckError("checkpoint", "the inclusion proof is too long");
    if (fn % 2 === 1 || fn === sn) {
      root = nodeHash(step, root);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      root = nodeHash(root, step);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  if (sn !== 0) throw new CheckError("checkpoint", "the inclusion proof is too short");
  return root;
}

/** Requires that the tree of `size2` extends that of `size1` (RFC 9162, 2.1.4.2); throws CheckError. */
export function requireConsistency(size1: number, size2: number, root1: Bytes, root2: Bytes, proof: readonly Bytes[]): void {
  const wrong = new CheckError("append-only", `the tree of ${size2} does not extend the tree of ${size1}`);
  if (size1 > size2) throw wrong;
  if (size1 === 0 && !same(root1, sha256())) throw wrong;
  if (size1 === size2 || size1 === 0) {
    if (proof.length > 0 || (size1 === size2 && !same(root1, root2))) throw wrong;
    return;
  }
  if (proof.length === 0) throw wrong;
  const power = 2 ** Math.floor(Math.log2(size1)) === size1;
  const path = power ? [root1, ...proof] : [...proof];
  let [fn, sn] = [size1 - 1, size2 - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  let fr = path[0]!;
  let sr = path[0]!;
  for (const step of path.slice(1)) {
    if (sn === 0) throw wrong;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [nodeHash(step, fr), nodeHash(step, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      sr = nodeHash(sr, step);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  if (sn !== 0 || !same(fr, root1) || !same(sr, root2)) throw wrong;
}
