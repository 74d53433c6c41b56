/** Policy files: whose cosignatures are asked for (WITNESS.md section 3). */

import { hex } from "./bytes.js";
import { FormatError } from "./errors.js";
import { LOG_KEY, parseKey, WITNESS_KEY, type VerifierKey } from "./keys.js";
import { cosignedAt, type Note } from "./note.js";

interface Group {
  readonly least: number;
  readonly members: readonly string[];
}

export interface Policy {
  readonly logs: readonly VerifierKey[];
  readonly witnesses: ReadonlyMap<string, VerifierKey>;
  readonly groups: ReadonlyMap<string, Group>;
  readonly quorum: string;
}

/** What the witnesses say of a note. */
export interface Witnessed {
  readonly holds: boolean;
  /** POSIX seconds, where it holds; undefined where no time is asked for (`quorum none`). */
  readonly time: bigint | undefined;
  /** Names in the policy whose cosignature is there. */
  readonly names: readonly string[];
}

/** Reads a policy; throws FormatError that names the line. */
export function parsePolicy(text: string): Policy {
  const logs: VerifierKey[] = [];
  const witnesses = new Map<string, VerifierKey>();
  const groups = new Map<string, Group>();
  const keys = new Set<string>();
  const members = new Set<string>();
  let quorum: string | undefined;
  const free = (name: string): void => {
    if (name === "none" || witnesses.has(name) || groups.has(name)) throw new FormatError(`the name ${name} is taken`);
  };
  const there = (name: string): void => {
    if (!witnesses.has(name) && !groups.has(name)) throw new FormatError(`nothing before this line is called ${name}`);
  };
  const once = (key: VerifierKey): VerifierKey => {
    const raw = hex(key.publicKey);
    if (keys.has(raw)) throw new FormatError("this key stands in the policy twice");
    keys.add(raw);
    return key;
  };
  const read = (line: string): void => {
    if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(line)) throw new FormatError("a control character");
    const words = line.split(/[ \t]+/).filter((word) => word !== "");
    const [kind, ...rest] = words;
    if (kind === "log" && (rest.length === 1 || rest.length === 2)) {
      logs.push(once(parseKey(rest[0]!, LOG_KEY)));
    } else if (kind === "witness" && (rest.length === 2 || rest.length === 3)) {
      free(rest[0]!);
      witnesses.set(rest[0]!, once(parseKey(rest[1]!, WITNESS_KEY)));
    } else if (kind === "group" && rest.length >= 3) {
      const [name, many, ...names] = rest as [string, string, ...string[]];
      free(name);
      for (const member of names) {
        there(member);
        if (members.has(member)) throw new FormatError(`${member} is a member already`);
        members.add(member);
      }
      const least = many === "any" ? 1 : many === "all" ? names.length : /^[1-9][0-9]*$/.test(many) ? Number(many) : 0;
      if (least < 1 || least > names.length) throw new FormatError(`${many} is not any, all, or 1 to ${names.length}`);
      groups.set(name, { least, members: names });
    } else if (kind === "quorum" && rest.length === 1) {
      if (quorum !== undefined) throw new FormatError("a second quorum line");
      if (rest[0] !== "none") there(rest[0]!);
      quorum = rest[0]!;
    } else {
      throw new FormatError("not a log, witness, group or quorum line");
    }
  };
  text.split("\n").forEach((line, index) => {
    if (/^[ \t]*$/.test(line) || line.startsWith("#")) return;
    try {
      read(line);
    } catch (error) {
      throw new FormatError(`policy, line ${index + 1}: ${(error as Error).message}`);
    }
  });
  if (quorum === undefined) throw new FormatError("policy: no quorum line");
  return { logs, witnesses, groups, quorum };
}

/** Holds a note against a policy; throws CheckError if a known witness's line is wrong. */
export async function witnessed(policy: Policy, note: Note): Promise<Witnessed> {
  const times = new Map<string, bigint>();
  for (const [name, key] of policy.witnesses) {
    const time = await cosignedAt(note, key);
    if (time !== undefined) times.set(name, time);
  }
  const names = [...times.keys()];
  if (policy.quorum === "none") return { holds: true, time: undefined, names };
  const timeOf = (name: string): bigint | undefined => {
    const group = policy.groups.get(name);
    if (group === undefined) return times.get(name);
    const all = group.members.map(timeOf).filter((time) => time !== undefined);
    all.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
    return all[group.least - 1];
  };
  const time = timeOf(policy.quorum);
  return { holds: time !== undefined, time, names };
}
