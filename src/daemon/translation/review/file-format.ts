import type { UnitFormatName } from '../../../exchange/units/unit-formats.ts';

/** Formats by the ending of the name. Both versions of XLIFF have the same reader. */
const BY_EXTENSION: Readonly<Record<string, UnitFormatName>> = {
  xlf: 'xliff-2.1',
  xliff: 'xliff-2.1',
  csv: 'csv',
  jsonl: 'jsonl',
};
/** Bytes that are looked at in a file whose name does not say its format. */
const LOOKED_AT = 256;

/** The format of a file of units: by the ending of its name, else by its first character. */
export async function formatOfFile(
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<UnitFormatName> {
  const known = BY_EXTENSION[name.slice(name.lastIndexOf('.') + 1).toLowerCase()];
  if (known !== undefined) return known;
  let start = '';
  for await (const bytes of content) {
    // The byte order mark, the zeros of UTF-16 and blanks say nothing.
    start = Buffer.from(bytes.subarray(0, LOOKED_AT)).toString('latin1');
    break;
  }
  // oxlint-disable-next-line no-control-regex
  const [first] = start.replace(/^[\u0000\s\u00ef\u00bb\u00bf\u00fe\u00ff]+/, '');
  if (first === '<') return 'xliff-2.1';
  return first === '{' ? 'jsonl' : 'csv';
}
