import { NO_XML_CHARACTER } from '../../domain/text/xml-characters.ts';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';

const ALL_FORBIDDEN = new RegExp(NO_XML_CHARACTER.source, 'gu');

type XmlPart = { readonly text: string } | { readonly codePoint: number };

/** Splits a text at the characters that XML cannot carry, for formats that write them with an element. */
export function xmlParts(text: string): XmlPart[] {
  const parts: XmlPart[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(ALL_FORBIDDEN)) {
    if (index > end) parts.push({ text: text.slice(end, index) });
    parts.push({ codePoint: character.codePointAt(0) ?? 0 });
    end = index + character.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}

const TEXT_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Text of an element. Carriage returns are written by number, because readers turn others into line feeds.
 *
 * @throws ExchangeFileError `character_unsupported`
 */
export function escapeXmlText(text: string): string {
  requireXmlText(text);
  return text.replace(/[&<>\r\u0085\u2028]/g, escaped);
}

/**
 * The value of an attribute, without its quotes. White space is written by number, because readers normalize it.
 *
 * @throws ExchangeFileError `character_unsupported`
 */
function escapeXmlAttribute(text: string): string {
  requireXmlText(text);
  return text.replace(/[&<>"\t\n\r\u0085\u2028]/g, escaped);
}

/**
 * A start tag. Attributes without a value are left out.
 *
 * @throws ExchangeFileError `character_unsupported`
 */
export function startTag(
  name: string,
  attributes: Readonly<Record<string, string | null | undefined>> = {},
): string {
  return `<${name}${writeAttributes(attributes)}>`;
}

/** An element without contents. @throws ExchangeFileError `character_unsupported` */
export function emptyElement(
  name: string,
  attributes: Readonly<Record<string, string | null | undefined>> = {},
): string {
  return `<${name}${writeAttributes(attributes)}/>`;
}

/** An element that has only text. @throws ExchangeFileError `character_unsupported` */
export function textElement(
  name: string,
  text: string,
  attributes: Readonly<Record<string, string | null | undefined>> = {},
): string {
  return `${startTag(name, attributes)}${escapeXmlText(text)}</${name}>`;
}

function writeAttributes(attributes: Readonly<Record<string, string | null | undefined>>): string {
  return Object.entries(attributes)
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    .map(([name, value]) => ` ${name}="${escapeXmlAttribute(value)}"`)
    .join('');
}

function requireXmlText(text: string): void {
  const character = NO_XML_CHARACTER.exec(text)?.[0];
  if (character === undefined) return;
  const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  throw new ExchangeFileError('character_unsupported', `XML cannot carry the character U+${codePoint}`, null);
}

function escaped(character: string): string {
  if (character === '"') return '&quot;';
  return TEXT_ESCAPES[character] ?? `&#${character.codePointAt(0)};`;
}
