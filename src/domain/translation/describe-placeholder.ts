/** The kinds of placeholders, the most particular first. */
const KINDS: readonly (readonly [pattern: RegExp, describe: (found: RegExpExecArray) => string])[] = [
  [/^<\/(?<name>[A-Za-z]+)/, ({ groups }) => `end of ${groups?.['name']}`],
  [/^<ruby=(?<reading>[^>]*)>/i, ({ groups }) => `ruby, the reading is ${groups?.['reading']}`],
  [/^<(?:color|colour|#)/i, () => 'start of color'],
  [/^<br\s*\/?>/i, () => 'line break'],
  [/^<(?<name>[A-Za-z]+)/, ({ groups }) => `tag ${groups?.['name']}`],
  [/^%.*[diu]$/s, () => 'number'],
  [/^%.*[fgGexX]$/s, () => 'number'],
  [/^%/, () => 'text'],
  [/^\{\d/, () => 'value'],
  [/^\{(?<name>[^{}:,]{1,40})/, ({ groups }) => `value: ${groups?.['name']}`],
];

/**
 * Describes a placeholder or tag of a game in a few words, by its form alone: `{name}` is "value: name", `%d` is
 * "number", `<ruby=よみ>` has its reading.
 */
export function describePlaceholder(placeholder: string): string {
  for (const [pattern, describe] of KINDS) {
    const found = pattern.exec(placeholder);
    if (found !== null) return describe(found);
  }
  return 'value';
}
