/** Judges many hand files, as a program that takes them from a queue would; for tests that compare. */

import * as player from "../src/index.js";

export interface Job {
  readonly file: string;
  readonly key?: string | null;
}

/** Returns, for each file, the verdict and the names of the steps that failed. */
export async function judgeAll(jobs: readonly Job[]): Promise<{ verdict: string; failed: string[]; steps: string[] }[]> {
  const judged = [];
  for (const { file, key } of jobs) {
    try {
      const pinned = key ? player.parseKey(key) : undefined;
      const { verdict, steps } = await player.checkHandFile(player.parseHandFile(file), { key: pinned });
      judged.push({ verdict, failed: steps.filter((s) => s.state === "fail").map((s) => s.name), steps: steps.map((s) => `${s.name} ${s.state} ${s.detail}`) });
    } catch (error) {
      if (!(error instanceof player.FormatError)) throw error;
      judged.push({ verdict: "unreadable", failed: [], steps: [error.message] });
    }
  }
  return judged;
}

/** Returns the seconds that judging took, and the verdicts: what is around it, reading files and starting, is no part. */
export async function hurry(jobs: readonly Job[]): Promise<{ seconds: number; verdicts: string[] }> {
  const start = performance.now();
  const judged = await judgeAll(jobs);
  return { seconds: (performance.now() - start) / 1000, verdicts: [...new Set(judged.map((each) => each.verdict))] };
}
