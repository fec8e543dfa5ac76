/** Lines for each call of the demo: the program itself plays the translators, and says so in one line. */
const CALLS = /"msg":"(?:control call|action accepted)"/;
/** Jobs that follow each change of a text or a term. */
const FOLLOWING_JOBS = /"kind":"(?:propagate|requalify)"/;
const IS_INFO = /"level":(?:30|"info")/;

/**
 * Whether a line of a log only says that the demo works as it should, so that `make run` leaves it out while it plays the demo.
 *
 * @param line one JSON line of the log
 */
export function isDemoNoise(line: string): boolean {
  return IS_INFO.test(line) && (CALLS.test(line) || FOLLOWING_JOBS.test(line));
}
