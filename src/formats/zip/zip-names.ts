import { crc32 } from 'node:zlib';

/** Code page 437 from 0x80; below it is ASCII. */
const UPPER_HALF =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00A0';

/** Identifier of the extra field "Info-ZIP Unicode Path". */
const UNICODE_PATH = 0x70_75;

/** Systems that made entries: the upper byte of "version made by" (APPNOTE 4.4.2). */
const UNIX = 3;

interface NameContext {
  readonly isUtf8: boolean;
  readonly system: number;
  readonly extra: (identifier: number) => Buffer | null;
}

/**
 * The name of an entry (APPNOTE 4.4.17 and appendix D): UTF-8 where the flag says so or where an extra field has the
 * name in UTF-8, else code page 437. Programs on Unix write the bytes of the file system without a flag; they are UTF-8
 * if they are valid, as unzip reads them.
 *
 * @returns `null` when the bytes are not valid UTF-8 although they should be
 */
export function decodeName(bytes: Buffer, { isUtf8, system, extra }: NameContext): string | null {
  if (isUtf8) return decodeUtf8(bytes);
  const unicode = extra(UNICODE_PATH);
  // Version 1, then the checksum of the name that it belongs to: after a rename by a program without it, it is stale.
  if (
    unicode !== null &&
    unicode.length > 5 &&
    unicode[0] === 1 &&
    unicode.readUInt32LE(1) === crc32(bytes)
  ) {
    return decodeUtf8(unicode.subarray(5));
  }
  return (system === UNIX ? decodeUtf8(bytes) : null) ?? decodeCp437(bytes);
}

function decodeCp437(bytes: Buffer): string {
  return bytes.toString('latin1').replaceAll(/[\u0080-\u00FF]/g, (character) => {
    return UPPER_HALF.charAt(character.charCodeAt(0) - 0x80);
  });
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
