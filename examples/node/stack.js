// Chooses the deck of a table's next hand at the test double: node stack.js HOST:PORT TABLE "As Kd 7c ..."

import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

import { PROTO } from "./protos.js";

const [address, table, deck] = process.argv.slice(2);

const definition = loader.loadSync("dealer/v1/double.proto", { includeDirs: [PROTO], keepCase: true, longs: String });
const { TestDoubleService } = grpc.loadPackageDefinition(definition).dealer.v1;
const client = new TestDoubleService(address, grpc.credentials.createInsecure());

client.StackDeck({ table, deck }, (error, answer) => {
  if (error) console.error(error.details);
  else console.log(`hand ${answer.number} of ${table} is stacked`);
  process.exitCode = error ? 1 : 0;
  client.close();
});
