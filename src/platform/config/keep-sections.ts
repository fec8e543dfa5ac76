import { isMap, isNode, isScalar, parseDocument } from 'yaml';

/**
 * Blanks all but some sections of a configuration file that has the first of them: that of a daemon has more sections. Line numbers
 * do not change.
 *
 * @param sections names at the top of the file
 */
export function keepSections(text: string, sections: readonly [string, ...string[]]): string {
  const { contents, errors } = parseDocument(text, { logLevel: 'silent' });
  const isWhole = errors.length > 0 || !isMap(contents) || contents.flow === true;
  if (isWhole || !contents.has(sections[0])) return text;
  let blanked = text;
  for (const [index, { key, value }] of contents.items.entries()) {
    if (!isScalar(key) || sections.some((section) => section === key.value) || !key.range) continue;
    const next = contents.items[index + 1]?.key;
    const end =
      isScalar(next) && next.range
        ? next.range[0]
        : ((isNode(value) ? value.range?.[2] : undefined) ?? text.length);
    const [start] = key.range;
    blanked =
      blanked.slice(0, start) + blanked.slice(start, end).replaceAll(/[^\n]/g, ' ') + blanked.slice(end);
  }
  return blanked;
}
