import { ExchangeFileError } from '../contract/formats/exchange-file-error.ts';
import { textEncodingOf, type FileEncoding } from '../contract/formats/text-encoding.ts';

export interface StreamDecoder {
  /** @throws ExchangeFileError `encoding_invalid` with the line */
  write(bytes: Uint8Array): string;
  /** The rest. @throws ExchangeFileError `encoding_invalid` when a character is cut off */
  end(): string;
  /** The encoding; certain after the first two bytes. */
  encoding(): FileEncoding;
}

/** Small enough to name the line of a refusal nearly exactly, large enough to decode quickly. */
const PIECE_BYTES = 1024;

/**
 * Makes a decoder of UTF-8, or of UTF-16 where the file begins with its byte order mark. The mark is left out. Bytes that
 * are not valid are refused, never replaced.
 */
export function createStreamDecoder(): StreamDecoder {
  let encoding: FileEncoding = 'utf-8';
  let decoder: TextDecoder | null = null;
  let line = 1;
  /** The first byte of the file while it is the only one. */
  let first: Uint8Array | null = null;

  const decode = (bytes: Uint8Array, more: boolean): string => {
    decoder ??= new TextDecoder(encoding, { fatal: true });
    try {
      const text = decoder.decode(bytes, { stream: more });
      line += countLineEnds(text);
      return text;
    } catch {
      line += linesBeforeFlaw(bytes, encoding);
      const message = `the bytes are not valid ${encoding.toUpperCase()}; save the file as UTF-8`;
      throw new ExchangeFileError('encoding_invalid', message, line);
    }
  };

  const begin = (bytes: Uint8Array): Uint8Array | null => {
    const start = first === null ? bytes : Buffer.concat([first, bytes]);
    if (start.length < 2) {
      first = Uint8Array.from(start);
      return null;
    }
    encoding = textEncodingOf(start);
    return start;
  };

  return {
    write(bytes) {
      const rest = decoder === null ? begin(bytes) : bytes;
      if (rest === null) return '';
      const parts: string[] = [];
      for (let at = 0; at < rest.length; at += PIECE_BYTES) {
        parts.push(decode(rest.subarray(at, at + PIECE_BYTES), true));
      }
      return parts.join('');
    },
    end: () => decode(decoder === null && first !== null ? first : new Uint8Array(0), false),
    encoding: () => encoding,
  };
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function linesBeforeFlaw(bytes: Uint8Array, encoding: FileEncoding): number {
  const decoder = new TextDecoder(encoding, { fatal: true });
  // The piece may begin within a character.
  let at =
    encoding === 'utf-8'
      ? Math.max(
          0,
          bytes.findIndex((byte) => byte < 0x80 || byte >= 0xc0),
        )
      : 0;
  let count = 0;
  try {
    for (; at < bytes.length; at += 1) {
      count += countLineEnds(decoder.decode(bytes.subarray(at, at + 1), { stream: true }));
    }
  } catch {
    // Reached the flaw.
  }
  return count;
}
