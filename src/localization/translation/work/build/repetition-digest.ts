import { createHash } from 'node:crypto';
import { normalText } from '../../../../domain/text/normal-text.ts';
import { repetitionKey, type RepeatableUnit } from '../../../../domain/translation/repetition.ts';

const SOURCE_BYTES = 8;
const KEY_BYTES = 12;

/**
 * The digest by which `task_unit` knows repetitions: equal for units that are translated once. Its first bytes are of the source
 * alone, so that one index has the repetitions together, and those of equal sources side by side.
 */
export function repetitionDigest(unit: RepeatableUnit): Uint8Array {
  const source = sha256(normalText(unit.sourceText)).subarray(0, SOURCE_BYTES);
  return Buffer.concat([source, sha256(repetitionKey(unit)).subarray(0, KEY_BYTES)]);
}

/** The last digest that a unit of the same source can have. */
export function lastRepetition(repetition: Uint8Array): Uint8Array {
  const last = Buffer.alloc(SOURCE_BYTES + KEY_BYTES, 0xff);
  last.set(repetition.subarray(0, SOURCE_BYTES));
  return last;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
