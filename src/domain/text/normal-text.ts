/**
 * The form of a text in which texts are compared and identified (N1): composed characters (NFC) and single line feeds.
 * Nothing is trimmed.
 */
export function normalText(text: string): string {
  return text.normalize('NFC').replaceAll('\r\n', '\n');
}
