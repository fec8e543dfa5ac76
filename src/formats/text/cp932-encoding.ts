import type { FieldEncoding } from '../../domain/text/checks/check-input.ts';

const FIRST_LEAD = 0x81;
const LAST_LEAD = 0xfc;
const FIRST_TRAIL = 0x40;
const LAST_TRAIL = 0xfc;
const REPLACEMENT = 0xff_fd;
const FIRST_HALFWIDTH = 0xff_61;
const LAST_HALFWIDTH = 0xff_9f;
const FIRST_HALFWIDTH_BYTE = 0xa1;

/** The first bytes of the copy that NEC made of IBM's extensions. Windows reads it, and writes the original. */
const NEC_COPY = { first: 0xed, last: 0xee };

let doubles: ReadonlyMap<number, number> | null = null;

/** CP932, Windows' variant of Shift_JIS, as files of it are decoded. */
export const CP932: FieldEncoding = {
  name: 'CP932',
  bytesOf(codePoint) {
    if (codePoint < 0x80 || (codePoint >= FIRST_HALFWIDTH && codePoint <= LAST_HALFWIDTH)) return 1;
    doubles ??= readDoubles();
    return doubles.has(codePoint) ? 2 : null;
  },
};

/**
 * Encodes a text in CP932. A character with several codes gets the one that Windows writes.
 *
 * @param onUnknown receives each character that the encoding does not have; nothing is written for it
 */
export function encodeCp932(text: string, onUnknown: (character: string) => void): Buffer {
  doubles ??= readDoubles();
  const bytes = Buffer.allocUnsafe(2 * text.length);
  let end = 0;
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    const double = doubles.get(codePoint);
    if (codePoint < 0x80) {
      end = bytes.writeUInt8(codePoint, end);
    } else if (codePoint >= FIRST_HALFWIDTH && codePoint <= LAST_HALFWIDTH) {
      end = bytes.writeUInt8(codePoint - FIRST_HALFWIDTH + FIRST_HALFWIDTH_BYTE, end);
    } else if (double === undefined) {
      onUnknown(character);
    } else {
      end = bytes.writeUInt16BE(double, end);
    }
  }
  return bytes.subarray(0, end);
}

/** The codes of the code points of two bytes. The decoder has the table; it is read once, in some milliseconds. */
function readDoubles(): ReadonlyMap<number, number> {
  const decoder = new TextDecoder('shift_jis');
  const found = new Map<number, number>();
  for (const lead of leads()) {
    const pairs: number[] = [];
    for (let trail = FIRST_TRAIL; trail <= LAST_TRAIL; trail += 1) pairs.push(lead, trail, 0x0a);
    for (const [index, line] of decoder.decode(Uint8Array.from(pairs)).split('\n').entries()) {
      const codePoint = line.codePointAt(0) ?? REPLACEMENT;
      const isOne = String.fromCodePoint(codePoint) === line;
      if (!isOne || codePoint === REPLACEMENT || found.has(codePoint)) continue;
      found.set(codePoint, lead * 256 + FIRST_TRAIL + index);
    }
  }
  return found;
}

/** The first bytes of two, in the order in which Windows prefers them. */
function leads(): readonly number[] {
  const all = Array.from({ length: LAST_LEAD - FIRST_LEAD + 1 }, (_, index) => FIRST_LEAD + index);
  const isCopy = (lead: number): boolean => lead >= NEC_COPY.first && lead <= NEC_COPY.last;
  return [...all.filter((lead) => !isCopy(lead)), ...all.filter(isCopy)];
}
