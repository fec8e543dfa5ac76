import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  isMediaType,
  parseManifestEntry,
  parseManifestHeader,
  renderManifestEntry,
  renderManifestHeader,
} from '../../../src/contract/formats/manifest-format.ts';
import { parseDestination } from '../../../src/domain/release/destination.ts';
import { snapshotIdOf, type Blake3Hex, type SnapshotId } from '../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { recheckObjects } from '../../../src/snapshot/manifest/check-objects.ts';
import type { ManifestIndex } from '../../../src/snapshot/manifest/manifest-index.ts';
import { loadManifest } from '../../../src/snapshot/manifest/manifest-loader.ts';
import { ManifestScanner } from '../../../src/snapshot/manifest/manifest-scanner.ts';
import { blockListPath, manifestPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { SnapshotFault } from '../../../src/snapshot/volume/snapshot-fault.ts';
import { indexEntries } from '../../support/index-entries.ts';
import { campaignSize } from '../../support/long.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { sampleFiles } from '../../support/release-tree.ts';
import {
  SAMPLE_SNAPSHOT,
  sampleDigest,
  sampleEntry,
  sampleHeader,
  sortEntries,
} from '../../support/sample-entries.ts';
import { storeRelease } from '../../support/store-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

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

describe('the lines of a manifest', () => {
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
});

function indexOf(entries: readonly ManifestEntry[]): ManifestIndex {
  return indexEntries(sampleHeader(entries, { channel: 'localized' }), SAMPLE_SNAPSHOT, entries);
}

/** Destinations as in real releases, and as an attacker would choose them. */
const destinations = fc
  .uniqueArray(
    fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
      fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
        .map((end) => `${'long/shared/prefix/'.repeat(8)}${end}`),
      fc.constantFrom('a', 'b', 'a/b', 'ab', '日本語.json', '𝔸/𝔹', '\ufffd', '\uffee', '😀', 'é', 'a\ufffd'),
    ),
    { maxLength: 60 },
  )
  .map((texts) => texts.filter((text) => parseDestination(text).ok));

describe('ManifestIndex', () => {
  it('finds and returns exactly the entries of a Map of the same entries', () => {
    fc.assert(
      fc.property(
        destinations,
        fc.array(fc.string({ unit: 'binary', maxLength: 30 })),
        fc.infiniteStream(
          fc.record({
            size: fc.oneof(
              fc.nat({ max: 3_000_000 }),
              fc.constantFrom(0, 1_048_576, 1_048_577, Number.MAX_SAFE_INTEGER),
            ),
            source: fc.constantFrom('official' as const, 'localized' as const),
            media_type: fc.constantFrom('application/json', 'text/plain; charset=utf-8', 'image/png'),
          }),
        ),
        (texts, others, shapes) => {
          const entries = sortEntries(texts.map((text) => sampleEntry(text, shapes.next().value)));
          const index = indexOf(entries);
          const expected = new Map(entries.map((entry, position) => [entry.destination as string, position]));
          expect(index.length).toBe(entries.length);
          expect(index.entries(0, entries.length)).toEqual(entries);
          for (const text of [...texts, ...others, ...texts.map((text) => `${text}x`)]) {
            expect(index.find(text)).toBe(expected.get(text) ?? -1);
          }
          for (const [position, entry] of entries.entries()) {
            expect(index.findDigests([entry.blake3]).get(entry.blake3)).toEqual([position]);
          }
        },
      ),
      { numRuns: campaignSize(50, 1000) },
    );
  });

  it('rejects a lone surrogate as destination, although its bytes would be those of U+FFFD', () => {
    const index = indexOf([sampleEntry('a\ufffd')]);
    expect(index.find('a\ufffd')).toBe(0);
    expect(index.find('a\ud800')).toBe(-1);
    expect(index.find('x'.repeat(5000))).toBe(-1);
    expect(index.find('日'.repeat(1024))).toBe(-1);
    expect(index.find('')).toBe(-1);
  });

  it('finds every position of some digests', () => {
    const blake3 = sampleDigest('shared');
    const entries = ['a', 'b', 'c', 'd'].map((name) =>
      sampleEntry(name, { size: 7, ...(name === 'b' ? {} : { blake3 }) }),
    );
    const found = indexOf(entries).findDigests([sampleDigest('absent'), blake3, entries[1]!.blake3]);
    expect([...found.values()]).toEqual([[], [0, 2, 3], [1]]);
  });

  it('finds every entry by the first byte of its digest, in parts of the manifest', () => {
    const entries = sortEntries(
      Array.from({ length: 1000 }, (_, at) => sampleEntry(`entry-${at}`, { blake3: sampleDigest(`${at}`) })),
    );
    const index = indexOf(entries);
    const found: number[] = [];
    for (let firstByte = 0; firstByte < 256; firstByte += 1) {
      for (const [from, to] of [
        [0, 300],
        [300, 2000],
      ] as const) {
        for (const position of index.findDigestsOf(firstByte, from, to)) {
          expect(Number.parseInt(index.blake3(position).slice(0, 2), 16)).toBe(firstByte);
          found.push(position);
        }
      }
    }
    expect(found.sort((left, right) => left - right)).toEqual(entries.map((_, position) => position));
  });

  it('gives pages, empty past the end, and refuses positions that do not exist', () => {
    const entries = ['a', 'b', 'c'].map((name) => sampleEntry(name, { size: 1 }));
    const index = indexOf(entries);
    expect(index.entries(1, 1).map(({ destination }) => destination)).toEqual(['b']);
    expect(index.entries(2, 100)).toHaveLength(1);
    expect(index.entries(3, 100)).toEqual([]);
    expect(index.entries(1_000_000, 100)).toEqual([]);
    for (const position of [-1, 3, 0.5, Number.NaN]) expect(() => index.entry(position)).toThrow(RangeError);
    expect(indexOf([]).find('a')).toBe(-1);
  });

  it('refuses entries out of order, repeated, or more or fewer than announced', () => {
    const [a, b] = [sampleEntry('a', { size: 1 }), sampleEntry('b', { size: 1 })];
    expect(() => indexOf([b, a])).toThrow('byte order');
    expect(() => indexOf([a, a])).toThrow('twice');
    expect(() => indexEntries(sampleHeader([a]), SAMPLE_SNAPSHOT, [a, b])).toThrow('more entries');
    expect(() => indexEntries(sampleHeader([a, b]), SAMPLE_SNAPSHOT, [a])).toThrow('header says 2');
    // U+FFFD is before an astral character in UTF-8, and after it in UTF-16.
    expect(indexOf([sampleEntry('\ufffd'), sampleEntry('😀')]).find('😀')).toBe(1);
    expect(() => indexOf([sampleEntry('😀'), sampleEntry('\ufffd')])).toThrow('byte order');
  });

  it('costs at most 65 bytes per entry when destinations share their beginnings', () => {
    const entries = sortEntries(
      Array.from({ length: 20_000 }, (_, i) =>
        sampleEntry(`a/folder/of/some/depth/with/a/long/name/file-${i}`, { size: 1 }),
      ),
    );
    expect(indexOf(entries).memoryBytes / entries.length).toBeLessThan(65);
  });
});

const pool = createHashPool({ threads: 1 });

/** Writes bytes to the path of the manifest with their digest. */
async function putManifest(root: string, bytes: string | Buffer): Promise<SnapshotId> {
  const digest = blake3Hex(Buffer.from(bytes));
  await mkdir(`${root}/manifests`, { recursive: true });
  await writeFile(manifestPath(root, digest), bytes);
  return snapshotIdOf(digest);
}

function manifestText(entries: readonly ManifestEntry[], header = sampleHeader(entries)): string {
  return [renderManifestHeader(header), ...entries.map(renderManifestEntry), ''].join('\n');
}

async function load(root: string, snapshotId: SnapshotId): Promise<readonly ManifestEntry[]> {
  const { index } = await loadManifest({ root, snapshotId, checkObjects: false });
  return index.entries(0, index.length);
}

describe('a manifest that is loaded', () => {
  afterAll(async () => {
    await pool.close();
  });

  describe('loadManifest', () => {
    it('reads its own output, over many reads of the file and with escapes in between', async () => {
      const root = await temporaryDirectory();
      const names = Array.from({ length: 5000 }, (_, i) =>
        i % 100 === 0 ? `with "quotes"/日本語 ${i}` : `folder/${'x'.repeat(i % 200)}/file-${i}`,
      );
      const entries = sortEntries(names.map((name) => sampleEntry(name)));
      const snapshotId = await putManifest(root, manifestText(entries));
      expect(await load(root, snapshotId)).toEqual(entries);
      const { index, missing } = await loadManifest({ root, snapshotId, checkObjects: false });
      expect(index.header).toEqual(sampleHeader(entries));
      expect(index.snapshotId).toBe(snapshotId);
      expect(missing).toEqual({ count: 0, examples: [], indexes: new Uint32Array(0) });
      for (const [position, entry] of entries.entries()) expect(index.find(entry.destination)).toBe(position);
    });

    it('reads an empty release', async () => {
      const root = await temporaryDirectory();
      expect(await load(root, await putManifest(root, manifestText([])))).toEqual([]);
    });

    const [a, b] = [sampleEntry('a', { size: 1 }), sampleEntry('b', { size: 2 })];
    it.each([
      ['without its last line feed', manifestText([a, b]).slice(0, -1)],
      ['with an entry less', manifestText([a], sampleHeader([a, b]))],
      ['with an entry more', manifestText([a, b], sampleHeader([a]))],
      ['with another sum', manifestText([a, b], sampleHeader([a, b], { total_bytes: 4 }))],
      ['out of order', manifestText([b, a])],
      ['with a destination twice', manifestText([a, a])],
      ['with a localized entry in an official release', manifestText([{ ...a, source: 'localized' }])],
      ['with an empty line', manifestText([a, b]).replace('\n', '\n\n')],
      ['with carriage returns', manifestText([a, b]).replaceAll('\n', '\r\n')],
      ['with a byte order mark', `\ufeff${manifestText([a, b])}`],
      ['with a line that is too long', `${renderManifestHeader(sampleHeader([a]))}\n${' '.repeat(20_000)}\n`],
      ['with a line that never ends', `${renderManifestHeader(sampleHeader([a]))}\n${' '.repeat(600_000)}`],
      [
        'with a header that promises more than the file can hold',
        manifestText([a], sampleHeader([a], { entry_count: 2_000_000 })),
      ],
      ['that is empty', ''],
      ['that is something else', 'hello\n'],
      [
        'with a control character',
        Buffer.from(manifestText([sampleEntry('aXb', { size: 1 })]).replace('aXb', 'a\u0000b'), 'latin1'),
      ],
      [
        'with bytes that are not UTF-8',
        Buffer.from(manifestText([sampleEntry('aéb', { size: 1 })]), 'latin1'),
      ],
    ])('refuses a manifest %s as damaged, although its digest is right', async (_, bytes) => {
      const root = await temporaryDirectory();
      const snapshotId = await putManifest(root, bytes);
      await expect(load(root, snapshotId)).rejects.toMatchObject({ name: 'SnapshotFault', kind: 'damaged' });
    });

    it('refuses one whose digest is wrong, whichever bit is changed', async () => {
      const root = await temporaryDirectory();
      const text = manifestText([a, b]);
      const snapshotId = await putManifest(root, text);
      const path = manifestPath(root, blake3Hex(Buffer.from(text)));
      for (const at of [0, 40, text.length - 20, text.length - 1]) {
        const bytes = Buffer.from(text);
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        await writeFile(path, bytes);
        await expect(load(root, snapshotId)).rejects.toThrow('does not match its name');
      }
      await truncate(path, 10);
      await expect(load(root, snapshotId)).rejects.toBeInstanceOf(SnapshotFault);
    });

    it('distinguishes a missing file from another type, and does not follow links or wait for a FIFO', async () => {
      const root = await temporaryDirectory();
      await expect(load(root, SAMPLE_SNAPSHOT)).rejects.toMatchObject({
        kind: 'missing',
        snapshotId: SAMPLE_SNAPSHOT,
      });
      const snapshotId = await putManifest(root, manifestText([a]));
      const path = manifestPath(root, snapshotId.slice('blake3:'.length) as Blake3Hex);
      await rename(path, `${path}.aside`);
      await symlink(`${path}.aside`, path);
      await expect(load(root, snapshotId)).rejects.toMatchObject({ kind: 'damaged' });
      await rm(path);
      await mkdir(path);
      await expect(load(root, snapshotId)).rejects.toMatchObject({ kind: 'damaged' });
      await rm(path, { recursive: true });
      spawnSync('mkfifo', [path]);
      await expect(load(root, snapshotId)).rejects.toMatchObject({ kind: 'damaged' });
    });

    it('ends with the reason of the signal', async () => {
      const root = await temporaryDirectory();
      const snapshotId = await putManifest(root, manifestText([a]));
      const abort = new AbortController();
      const loading = loadManifest({ root, snapshotId, checkObjects: false, signal: abort.signal });
      abort.abort(new Error('switched'));
      await expect(loading).rejects.toThrow('switched');
      await expect(
        loadManifest({ root, snapshotId, checkObjects: false, signal: abort.signal }),
      ).rejects.toThrow('switched');
    });
  });

  describe('the check of the objects', () => {
    it('finds every object that differs from its entry, and notices a repair', async () => {
      const root = await temporaryDirectory();
      const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock });
      const files = sampleFiles();
      files.set('copy of empty', Buffer.alloc(0));
      const { snapshotId } = await storeRelease(writer, pool, { id: 'r1', files });
      const sound = await loadManifest({ root, snapshotId, checkObjects: true });
      expect(sound.missing.count).toBe(0);

      const pathOf = (name: string): string =>
        objectPath(root, blake3Hex(files.get(name) ?? Buffer.from('absent')));
      const kept = new Map<string, Buffer>();
      const spoil = async (path: string, how: () => Promise<unknown>): Promise<void> => {
        kept.set(path, await readFile(path));
        await chmod(path, 0o644);
        await how();
      };
      await spoil(pathOf('empty.bytes'), async () => await rm(pathOf('empty.bytes')));
      await spoil(
        pathOf('TableBundles/Excel.zip'),
        async () => await truncate(pathOf('TableBundles/Excel.zip'), 5),
      );
      const list = blockListPath(root, blake3Hex(files.get('MediaResources/more.ogg') ?? Buffer.alloc(0)));
      await spoil(list, async () => await truncate(list, 32));

      const { index, missing } = await loadManifest({ root, snapshotId, checkObjects: true });
      const names = Array.from(missing.indexes, (position): string => index.destination(position));
      expect(names).toEqual([
        'MediaResources/more.ogg',
        'TableBundles/Excel.zip',
        'copy of empty',
        'empty.bytes',
      ]);
      expect(missing.count).toBe(4);
      expect(missing.examples).toEqual(names);

      expect(await recheckObjects(root, index, missing.indexes)).toEqual(missing);
      for (const [path, bytes] of kept) {
        await rm(path, { force: true });
        await writeFile(path, bytes);
      }
      expect((await recheckObjects(root, index, missing.indexes)).count).toBe(0);
    });
  });
});
