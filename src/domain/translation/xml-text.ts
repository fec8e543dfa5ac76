import { isXmlText } from '../text/xml-characters.ts';

/** A token of the mask style `xml`, as it is written and as XML may write it too. */
const TOKEN = /(<x id="\d{1,5}"\s?\/>)/;
const OPENED_TOKEN = /<x id="(\d{1,5})"\s*>\s*<\/x>/g;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };
const NAMES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Writes a text with the tokens of the mask style `xml` as XML, in which only the tokens are tags.
 *
 * @returns `null` for a text that XML cannot have
 *
 * Source: XML 1.0, sections 2.2 (characters), 2.4 (escapes) and 2.11 (ends of lines).
 */
export function writeXmlText(masked: string): string | null {
  if (!isXmlText(masked)) return null;
  return masked
    .split(TOKEN)
    .map((part, at) =>
      at % 2 === 1 ? part : part.replaceAll(/[&<>\r]/g, (found) => ESCAPES[found] ?? found),
    )
    .join('');
}

/** Reads a text that {@link writeXmlText} wrote, after its translation. Unknown entities stay as they are. */
export function readXmlText(text: string): string {
  return text
    .replaceAll(OPENED_TOKEN, '<x id="$1"/>')
    .replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (entity, decimal, hex, name) =>
      name === undefined
        ? characterOf(decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal), entity)
        : (NAMES[String(name)] ?? entity),
    );
}

function characterOf(codePoint: number, entity: string): string {
  return codePoint <= 0x10_ff_ff ? String.fromCodePoint(codePoint) : entity;
}
