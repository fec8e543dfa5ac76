/** The files with text of every release. */
export const TEXT_FILES: readonly string[] = ['texts/a.json', 'texts/b.json'];

/** The bytes of a file with texts. */
export function textFile(texts: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(texts.map((Text, at) => ({ Id: at + 1, Text }))));
}

/** The texts of such a file. */
export function textsIn(bytes: Buffer): readonly string[] {
  return (JSON.parse(bytes.toString()) as ReadonlyArray<{ readonly Text: string }>).map(({ Text }) => Text);
}

/** A Japanese text that no other number has. */
export function sourceText(number: number): string {
  return `こんにちは${inLetters(number, 'アイウエオカキクケコ')}`;
}

/** A Chinese text that no other number has. */
export function targetText(number: number): string {
  return `你好${inLetters(number, '零一二三四五六七八九')}`;
}

function inLetters(number: number, letters: string): string {
  return String(number).replaceAll(/\d/g, (digit) => letters[Number(digit)] ?? '');
}
