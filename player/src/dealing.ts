/** Replays a hand's events by the rules of dealing (PROTOCOL.md section 7). */

import { DECKS } from "./cards.js";
import { CheckError } from "./errors.js";
import { STREETS, type Event, type Face, type Opening, type Row } from "./entries.js";

/** A dealt card: whose it is, and how it lies. */
export interface Place {
  readonly position: number;
  readonly seat: number;
  readonly face: Face;
  /** Street, or `draw`. */
  readonly street: string;
  readonly shown: boolean;
}

export interface Replay {
  readonly places: ReadonlyMap<number, Place>;
  readonly live: readonly number[];
  /** How many streets were dealt. */
  readonly streets: number;
}

const ROWS: Record<string, readonly Face[]> = {
  third: ["down", "down", "up"], fourth: ["up"], fifth: ["up"], sixth: ["up"], seventh: ["down"],
};

/** Returns the rows that a street must have, in order. */
function streetRows(street: string, live: readonly number[], next: number, cards: number): Row[] {
  if (street === "seventh" && cards - next < live.length) return [[next, 0, "up"]];
  return ROWS[street]!.flatMap((face) => live.map((seat) => [seat, face] as const)).map(
    ([seat, face], i) => [next + i, seat, face] as const,
  );
}

/** Replays the events of a hand; throws CheckError (`dealing`) at the first that breaks a rule. */
export function replay(opened: Opening, events: readonly Event[]): Replay {
  const cards = DECKS[opened.deck]!.length;
  const stud = opened.game !== "free-draw";
  const live = [...opened.seats];
  const places = new Map<number, Place>();
  let next = 0;
  let streets = 0;
  events.forEach((event, index) => {
    const refuse = (why: string): never => {
      throw new CheckError("dealing", `event ${index + 1}: ${why}`);
    };
    const put = (rows: readonly Row[], street: string): void => {
      if (rows.length === 0) refuse("it deals no card");
      for (const [position, seat, face] of rows) {
        if (position !== next) refuse(`position ${position} where ${next} is the top`);
        if (position >= cards) refuse("more cards than the deck has");
        places.set(position, { position, seat, face, street, shown: false });
        next++;
      }
    };
    if (event.kind === "deal") {
      if (!stud) refuse("free-draw deals no streets");
      if (streets >= STREETS.length || event.street !== STREETS[streets]) refuse(`${event.street} street out of turn`);
      if (live.length < 2) refuse("a street for one seat");
      const expected = streetRows(event.street, live, next, cards);
      if (JSON.stringify(expected) !== JSON.stringify(event.rows)) refuse(`the cards of ${event.street} street are not dealt as the rules say`);
      put(event.rows, event.street);
      streets++;
    } else if (event.kind === "draw") {
      if (stud) refuse("stud has no draws");
      for (const [, seat, face] of event.rows) {
        if (seat === 0 ? face !== "up" : !live.includes(seat)) refuse(seat === 0 ? "a card to the board lies down" : `seat ${seat} is not in`);
      }
      put(event.rows, "draw");
    } else if (event.kind === "fold") {
      const at = live.indexOf(event.seat);
      if (at < 0) refuse(`seat ${event.seat} is not in`);
      if (live.length === 1) refuse("the last seat in cannot fold");
      if (stud && streets === 0) refuse("a fold before third street");
      live.splice(at, 1);
    } else {
      if (event.positions.length === 0) refuse("it shows no card");
      let last = -1;
      for (const position of event.positions) {
        if (position <= last) refuse("shown positions are not ascending");
        last = position;
        const place = places.get(position);
        if (place === undefined) return refuse(`position ${position} was not dealt`);
        if (place.face !== "down" || place.shown) refuse(`position ${position} is up already`);
        if (!live.includes(place.seat)) refuse(`position ${position} is a folded seat's`);
        places.set(position, { ...place, shown: true });
      }
    }
  });
  return { places, live, streets };
}

/** Says why a hand may not be called completed, by its events whether or not they obey the rules; undefined if it may. */
export function notComplete(opened: Opening, events: readonly Event[]): string | undefined {
  const folded = new Set(events.flatMap((event) => (event.kind === "fold" ? [event.seat] : [])));
  const live = opened.seats.filter((seat) => !folded.has(seat)).length;
  const last = events.some((event) => event.kind === "deal" && event.street === STREETS.at(-1));
  if (opened.game === "free-draw" || live <= 1 || last) return undefined;
  return "called completed with two seats or more in and seventh street not dealt";
}
