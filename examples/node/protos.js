// Where the wire contract is: the folder `proto` beside this file, or that of the checkout which this example is part of.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const places = [join(here, "proto"), join(here, "..", "..", "proto")];

export const PROTO = places.find((place) => existsSync(join(place, "dealer", "v1", "dealer.proto")));

if (!PROTO) {
  console.error(`no proto/dealer/v1 in ${here}: copy the folder \`proto\` of Cutcard to it`);
  process.exit(2);
}
