import { newPiece, joinPieces, type OutputPiece } from '../patch/output-pieces.ts';
import { bytesSource } from '../byte-source.ts';
import { PatchError } from '../patch/patch-error.ts';
import { tableEncoding } from './table-encoding.ts';
import {
  byteOffsets,
  decodedString,
  decodeText,
  type DecodedText,
  type NamedEncoding,
  type TextEncoding,
} from './decode-text.ts';

/** A range of a decoded text, in UTF-16 code units, and the characters that replace it. */
export interface TextSplice {
  readonly start: number;
  readonly end: number;
  readonly characters: string;
  readonly fieldPath: string;
}

/**
 * Replaces ranges of a text. The bytes between them are copied and not encoded again, because an encoding can have two
 * codes for one character.
 *
 * @param splicesOf finds the ranges, in the order of the text
 * @throws FormatError when the text cannot be decoded; PatchError `unencodable_character`
 */
export function spliceText<Value extends string | Uint8Array>(
  value: Value,
  named: NamedEncoding | undefined,
  splicesOf: (decoded: DecodedText) => readonly TextSplice[],
): Value extends string ? string : Buffer;
export function spliceText(
  value: string | Uint8Array,
  named: NamedEncoding | undefined,
  splicesOf: (decoded: DecodedText) => readonly TextSplice[],
): string | Buffer {
  if (typeof value === 'string') {
    const decoded = decodedString(value);
    const mark = decoded.byteOrderMark ? value.slice(0, 1) : '';
    return mark + spliceString(decoded.text, splicesOf(decoded));
  }
  const decoded = decodeText(value, named);
  const source = bytesSource(value);
  const byteOffsetOf = byteOffsets(decoded);
  const pieces: OutputPiece[] = [];
  let copied = 0;
  for (const { start, end, characters, fieldPath } of splicesOf(decoded)) {
    const from = byteOffsetOf(start);
    pieces.push({ source, offset: copied, length: from - copied });
    pieces.push(newPiece(encode(characters, decoded.encoding, fieldPath)));
    copied = byteOffsetOf(end);
  }
  pieces.push({ source, offset: copied, length: source.size - copied });
  return joinPieces(pieces);
}

function spliceString(text: string, splices: readonly TextSplice[]): string {
  let copied = 0;
  const parts: string[] = [];
  for (const { start, end, characters } of splices) {
    parts.push(text.slice(copied, start), characters);
    copied = end;
  }
  return `${parts.join('')}${text.slice(copied)}`;
}

/** @param text well-formed, and only encodings with tables lack characters */
function encode(text: string, encoding: TextEncoding, fieldPath: string): Buffer {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(text);
    case 'utf-16le':
      return Buffer.from(text, 'utf16le');
    case 'utf-16be':
      return Buffer.from(text, 'utf16le').swap16();
    default:
      return tableEncoding(encoding).encode(text, (character) => {
        const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
        throw new PatchError(
          'unencodable_character',
          fieldPath,
          `${tableEncoding(encoding).name} has no character U+${code} (${character})`,
        );
      });
  }
}
