/** Characters that XML 1.0 cannot carry, not even by number. Source: XML 1.0, production 2. */
export const NO_XML_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** Whether XML 1.0 can carry a text. */
export function isXmlText(text: string): boolean {
  return !NO_XML_CHARACTER.test(text);
}
