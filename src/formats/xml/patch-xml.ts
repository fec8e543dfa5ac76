import { XML_SYNTAX } from '../collect/path-syntax.ts';
import type { ValueEdit } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { DecodedText } from '../text/decode-text.ts';
import { BEYOND_ASCII, declaredEncoding } from '../text/declared-encoding.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
import type { TextSplice } from '../text/splice-text.ts';
import { isWellFormedContent, readXml } from './read-xml.ts';

/** Characters that no document of XML 1.0 has, not even as a reference. */
// oxlint-disable-next-line no-control-regex -- it finds the control characters
const NEVER = /[\x00-\x08\v\f\x0E-\x1F\uFFFE\uFFFF]/;

const DECLARATION = /^<\?xml\s[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/;

/**
 * Replaces attributes and contents of elements. A text with markup is replaced by one whose markup is well-formed. Characters that the
 * declared encoding may lack are written as references.
 *
 * @throws PatchError; FormatError when the document cannot be read
 */
export function patchXml<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  options: PatchTextOptions = {},
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: XML_SYNTAX,
    read: readXml,
    write: (decoded) => {
      const declared = declaredEncoding(decoded, options.encoding, DECLARATION);
      return (place) => {
        const characters = charactersOf(place, decoded);
        return declared === null ? characters : inAscii(characters, place, decoded, declared);
      };
    },
    readsBack: 'the target text would not be read again as it is; its markup may be that of the document',
  });
}

function charactersOf({ characters, start, end, fieldPath }: TextSplice, { text }: DecodedText): string {
  const refuse = (message: string): never => {
    throw new PatchError('character_not_allowed', fieldPath, message);
  };
  if (NEVER.test(characters)) refuse('the target text has a character that XML does not allow');
  const before = text.charAt(start - 1);
  if (before === '"' || before === "'") return attribute(characters, before);
  if (before === '[') {
    return characters.includes(']]>') ? refuse('a CDATA section cannot hold "]]>"') : characters;
  }
  if (!text.slice(start, end).includes('<')) return content(characters);
  if (characters.includes('<')) {
    if (!isWellFormedContent(characters)) refuse('the markup of the target text is not well-formed');
    return characters;
  }
  if (characters.includes('&')) {
    refuse(
      'the source has markup and the target has none, so it is not known whether "&" begins a reference',
    );
  }
  return content(characters);
}

/** @throws PatchError `unencodable_character` in a CDATA section and in a text with markup, which is read with its references */
function inAscii(
  characters: string,
  { start, end, fieldPath }: TextSplice,
  { text }: DecodedText,
  declared: string,
): string {
  if (characters.search(BEYOND_ASCII) === -1) return characters;
  if (text.charAt(start - 1) === '[' || text.slice(start, end).includes('<')) {
    const message = `the document declares the encoding ${declared}, and a CDATA section or a text with markup cannot be written with references; name the encoding in the rule`;
    throw new PatchError('unencodable_character', fieldPath, message);
  }
  return characters.replaceAll(
    BEYOND_ASCII,
    (character) => `&#x${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()};`,
  );
}

function attribute(characters: string, quote: string): string {
  return characters.replaceAll(/[&<"'\t\n\r]/g, (character) => {
    if (character === '&') return '&amp;';
    if (character === '<') return '&lt;';
    if (/\s/.test(character)) return `&#${character.charCodeAt(0)};`;
    if (character !== quote) return character;
    return quote === '"' ? '&quot;' : '&apos;';
  });
}

function content(characters: string): string {
  return characters
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(']]>', ']]&gt;')
    .replaceAll('\r', '&#13;');
}
