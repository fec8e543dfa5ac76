import { ExchangeFileError } from '../contract/formats/exchange-file-error.ts';
import { textEncodingOf } from '../contract/formats/text-encoding.ts';

export interface StreamDecoder {
  /** @throws ExchangeFileError `encoding_invalid` with the line */
  write(bytes: Uint8Array): string;
  /** The rest. @throws ExchangeFileError `encoding_invalid` when a character is cut off */
  end(): string;
  /** The encoding, as the Encoding Standard names it; certain from the first text on. */
  encoding(): string;
}

/** Small enough to name the line of a refusal nearly exactly, large enough to decode quickly. */
const PIECE_BYTES = 1024;
const UTF8_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/** Most bytes at the beginning of a file in which it may declare its encoding. */
const DECLARATION_BYTES = 8 * 1024;
const NONE: EncodingSearch = () => null;

/**
 * Finds the name of the encoding in the beginning of a file, of which each byte is one character: `null` when the file declares
 * none, `undefined` when more of it must be seen.
 */
type EncodingSearch = (beginning: string) => string | null | undefined;

/**
 * Makes a decoder of UTF-8, of UTF-16 where the file begins with its byte order mark, and of the encoding that a file without a mark
 * declares. The mark is left out. Bytes that are not valid are refused, never replaced.
 */
export function createStreamDecoder(declaredIn: EncodingSearch = NONE): StreamDecoder {
  let decoder: TextDecoder | null = null;
  let line = 1;
  let beginning: Buffer = Buffer.alloc(0);

  const decode = (bytes: Uint8Array, more: boolean): string => {
    decoder ??= decoderOf('utf-8');
    try {
      const text = decoder.decode(bytes, { stream: more });
      line += countLineEnds(text);
      return text;
    } catch {
      const { encoding } = decoder;
      line += linesBeforeFlaw(bytes, encoding);
      const message = `the bytes are not valid ${encoding.toUpperCase()}; save the file as UTF-8`;
      throw new ExchangeFileError('encoding_invalid', message, line);
    }
  };

  const decodePieces = (bytes: Uint8Array): string => {
    const parts: string[] = [];
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      parts.push(decode(bytes.subarray(at, at + PIECE_BYTES), true));
    }
    return parts.join('');
  };

  const begin = (isWhole: boolean): string => {
    const found = encodingOf(beginning, declaredIn, isWhole);
    if (found === undefined) return '';
    decoder = decoderOf(found);
    return decodePieces(beginning);
  };

  return {
    write(bytes) {
      if (decoder !== null) return decodePieces(bytes);
      beginning = Buffer.concat([beginning, bytes]);
      return begin(false);
    },
    end() {
      const start = decoder === null ? begin(true) : '';
      return start + decode(new Uint8Array(0), false);
    },
    encoding: () => decoder?.encoding ?? 'utf-8',
  };
}

/**
 * The name of an encoding as the Encoding Standard has it.
 *
 * @returns `null` for one that it does not have
 */
export function encodingName(label: string): string | null {
  // Its characters are the same in both, and a wrong one is found.
  if (/^(?:us-)?ascii$/i.test(label)) return 'utf-8';
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

/** @returns `undefined` when more of the file must be seen */
function encodingOf(start: Buffer, declaredIn: EncodingSearch, isWhole: boolean): string | undefined {
  if (start.length < UTF8_MARK.length && !isWhole) return undefined;
  const marked = textEncodingOf(start);
  if (marked !== 'utf-8' || start.subarray(0, UTF8_MARK.length).equals(UTF8_MARK)) return marked;
  const declared = declaredIn(start.subarray(0, DECLARATION_BYTES).toString('latin1'));
  if (declared === undefined && !isWhole && start.length < DECLARATION_BYTES) return undefined;
  if (declared === undefined || declared === null) return marked;
  const encoding = encodingName(declared);
  if (encoding !== null && !encoding.startsWith('utf-16')) return encoding;
  const problem = encoding === null ? 'which is not known' : 'but has no byte order mark';
  const message = `the file declares the encoding ${JSON.stringify(declared.slice(0, 40))}, ${problem}; save the file as UTF-8`;
  throw new ExchangeFileError('encoding_invalid', message, 1);
}

function decoderOf(encoding: string): TextDecoder {
  return new TextDecoder(encoding, { fatal: true });
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function linesBeforeFlaw(bytes: Uint8Array, encoding: string): number {
  const decoder = decoderOf(encoding);
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
