import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import {
  isMediaType,
  parseManifestEntry,
  parseManifestHeader,
  renderManifestEntry,
  renderManifestHeader,
} from '../../../../src/contract/formats/manifest-format.ts';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { ManifestScanner } from '../../../../src/snapshot/manifest/manifest-scanner.ts';
import { sampleDigest, sampleEntry, sampleHeader } from '../../../support/sample-entries.ts';

const small = sampleEntry('folder/small.json', { size: 1_048_576 });
const large = sampleEntry('folder/large.bin', { size: 1_048_577 });
const line = renderManifestEntry(small);

const scanned = (text: string): boolean => {
  const bytes = Buffer.from(`xx${text}\n{"destination":"next`);
  return new ManifestScanner().scan(bytes, 2, 2 + Buffer.byteLength(text));
};

/** Invalid entry lines, each with its error. */
const REFUSED: readonly (readonly [string, string])[] = [
  ['not an object', '[]'],
  ['not JSON', line.slice(0, -1)],
  ['unknown key', line.replace('}', ',"extra":1}')],
  ['key order', `{"size":1048576,${line.slice(1).replace('"size":1048576,', '')}`],
  ['white space', line.replace(',', ', ')],
  ['a repeated key', line.replace('"size":1048576', '"size":5,"size":1048576')],
  ['an escape that is not needed', line.replace('folder', 'f\\u006flder')],
  ['a leading slash', renderManifestEntry(sampleEntry('/a'))],
  ['a dot segment', renderManifestEntry(sampleEntry('a/../b'))],
  ['a single dot', renderManifestEntry(sampleEntry('./b'))],
  ['an empty segment', renderManifestEntry(sampleEntry('a//b'))],
  ['a trailing slash', renderManifestEntry(sampleEntry('a/'))],
  ['an empty destination', renderManifestEntry(sampleEntry(''))],
  ['a backslash', renderManifestEntry(sampleEntry('a\\b'))],
  ['a control character', renderManifestEntry(sampleEntry('a\u0001b'))],
  ['DEL', renderManifestEntry(sampleEntry('a\u007fb'))],
  ['not NFC', renderManifestEntry(sampleEntry('e\u0301'))],
  ['a long segment', renderManifestEntry(sampleEntry('a'.repeat(256)))],
  ['a long destination', renderManifestEntry(sampleEntry(`${'a'.repeat(200)}/`.repeat(5) + 'a'.repeat(100)))],
  ['a direction override', renderManifestEntry(sampleEntry('a\u202eb'))],
  ['a negative size', line.replace('1048576', '-1')],
  ['a fractional size', line.replace('1048576', '1.5')],
  ['a size with a leading zero', line.replace('1048576', '01')],
  ['a size with an exponent', line.replace('1048576', '1e3')],
  ['a size of 2^53', line.replace('1048576', '9007199254740992')],
  ['a size without digits', line.replace('1048576', '')],
  ['upper-case digits', line.replace(small.blake3, small.blake3.toUpperCase())],
  ['a short digest', line.replace(small.blake3, small.blake3.slice(1))],
  ['a CRC of 2^64', line.replace(small.crc64, '18446744073709551616')],
  ['a CRC with a leading zero', line.replace(small.crc64, '01')],
  ['a CRC of 21 digits', line.replace(small.crc64, '100000000000000000000')],
  ['a CRC without digits', line.replace(small.crc64, '')],
  ['a source of its own', line.replace('"official"', '"other"')],
  ['no media type', line.replace('application/octet-stream', 'nothing')],
  ['a media type with a line break', line.replace('application/octet-stream', 'a/b\\nX: y')],
  ['blocks on a small entry', renderManifestEntry({ ...small, blocks: sampleDigest('x') })],
  ['no blocks on a large entry', line.replace('1048576', '1048577')],
  ['blocks that are not a digest', renderManifestEntry(large).replace(large.blocks ?? '', 'x')],
];

/** Entries that are valid in odd ways. */
const ACCEPTED: readonly ManifestEntry[] = [
  small,
  large,
  sampleEntry('日本語/ファイル.json'),
  sampleEntry('a "quoted" name'),
  sampleEntry('...'),
  sampleEntry('.hidden/..x'),
  sampleEntry('😀'),
  sampleEntry('a', { size: 0, crc64: '0' as ManifestEntry['crc64'] }),
  sampleEntry('a', {
    size: Number.MAX_SAFE_INTEGER,
    crc64: '18446744073709551615' as ManifestEntry['crc64'],
  }),
  sampleEntry('a', { source: 'localized', media_type: 'text/plain; charset="utf-8"' }),
  sampleEntry('a'.repeat(255)),
];

describe('entry lines', () => {
  it.each(REFUSED)('refuses %s, by the parser and by the scanner', (_, text) => {
    expect(parseManifestEntry(text).ok).toBe(false);
    expect(scanned(text)).toBe(false);
  });

  it.each(ACCEPTED)('reads its own output: $destination', (entry) => {
    const text = renderManifestEntry(entry);
    expect(parseManifestEntry(text)).toEqual({ ok: true, value: entry });
    // Lines with an escape are left to the parser.
    expect(scanned(text)).toBe(!text.includes('\\'));
  });

  it('is scanned as it is parsed, whichever byte is changed', () => {
    for (const entry of [small, large]) {
      const bytes = Buffer.from(renderManifestEntry(entry));
      for (let at = 0; at < bytes.length; at += 1) {
        for (const byte of [0x00, 0x20, 0x22, 0x2c, 0x2f, 0x30, 0x39, 0x5c, 0x61, 0x7d, 0x80, 0xff]) {
          const changed = Buffer.from(bytes);
          changed[at] = byte;
          const scans = new ManifestScanner().scan(changed, 0, changed.length);
          const text = new TextDecoder().decode(changed);
          const parses = Buffer.from(text).equals(changed) && parseManifestEntry(text).ok;
          if (scans) expect(parses, text).toBe(true);
        }
      }
    }
  });
});

describe('the header line', () => {
  const header = sampleHeader([small], {
    channel: 'localized',
    base_release_id: sampleHeader([]).release_id,
    server_info: { blake3: sampleDigest('info'), size: 12 },
    app_version: '1.67.0',
  });
  const text = renderManifestHeader(header);

  it('reads its own output', () => {
    expect(parseManifestHeader(text)).toEqual({ ok: true, value: header });
    expect(parseManifestHeader(renderManifestHeader(sampleHeader([]))).ok).toBe(true);
  });

  it.each([
    ['another format', text.replace('slipway-manifest', 'manifest')],
    ['another version', text.replace('"version":1', '"version":2')],
    ['another channel', text.replace('localized', 'beta')],
    ['a base of an official release', text.replace('"localized"', '"official"')],
    ['a release id that is a path', text.replace('"r1"', '"../r1"')],
    ['too many entries', text.replace('"entry_count":1', '"entry_count":2000001')],
    ['no sum', text.replace(/"total_bytes":\d+,/, '')],
    ['a server-info document larger than a block', text.replace('"size":12', '"size":1048577')],
    ['an unknown key', text.replace('}', ',"x":1}')],
    ['an empty app version', text.replace('1.67.0', '')],
    ['white space', ` ${text}`],
  ])('refuses %s', (_, changed) => {
    expect(changed).not.toBe(text);
    expect(parseManifestHeader(changed).ok).toBe(false);
  });
});

describe('media types', () => {
  it.each([
    ['application/octet-stream', true],
    ['text/plain; charset=utf-8', true],
    ['text/plain;charset="a b"', true],
    ['image/svg+xml', true],
    ['text', false],
    ['text/', false],
    ['text/plain\r\nX: y', false],
    ['text/plain; charset', false],
    [`a/${'b'.repeat(300)}`, false],
  ])('%j: %s', (text, expected) => {
    expect(isMediaType(text)).toBe(expected);
  });
});
