import { expect, it } from 'vitest';
import { concerns } from '../../../../../src/daemon/localized/catalogs/rewrite-catalog.ts';

it.each([
  // A name stands in a catalog, in whatever folder the file is.
  ['catalog.json', ['a.bundle'], 'Android/a.bundle', true],
  ['catalog.json', ['a.bundle'], 'Android/b.bundle', false],
  ['catalog.json', [], 'Android/a.bundle', false],
  // The manifest of a bundle, and of no other one.
  ['Android/a.bundle.manifest', [], 'Android/a.bundle', true],
  ['Android/a.bundle.manifest', [], 'iOS/a.bundle', false],
  ['Android/a.bundle.manifest', [], 'Android/ba.bundle', false],
  // The checksum beside a file, with and without its extension, and of the one file in an archive.
  ['catalog.json.hash', [], 'catalog.json', true],
  ['catalog.hash', [], 'catalog.json', true],
  ['catalog.hash', [], 'catalog.zip!/inner.json', true],
  ['catalog.hash', [], 'other.json', false],
])('the catalog %s with the names %j can state something about %s: %s', (path, names, changed, expected) => {
  expect(concerns(path, new Set(names), changed)).toBe(expected);
});
