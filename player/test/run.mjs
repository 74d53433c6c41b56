// Runs the tests' work, bundled, in Node or in headless Chromium: `run.mjs node|chromium vectors FOLDER` or
// `run.mjs node|chromium judge|hurry JOBS.json`; the result is JSON on standard output.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [where, what, from] = process.argv.slice(2);

const entry = `
  import { runVectors } from ${JSON.stringify(join(here, "vectors.ts"))};
  import { hurry, judgeAll } from ${JSON.stringify(join(here, "judging.ts"))};
  globalThis.cutcardTests = { vectors: runVectors, judge: judgeAll, hurry };
`;

const given = what !== "vectors" ? JSON.parse(readFileSync(from, "utf8")) : Object.fromEntries(
  from.split(",").flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => [name, JSON.parse(readFileSync(join(folder, name), "utf8"))])),
);

async function inChromium(folder) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    writeFileSync(join(folder, "index.html"), "<!doctype html><title>tests</title><script src=bundle.js></script>");
    await page.goto(pathToFileURL(join(folder, "index.html")).href);
    return await page.evaluate(([name, data]) => globalThis.cutcardTests[name](data), [what, given]);
  } finally {
    await browser.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), "cutcard-player-"));
try {
  const outfile = join(folder, "bundle.js");
  await build({ stdin: { contents: entry, resolveDir: here }, bundle: true, format: "iife", target: "es2022", outfile, logLevel: "warning" });
  if (where === "node") await import(pathToFileURL(outfile).href);
  const result = where === "node" ? await globalThis.cutcardTests[what](given) : await inChromium(folder);
  process.stdout.write(JSON.stringify(result));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
