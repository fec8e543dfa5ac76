import type { FieldEncoding } from '../../domain/text/checks/check-input.ts';

/** Encodings whose characters are in tables. `cp932` is Windows' variant of Shift_JIS. */
export const TABLE_ENCODINGS = [
  'cp932',
  'euc-jp',
  'gbk',
  'gb18030',
  'big5',
  'euc-kr',
  'windows-874',
  'windows-1250',
  'windows-1251',
  'windows-1252',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'windows-1258',
] as const;

export type TableEncodingName = (typeof TABLE_ENCODINGS)[number];

export function isTableEncoding(name: string): name is TableEncodingName {
  return (TABLE_ENCODINGS as readonly string[]).includes(name);
}

/** An encoding with a table from code points to bytes. The decoder of the runtime has the table; it is read once from it. */
export interface TableEncoding extends FieldEncoding {
  /** Bytes of a text of which every character is in the table; others count as 0. */
  lengthOf(text: string): number;
  /**
   * Encodes a text. A character with several codes gets the shortest one, and of those the one that Windows writes.
   *
   * @param onUnknown receives each character that the encoding does not have; nothing is written for it
   */
  encode(text: string, onUnknown: (character: string) => void): Buffer;
}

/** The label of an encoding in the Encoding Standard, which calls CP932 shift_jis. */
export function labelOf(name: TableEncodingName): string {
  return name === 'cp932' ? 'shift_jis' : name;
}

const tables = new Map<TableEncodingName, TableEncoding>();

/** The table of an encoding, which is read in some milliseconds when it is first asked for a character. */
export function tableEncoding(name: TableEncodingName): TableEncoding {
  const known = tables.get(name) ?? createTable(name);
  tables.set(name, known);
  return known;
}

const BASIC_PLANE = 0x1_0000;
const REPLACEMENT = 0xff_fd;

function createTable(name: TableEncodingName): TableEncoding {
  let codes: ReadonlyMap<number, number> | null = null;
  let lengths: Uint8Array | null = null;
  const codeOf = (codePoint: number): number | undefined => {
    codes ??= readCodes(name);
    if (codePoint >= BASIC_PLANE && name === 'gb18030') return supplementaryCode(codePoint);
    return codes.get(codePoint);
  };
  const basicLengths = (): Uint8Array => {
    if (lengths !== null) return lengths;
    lengths = new Uint8Array(BASIC_PLANE);
    codes ??= readCodes(name);
    for (const [codePoint, code] of codes) if (codePoint < BASIC_PLANE) lengths[codePoint] = widthOf(code);
    return lengths;
  };
  return {
    name: name.toUpperCase(),
    bytesOf: (codePoint) => {
      const code = codeOf(codePoint);
      return code === undefined ? null : widthOf(code);
    },
    lengthOf: (text) => {
      const known = basicLengths();
      let length = 0;
      for (let at = 0; at < text.length; at += 1) {
        const unit = text.charCodeAt(at);
        if (unit < 0x80) length += 1;
        else if (unit < 0xd800 || unit > 0xdbff) length += known[unit] ?? 0;
        else {
          const code = codeOf(text.codePointAt(at) ?? 0);
          if (code !== undefined) length += widthOf(code);
        }
      }
      return length;
    },
    encode: (text, onUnknown) => {
      const bytes = Buffer.allocUnsafe(4 * text.length);
      let end = 0;
      for (const character of text) {
        const code = codeOf(character.codePointAt(0) ?? 0);
        if (code === undefined) onUnknown(character);
        else end = bytes.writeUIntBE(code, end, widthOf(code));
      }
      return bytes.subarray(0, end);
    },
  };
}

/** Bytes of a code. Those of several bytes begin with a byte above 0x7F. */
function widthOf(code: number): number {
  if (code < 0x100) return 1;
  if (code < 0x1_0000) return 2;
  return code < 0x100_0000 ? 3 : 4;
}

/** Adds the codes of one width: those that decode to one code point that has no code yet. */
function addCodes(found: Map<number, number>, decoder: TextDecoder, sequences: Iterable<number[]>): void {
  const bytes: number[] = [];
  const codes: number[] = [];
  for (const sequence of sequences) {
    bytes.push(...sequence, 0x0a);
    codes.push(sequence.reduce((code, byte) => code * 256 + byte, 0));
  }
  for (const [index, line] of decoder.decode(Uint8Array.from(bytes)).split('\n').entries()) {
    const codePoint = line.codePointAt(0) ?? REPLACEMENT;
    const code = codes[index];
    const isOne = String.fromCodePoint(codePoint) === line;
    if (code === undefined || !isOne || codePoint === REPLACEMENT || found.has(codePoint)) continue;
    found.set(codePoint, code);
  }
}

function readCodes(name: TableEncodingName): ReadonlyMap<number, number> {
  const decoder = new TextDecoder(labelOf(name));
  const found = new Map<number, number>();
  // The decoder of Shift_JIS permutes three control characters; see `decode-text.ts`.
  for (let code = 0; code < 0x80; code += 1) found.set(code, code);
  // 0x80 is the euro in some files of GBK; most have its code of two bytes.
  addCodes(found, decoder, sequencesOf([name.startsWith('gb') ? 0x81 : 0x80, 0xff]));
  if (name.startsWith('windows-')) return found;
  for (const leads of LEADS[name] ?? [[0x81, 0xfe]])
    addCodes(found, decoder, sequencesOf(leads, [0x40, 0xfe]));
  // JIS X 0212.
  if (name === 'euc-jp') addCodes(found, decoder, sequencesOf([0x8f, 0x8f], [0xa1, 0xfe], [0xa1, 0xfe]));
  if (name === 'gb18030') {
    addCodes(found, decoder, sequencesOf([0x81, 0x84], [0x30, 0x39], [0x81, 0xfe], [0x30, 0x39]));
  }
  return found;
}

/**
 * The first bytes of two, in the order in which Windows prefers them. In CP932, 0xED and 0xEE are the copy that NEC made of
 * IBM's extensions: Windows reads it, and writes the original. In EUC-JP, 0x8F begins three bytes. Big5 of Hong Kong
 * repeats characters of Big5 in front of it.
 */
const LEADS: Readonly<Partial<Record<TableEncodingName, readonly (readonly [number, number])[]>>> = {
  cp932: [
    [0x81, 0xec],
    [0xef, 0xfc],
    [0xed, 0xee],
  ],
  'euc-jp': [
    [0x8e, 0x8e],
    [0xa1, 0xfe],
  ],
  big5: [
    [0xa1, 0xfe],
    [0x81, 0xa0],
  ],
};

function* sequencesOf(
  [first, last]: readonly [number, number],
  ...rest: readonly (readonly [number, number])[]
): Generator<number[]> {
  const [next, ...others] = rest;
  for (let byte = first; byte <= last; byte += 1) {
    if (next === undefined) yield [byte];
    else for (const sequence of sequencesOf(next, ...others)) yield [byte, ...sequence];
  }
}

/** The code of GB 18030 for a code point beyond the basic plane: they are numbered in their order from 0x90308130. */
function supplementaryCode(codePoint: number): number {
  const number = codePoint - BASIC_PLANE;
  const bytes = [
    0x90 + Math.floor(number / 12_600),
    0x30 + (Math.floor(number / 1260) % 10),
    0x81 + (Math.floor(number / 10) % 126),
    0x30 + (number % 10),
  ];
  return bytes.reduce((code, byte) => code * 256 + byte, 0);
}
