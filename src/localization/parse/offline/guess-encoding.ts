import { FormatError } from '../../../formats/format-error.ts';
import { decodeText } from '../../../formats/text/decode-text.ts';
import type { TableEncodingName } from '../../../formats/text/table-encoding.ts';

const CANDIDATES: readonly (TableEncodingName | 'utf-16le' | 'utf-16be')[] = [
  'utf-16le',
  'utf-16be',
  'cp932',
  'euc-jp',
  'gb18030',
  'big5',
  'euc-kr',
  'windows-1251',
  'windows-1252',
];

/** The likeliest of the encodings that read the beginning of a file; `null` when none gives a text. */
export function guessEncoding(beginning: Buffer): string | null {
  const scored = CANDIDATES.flatMap((encoding) => {
    const text = decoded(beginning, encoding);
    return text === null ? [] : [{ encoding, score: likeliness(text) }];
  });
  const [best] = scored.toSorted((left, right) => right.score - left.score);
  return best === undefined || best.score <= 0 ? null : best.encoding;
}

function decoded(bytes: Buffer, encoding: (typeof CANDIDATES)[number]): string | null {
  // The beginning can end within a character.
  for (const cut of [0, 1, 2, 3]) {
    try {
      return decodeText(bytes.subarray(0, bytes.length - cut), encoding).text;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
  }
  return null;
}

const LIKELY = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[一-龥]|[а-яё]|[ -~\s]/giu;
const UNLIKELY = /[\p{Co}\p{Cn}\p{Cc}]|[^\p{L}\p{N}\p{P}\p{Z}\p{S}\s]|[ｦ-ﾟ]/gu;

function likeliness(text: string): number {
  const good = text.match(LIKELY)?.length ?? 0;
  const bad = (text.match(UNLIKELY)?.length ?? 0) - (text.match(/[\r\n\t]/g)?.length ?? 0);
  // A wrong encoding of several bytes gives fewer characters; a right one of one byte gives more.
  return text.length === 0 ? 0 : (good - 4 * Math.max(0, bad)) / text.length + wordsOf(text);
}

/** Common characters of each language, which a wrong encoding does not give. */
function wordsOf(text: string): number {
  const found =
    text.match(/[のはをにがたです]|[的是了我不在你]|[이가은는을를다]|(?:[оеаинт]{1}[а-я])/g)?.length ?? 0;
  return found / text.length;
}
