import type { FieldEncoding } from './check-input.ts';

/** UTF-8. A lone surrogate has no bytes. */
export const UTF_8: FieldEncoding = {
  name: 'UTF-8',
  bytesOf(codePoint) {
    if (codePoint < 0x80) return 1;
    if (codePoint < 0x800) return 2;
    if (isSurrogate(codePoint)) return null;
    return codePoint < 0x1_0000 ? 3 : 4;
  },
};

/** UTF-16 without the byte order mark. A lone surrogate has no bytes. */
export const UTF_16: FieldEncoding = {
  name: 'UTF-16',
  bytesOf: (codePoint) => (isSurrogate(codePoint) ? null : codePoint < 0x1_0000 ? 2 : 4),
};

function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}
