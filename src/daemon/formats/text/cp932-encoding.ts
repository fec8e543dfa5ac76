import type { FieldEncoding } from '../../../domain/text/checks/check-input.ts';

const FIRST_LEAD = 0x81;
const LAST_LEAD = 0xfc;
const FIRST_TRAIL = 0x40;
const LAST_TRAIL = 0xfc;
const REPLACEMENT = 0xff_fd;

let doubles: ReadonlySet<number> | null = null;

/** CP932, Windows' variant of Shift_JIS, as files of it are decoded. */
export const CP932: FieldEncoding = {
  name: 'CP932',
  bytesOf(codePoint) {
    if (codePoint < 0x80 || (codePoint >= 0xff_61 && codePoint <= 0xff_9f)) return 1;
    doubles ??= readDoubles();
    return doubles.has(codePoint) ? 2 : null;
  },
};

/** The code points of two bytes. The decoder has the table; it is read once, in some milliseconds. */
function readDoubles(): ReadonlySet<number> {
  const decoder = new TextDecoder('shift_jis');
  const found = new Set<number>();
  for (let lead = FIRST_LEAD; lead <= LAST_LEAD; lead += 1) {
    const pairs: number[] = [];
    for (let trail = FIRST_TRAIL; trail <= LAST_TRAIL; trail += 1) pairs.push(lead, trail, 0x0a);
    for (const line of decoder.decode(Uint8Array.from(pairs)).split('\n')) {
      const codePoint = line.codePointAt(0) ?? REPLACEMENT;
      const isOne = String.fromCodePoint(codePoint) === line;
      if (isOne && codePoint !== REPLACEMENT) found.add(codePoint);
    }
  }
  return found;
}
