import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { figuresOf } from '../../../../../src/daemon/formats/catalogs/file-figures.ts';
import { statedFigure } from '../../../../../src/daemon/localized/catalogs/stated-figures.ts';

const BEFORE = Buffer.from('official '.repeat(30));
const AFTER = Buffer.from('patched '.repeat(30));
const MD5 = createHash('md5').update(BEFORE).digest('hex');
const CHANGE = { path: 'a/x', before: figuresOf([BEFORE]), after: figuresOf([AFTER]) };

const stated = (text: string, name = 'texts.csv'): string | null =>
  statedFigure(Buffer.from(text), name, CHANGE);

describe('a figure of an official file', () => {
  it('is a checksum anywhere, but not one that is a part of the name', () => {
    const name = `texts_${MD5}.bundle`;
    expect(stated(`load ${name} and ${name}`, name)).toBe(null);
    expect(stated(`load ${name} ${MD5}`, name)).toBe(`the md5 ${MD5}`);
    expect(stated(`texts_${MD5}.bundles_${MD5}`, name)).toBe(`the md5 ${MD5}`);
    expect(stated(`texts.csv${' '.repeat(100_000)}${MD5}`)).toBe(`the md5 ${MD5}`);
  });

  it('is a size near the name', () => {
    const { size } = CHANGE.before;
    expect(stated(`texts.csv${' '.repeat(4000)}${size}`)).toBe(`the size ${size}`);
    expect(stated(`${size}${' '.repeat(4000)}texts.csv`)).toBe(`the size ${size}`);
    expect(stated(`texts.csv${' '.repeat(5000)}${size}`)).toBe(null);
    expect(stated(`texts.csv ${size}0 1${size} ${size}.25 0.${size}`)).toBe(null);
  });
});
