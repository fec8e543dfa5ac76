import { unitFormatOfName, type UnitFormatName } from '../../../exchange/units/unit-formats.ts';

/** Bytes that are looked at in a file whose name does not say its format. */
const LOOKED_AT = 256;

/** The format of a file of units: by the ending of its name, else by its first character. */
export async function formatOfFile(
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<UnitFormatName> {
  const known = unitFormatOfName(name);
  if (known !== null) return known;
  let start = '';
  for await (const bytes of content) {
    // The byte order mark, the zeros of UTF-16 and blanks say nothing.
    start = Buffer.from(bytes.subarray(0, LOOKED_AT)).toString('latin1');
    break;
  }
  // oxlint-disable-next-line no-control-regex
  const [first] = start.replace(/^[\u0000\s\u00ef\u00bb\u00bf\u00fe\u00ff]+/, '');
  // Both versions of XLIFF have the same reader.
  if (first === '<') return 'xliff-1.2';
  return first === '{' ? 'jsonl' : 'csv';
}
