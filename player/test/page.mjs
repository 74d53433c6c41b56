// Opens the page from disk in headless Chromium, as a player does: `page.mjs PLAN.json`, with `pages` (name to file) and
// `steps`: {page, by: choose|paste|link|key, value}. Prints, for each, what the page says; and what it asked the network.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const requests = [];
const errors = [];

async function open(file, hash = "", viewport = { width: 390, height: 844 }, colorScheme = "light") {
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  cdp.on("Network.requestWillBeSent", ({ request }) => requests.push(request.url));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => errors.push(message.text()));
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector("#key");
  return { page, cdp, context };
}

const told = (page) => page.evaluate(() => ({
  verdict: document.querySelector(".verdict strong")?.textContent ?? "",
  failed: [...document.querySelectorAll(".checks .fail")].map((mark) => mark.nextElementSibling.textContent),
  key: document.querySelector("#key-state").textContent,
  words: document.body.innerText,
  width: document.documentElement.scrollWidth,
}));

const results = [];
for (const { file, by, value, key, viewport, scheme } of plan) {
  const { page, cdp, context } = await open(file, by === "link" ? value : "", viewport, scheme);
  if (key !== undefined) await page.fill("#key", key);
  if (by === "choose") {
    await page.setInputFiles("#file", value);
    await page.waitForSelector(".verdict");
    await page.click("button"); // asked again, it is the chosen file that is meant
  }
  if (by === "paste") {
    await page.fill("#text", value);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector(".verdict");
  const result = await told(page);
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  await page.waitForFunction(() => [...document.querySelectorAll("details")].every((each) => each.childElementCount > 1));
  result.arithmetic = await page.locator("dd").count();
  const tree = (await cdp.send("Accessibility.getFullAXTree")).nodes;
  const controls = tree.filter((node) => ["button", "textbox", "link", "img", "DisclosureTriangle"].includes(node.role?.value) && !node.ignored);
  result.unnamed = controls.filter((node) => !node.name?.value).map((node) => node.role.value);
  result.controls = controls.length;
  await cdp.send("Runtime.evaluate", { expression: axe }); // past the page's own policy
  const found = await page.evaluate(() => globalThis.axe.run());
  result.axe = found.violations.map((each) => `${each.impact} ${each.id}: ${each.nodes[0].html}`);
  results.push(result);
  await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify({ results, requests, errors }));
