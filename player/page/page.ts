/** The page on which a player checks a hand: takes a file, a key, and shows what the checks say. */

import { checkHandFile, instant, type Checked, type Step } from "../src/check.js";
import { STREETS } from "../src/entries.js";
import { FormatError } from "../src/errors.js";
import { fromFragment, MOST_BYTES, parseHandFile, type HandFile } from "../src/handfile.js";
import { parseKey, type VerifierKey } from "../src/keys.js";
import { parsePolicy, type Policy } from "../src/policy.js";
import { TEXTS as T } from "./texts.js";

type Child = Node | string;

function make(name: string, attributes: Record<string, string>, ...children: Child[]): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const section = (title: string, name: string, ...children: Child[]): HTMLElement =>
  make("section", { class: name, "aria-label": title }, make("h2", {}, title), ...children);

function said(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="cutcard-${name}"]`)?.content ?? "";
}

const SUITS: Record<string, string> = { c: "♣", d: "♦", h: "♥", s: "♠" };

function words(card: string): [string, string] {
  return [T.ranks[card[0] as keyof typeof T.ranks], T.suits[card[1] as keyof typeof T.suits]];
}

function cardOf(card: string | undefined, face: "up" | "down" | "shown", own: boolean, below = ""): HTMLElement {
  const label = card === undefined ? T.hidden : T.card(...words(card), T.faces[face], own);
  const look = ["card", face === "up" ? "" : "down", own ? "own" : "", card !== undefined && "dh".includes(card[1]!) ? "red" : ""];
  const text = card === undefined ? "?" : `${card[0] === "T" ? "10" : card[0]}${SUITS[card[1]!]}`;
  const made = make("span", { class: look.filter(Boolean).join(" "), role: "img", "aria-label": label }, text);
  if (below !== "") made.append(make("small", {}, below));
  return made;
}

function tableOf(checked: Checked): HTMLElement[] {
  const { commit, close, replay, known, own } = checked;
  if (commit === undefined || replay === undefined || replay.places.size === 0) return [];
  const places = [...replay.places.values()];
  const streets = commit.game === "free-draw" ? ["draw"] : STREETS.filter((street) => places.some((place) => place.street === street));
  const head = make("tr", {}, make("th", { scope: "col" }, T.seat), ...streets.map((street) =>
    make("th", { scope: "col" }, T.streets[street as keyof typeof T.streets])));
  const row = (seat: number): HTMLElement => {
    const mine = places.filter((place) => place.seat === seat);
    const isOwn = mine.some((place) => own.has(place.position));
    const tags = [isOwn ? T.seatOwn : "", commit.seatKeys.has(seat) ? T.seatSealed : "", seat !== 0 && !replay.live.includes(seat) ? T.folded : ""];
    const name = make("th", { scope: "row" }, seat === 0 ? T.board : String(seat));
    for (const tag of tags.filter(Boolean)) name.append(make("span", { class: "tag" }, tag));
    return make("tr", isOwn ? { class: "own" } : {}, name, ...streets.map((street) =>
      make("td", {}, ...mine.filter((place) => place.street === street).map((place) =>
        cardOf(known.get(place.position), place.shown ? "shown" : place.face, own.has(place.position))))));
  };
  const seats = places.some((place) => place.seat === 0) ? [...commit.seats, 0] : commit.seats;
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...seats.map(row)));
  const events = (close?.events ?? []).map((event) => {
    if (event.kind === "deal") return T.dealt(T.streets[event.street as keyof typeof T.streets]);
    if (event.kind === "draw") return T.drawn(event.rows.length);
    if (event.kind === "fold") return T.folds(event.seat);
    return T.shows(event.positions.map((position) => `${known.get(position) ?? "?"}`).join(" "));
  });
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": T.tableTitle }, table);
  return [
    section(T.tableTitle, "table", scroll, make("p", { class: "soft" }, T.legend)),
    section(T.happened, "happened", make("ol", {}, ...events.map((event) => make("li", {}, event))), make("p", {}, T.ended[close?.outcome ?? "open"])),
  ];
}

function deckOf(checked: Checked): HTMLElement[] {
  const { deck, known, own, replay } = checked;
  if (known.size === 0) return [];
  const positions = [...known.keys()].sort((a, b) => a - b);
  const why = (position: number): string => {
    const place = replay?.places.get(position);
    if (place === undefined) return "";
    if (place.seat === 0) return T.why.board;
    return place.face === "up" ? T.why.up : place.shown ? T.why.shown : own.has(position) ? T.why.own : "";
  };
  const items = positions.map((position) => make("li", {}, cardOf(known.get(position), "up", own.has(position), deck === undefined ? `${position}: ${why(position)}` : String(position))));
  return [section(T.deckTitle, "", make("p", {}, deck === undefined ? T.deckSealed : T.deckWhole), make("ol", { class: "deck" }, ...items))];
}

function checkOf(step: Step): HTMLElement {
  const line: Child[] = [make("span", { class: `mark ${step.state}` }, T.states[step.state]), " ", make("b", {}, step.name), ` ${step.detail}`];
  const { work } = step;
  if (work === undefined) return make("li", { class: "bare" }, ...line);
  const details = make("details", {}, make("summary", {}, ...line)) as HTMLDetailsElement;
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    details.append(make("dl", {}, ...work().flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
  });
  return make("li", {}, details);
}

function timesOf(checked: Checked, policy: Policy | undefined): HTMLElement {
  const { commit, close, witnessedSince } = checked;
  const lines = [
    commit === undefined ? "" : T.opened(commit.time),
    close === undefined ? "" : T.closed(close.time),
    policy === undefined || policy.quorum === "none" ? T.noWitnesses : witnessedSince === undefined ? T.fewWitnesses : T.witnesses(instant(witnessedSince)),
  ];
  return section(T.timesTitle, "", ...lines.filter(Boolean).map((line) => make("p", {}, line)));
}

function verdictOf(verdict: keyof typeof T.verdicts, ...more: string[]): HTMLElement {
  const [word, sentence] = T.verdicts[verdict];
  const lines = [sentence, ...more].filter(Boolean).map((line) => make("p", {}, line));
  return make("div", { class: `panel verdict ${verdict}` }, make("strong", {}, word), ...lines);
}

function resultOf(checked: Checked, policy: Policy | undefined): HTMLElement[] {
  const { commit, steps } = checked;
  const about = commit === undefined ? "" : T.about(commit.table, commit.number, T.games[commit.game as keyof typeof T.games], T.reveals[commit.reveal]);
  const print = make("button", { type: "button", class: "plain" }, T.print);
  print.addEventListener("click", () => window.print());
  return [
    verdictOf(checked.verdict, about, ...steps.filter((step) => step.state === "fail" || step.state === "missing").map((step) => `${step.name}: ${step.detail}`)),
    ...tableOf(checked),
    section(T.checksTitle, "", make("p", { class: "soft" }, T.checksHelp), make("ul", { class: "checks" }, ...steps.map(checkOf))),
    ...deckOf(checked),
    timesOf(checked, policy),
    section(T.provesTitle, "", make("h3", {}, T.provesIfValid), make("ul", {}, ...T.proves.map((each) => make("li", {}, each))),
      make("h3", {}, T.doesNot), make("ul", {}, ...T.provesNot.map((each) => make("li", {}, each)))),
    print,
  ];
}

/** What the page holds: the pinned key and policy, and the file, once there is one. */
class Page {
  key: VerifierKey | undefined;
  policy: Policy | undefined;
  file: HandFile | undefined;
  turn = 0;
  readonly results = make("div", { id: "result" });
  readonly alert = make("div", { role: "status" });
  readonly keyState = make("p", { id: "key-state" });
  readonly keyHint = make("p", { class: "soft" });
  readonly keyField = make("input", { type: "text", id: "key", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-describedby": "key-state key-help" }) as HTMLInputElement;
  readonly text = make("textarea", { id: "text", rows: "3", spellcheck: "false", autocomplete: "off" }) as HTMLTextAreaElement;

  draw(): void {
    document.title = T.title;
    const choose = make("input", { type: "file", id: "file", accept: ".json,application/json" }) as HTMLInputElement;
    choose.addEventListener("change", () => void this.takeFile(choose.files?.[0]));
    const check = make("button", { type: "button" }, T.check);
    check.addEventListener("click", () => {
      const pasted = this.text.value.trim();
      const chosen = choose.files?.[0];
      if (pasted !== "") void this.take(pasted);
      else if (chosen !== undefined) void this.takeFile(chosen);
      else this.refuse(T.nothing);
    });
    this.keyField.addEventListener("input", () => this.takeKey(this.keyField.value, false));
    document.body.append(make("main", {},
      make("h1", {}, T.title), make("p", {}, T.intro),
      make("section", { class: "panel ask", "aria-label": T.keyTitle }, make("h2", {}, T.keyTitle), make("label", { for: "key" }, T.keyLabel), this.keyField,
        this.keyState, this.keyHint, make("p", { class: "soft", id: "key-help" }, T.keyHelp)),
      make("section", { class: "panel ask", "aria-label": T.fileTitle }, make("h2", {}, T.fileTitle), make("label", { for: "file" }, T.choose), choose,
        make("p", {}, T.drop), make("label", { for: "text" }, T.paste), this.text, check),
      this.alert, this.results));
    document.addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("over");
    });
    document.addEventListener("dragleave", () => document.body.classList.remove("over"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("over");
      void this.takeFile(event.dataTransfer?.files[0]);
    });
    window.addEventListener("hashchange", () => void this.takeLink());
  }

  start(): void {
    this.draw();
    const policy = said("policy");
    const notes: string[] = [];
    if (policy !== "") {
      try {
        this.policy = parsePolicy(policy);
        notes.push(T.policyBuiltIn(this.policy.witnesses.size));
      } catch (error) {
        notes.push(T.policyWrong((error as Error).message));
      }
    }
    const key = said("key") || (this.policy?.logs.length === 1 ? this.policy.logs[0]!.text : "");
    this.keyField.value = key;
    this.takeKey(key, key !== "");
    this.keyState.after(...notes.map((note) => make("p", {}, note)));
    void this.takeLink();
  }

  takeKey(text: string, builtIn: boolean): void {
    this.key = undefined;
    let state: string = T.keyNone;
    if (text.trim() !== "") {
      try {
        this.key = parseKey(text.trim());
        state = (builtIn ? T.keyBuiltIn : T.keyTyped)(this.key.name, this.key.id);
      } catch (error) {
        state = T.keyWrong((error as Error).message);
      }
    }
    this.keyState.textContent = state;
    void this.judge();
  }

  async takeFile(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    if (file.size > MOST_BYTES) return this.refuse(T.tooLong);
    await this.take(new Uint8Array(await file.arrayBuffer()));
  }

  async takeLink(): Promise<void> {
    if (location.hash.length < 2) return;
    try {
      await this.take(await fromFragment(location.hash));
    } catch (error) {
      this.refuse((error as Error).message);
    }
  }

  async take(source: string | Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      const link = typeof source === "string" ? /#h=[A-Za-z0-9_-]+$/.exec(source) : null;
      this.file = parseHandFile(link === null ? source : await fromFragment(link[0]));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      return this.refuse(error.message);
    }
    await this.judge();
    this.alert.scrollIntoView();
  }

  refuse(why: string): void {
    this.turn++;
    this.file = undefined;
    this.keyHint.textContent = "";
    this.alert.replaceChildren(verdictOf("unreadable", T.unreadable(why)));
    this.results.replaceChildren();
  }

  async judge(): Promise<void> {
    const { file } = this;
    if (file === undefined) return;
    this.keyHint.textContent = this.key === undefined ? hint(file) : "";
    const turn = ++this.turn;
    try {
      const [first, ...rest] = resultOf(await checkHandFile(file, { key: this.key, policy: this.policy }), this.policy);
      if (turn !== this.turn) return; // something newer was asked for meanwhile
      this.alert.replaceChildren(first!);
      this.results.replaceChildren(...rest);
    } catch (error) {
      if (error instanceof FormatError) return this.refuse(error.message);
      if (error instanceof DOMException) {
        this.alert.replaceChildren(verdictOf("unreadable", T.tooOld));
        return;
      }
      throw error;
    }
  }
}

function hint(file: HandFile): string {
  try {
    const key = parseKey(file.key);
    return T.keyHint(key.id, key.name);
  } catch {
    return "";
  }
}

new Page().start();
