import { expect, test } from 'vitest';
import { DEFAULT_MEDIA_TYPE, mediaTypeOf } from '../../../../src/domain/http/media-type.ts';

test.each([
  ['Android/catalog.JSON', 'application/json'],
  ['TableBundles/ExcelDB.db', 'application/vnd.sqlite3'],
  ['MediaResources/Voice/a.ogg', 'audio/ogg'],
  ['a.tar.gz', 'application/gzip'],
  ['text/readme.txt', 'text/plain; charset=utf-8'],
])('%s is %s', (destination, mediaType) => {
  expect(mediaTypeOf(destination)).toBe(mediaType);
});

test.each([
  'bundle',
  'dir.json/bundle',
  '.json',
  'x.',
  'page.html',
  'image.svg',
  'x.constructor',
  'a.__proto__',
])('%s stays application/octet-stream', (destination) => {
  expect(mediaTypeOf(destination)).toBe(DEFAULT_MEDIA_TYPE);
});
