import type { ScriptEscapes } from './compile-script.ts';

const LETTERS: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't' };
const BACKSLASH_SPECIAL = /["'\n\r\t]|\\(?=[nrtuU"'\\\n\r\t]|$)/g;
const PROPERTIES_SPECIAL = /[\\\n\r\t\f]/g;
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const BACKSLASH_ESCAPE = /\\(?:[uU]([\dA-Fa-f]{4})|([nrt"'\\]))/g;
/** A line that continues loses its end and the blanks that begin the next one. Source: java.util.Properties.load. */
const PROPERTIES_ESCAPE = /\\(?:u([\dA-Fa-f]{4})|\n[ \t\f]*|([^]))/g;

/**
 * The text that characters of a script stand for. Line ends become LF.
 *
 * `backslash` knows `\n`, `\r`, `\t`, `\"`, `\'`, `\\` and `\u0041`; other backslashes are characters of the text.
 */
export function unescapeText(raw: string, escapes: ScriptEscapes): string {
  const joined = raw.includes('\r') ? raw.replaceAll(/\r\n?/g, '\n') : raw;
  if (escapes === 'none' || !joined.includes('\\')) return joined;
  const expression = escapes === 'backslash' ? BACKSLASH_ESCAPE : PROPERTIES_ESCAPE;
  return joined.replaceAll(expression, (_match, hex?: string, character?: string) => {
    if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
    return character === undefined ? '' : (CONTROLS[character] ?? character);
  });
}

/** How a script writes what it could write in several ways. */
export interface EscapeForm {
  readonly escapes: ScriptEscapes;
  readonly lineEnd: string;
  /**
   * Whether characters beyond ASCII are escaped: in properties of ASCII alone, which many programs read as ISO-8859-1 (source:
   * java.util.Properties.load of a stream), and where Java's tools have done it.
   */
  readonly isAscii: boolean;
}

/** Finds out how a script is written. */
export function escapeFormOf(text: string, escapes: ScriptEscapes): EscapeForm {
  // oxlint-disable-next-line no-control-regex -- ASCII includes the control characters
  const isPlain = escapes !== 'none' && !/[^\x00-\x7F]/.test(text);
  return {
    escapes,
    lineEnd: /\r\n|\n|\r/.exec(text)?.[0] ?? '\n',
    isAscii: isPlain && (escapes === 'properties' || /\\u[\dA-Fa-f]{4}/.test(text)),
  };
}

/**
 * The characters of a text in a script.
 *
 * @param quote the character in front of the place, which is escaped in the text where it is a quote
 */
export function escapeText(value: string, quote: string, { escapes, lineEnd, isAscii }: EscapeForm): string {
  if (escapes === 'none') return lineEnd === '\n' ? value : value.replaceAll('\n', lineEnd);
  // A backslash that begins no escape is a character of the text, as `\%` in Ren'Py, and stays alone.
  const special = escapes === 'backslash' ? BACKSLASH_SPECIAL : PROPERTIES_SPECIAL;
  const escaped = value.replaceAll(special, (character) => {
    const letter = LETTERS[character];
    if (letter !== undefined) return `\\${letter}`;
    if (character === '\f') return String.raw`\u000C`;
    return character === '\\' || character === quote ? `\\${character}` : character;
  });
  // Blanks at the beginning of a value of a property are not part of it.
  const led = escapes === 'properties' ? escaped.replace(/^ /, String.raw`\ `) : escaped;
  if (!isAscii) return led;
  // oxlint-disable-next-line no-control-regex -- ASCII includes the control characters
  return led.replaceAll(/[^\x00-\x7F]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  });
}
