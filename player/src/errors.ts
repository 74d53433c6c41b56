/** What can be wrong with what is read. */

/** Bytes or text that are not in their form. */
export class FormatError extends Error {
  override name = "FormatError";
}

/** A check that failed, by its name in PROTOCOL.md section 10. */
export class CheckError extends Error {
  override name = "CheckError";
  constructor(readonly check: string, message: string) {
    super(message);
  }
}
