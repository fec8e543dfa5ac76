import { array, assert, asyncProperty, constantFrom, integer, record, uniqueArray } from 'fast-check';
import { onTestFinished, expect, test } from 'vitest';
import { compareDestinations, type Destination } from '../../../../../src/domain/release/destination.ts';
import type { Blake3Hex } from '../../../../../src/domain/release/digest.ts';
import type { ReleaseId } from '../../../../../src/domain/release/release-id.ts';
import { openDatabase } from '../../../../../src/daemon/database/database.ts';
import {
  compareCatalogs,
  statesOtherBytes,
} from '../../../../../src/daemon/releases/catalog/catalog-difference.ts';
import {
  createCatalogStore,
  type CatalogStore,
} from '../../../../../src/daemon/releases/catalog/catalog-store.ts';
import type { CatalogEntryRow } from '../../../../../src/daemon/releases/records/entry-row.ts';
import { reuseOf } from '../../../../../src/daemon/releases/sync/reuse-rules.ts';
import type { UpstreamEntry } from '../../../../../src/daemon/upstream/upstream.ts';

function openStore(): CatalogStore {
  const database = openDatabase(':memory:');
  onTestFinished(() => {
    database.close();
  });
  return createCatalogStore(database);
}

function begin(store: CatalogStore, taskId = 'task'): number {
  return store.begin({
    channel: 'official',
    upstreamLabel: 'label',
    upstreamReleaseId: '1' as ReleaseId,
    etag: null,
    taskId,
    appVersion: null,
    serverInfo: null,
    fetchedAt: 1000,
  });
}

const entry = (destination: string, size: number | null = 1): UpstreamEntry => ({
  destination: destination as Destination,
  size,
  digests: {},
  locator: destination,
});

function row(destination: string, change: Partial<CatalogEntryRow> = {}): CatalogEntryRow {
  return {
    destination: destination as Destination,
    source: 'official',
    media_type: null,
    stated_size: 1,
    stated_blake3: null,
    stated_sha256: null,
    stated_md5: null,
    stated_crc32: null,
    locator: '',
    blake3: null,
    ...change,
  };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test('a destination that is listed twice is refused, also across batches', () => {
  const store = openStore();
  const revision = begin(store);
  store.add(revision, [entry('a'), entry('b')]);
  expect(() => {
    store.add(revision, [entry('c'), entry('b')]);
  }).toThrow(expect.objectContaining({ code: 'destination_duplicate', details: { destination: 'b' } }));
  expect(store.complete(revision, 'f').entry_count).toBe(2);
});

test('entries come in manifest order, over pages, in any script', async () => {
  const store = openStore();
  const names = uniqueArray(
    array(constantFrom('a', 'Z', '/', '-', 'é', '\u{ffff}', '\u{e000}', '\u{1f600}', '夜'), {
      minLength: 1,
    }).map((parts) => parts.join('')),
    { maxLength: 40 },
  );
  await assert(
    asyncProperty(names, async (destinations) => {
      const revision = begin(store);
      store.add(
        revision,
        destinations.map((name) => entry(name)),
      );
      const read = await collect(store.rows(revision, 'all'));
      expect(read.map((each) => each.destination)).toEqual([...destinations].sort(compareDestinations));
      await store.drop(revision);
    }),
    { numRuns: 60 },
  );
});

test('more entries than a page are all read, and resolving while reading omits none', async () => {
  const store = openStore();
  const revision = begin(store);
  const names = Array.from({ length: 2500 }, (_, index) => `file-${String(index).padStart(5, '0')}`);
  store.add(
    revision,
    names.map((name) => entry(name, 2)),
  );
  expect(store.unresolved(revision)).toEqual({ entries: 2500, bytes: 5000, unknownSizes: 0 });
  const read: string[] = [];
  for await (const each of store.rows(revision, 'unresolved')) {
    read.push(each.destination);
    store.resolve(revision, each.destination, 'f'.repeat(64) as Blake3Hex);
  }
  expect(read).toEqual(names);
  expect(store.unresolved(revision).entries).toBe(0);
});

test('a copy holds the same entries, with or without the state of their objects', async () => {
  const store = openStore();
  const revision = begin(store);
  const blake3 = 'a'.repeat(64) as Blake3Hex;
  store.addRows(revision, [row('a', { blake3, stated_md5: 'm' }), row('b')]);
  const complete = store.complete(revision, 'f');
  const kept = await store.copy(complete, 'other', false);
  expect(kept).toMatchObject({ task_id: 'other', fingerprint: 'f', entry_count: 2, stated_bytes: 2 });
  expect((await collect(store.rows(kept.revision_id, 'all'))).map((each) => each.blake3)).toEqual([
    blake3,
    null,
  ]);
  const reset = await store.copy(complete, 'other', true);
  expect(store.unresolved(reset.revision_id).entries).toBe(2);
  expect(store.entry(reset.revision_id, 'a')?.stated_md5).toBe('m');
});

test('a copy of more than a page has all entries, of which some are replaced, and their bytes', async () => {
  const store = openStore();
  const revision = begin(store);
  const names = Array.from({ length: 2500 }, (_, index) => `File-${String(index).padStart(5, '0')}`);
  store.add(
    revision,
    names.map((name) => entry(name, 2)),
  );
  const copy = begin(store);
  const pages = await collect(store.copyRows(revision, { revisionId: copy, withObjects: true }));
  expect(pages).toEqual([1000, 1000, 500]);
  const blake3 = 'b'.repeat(64) as Blake3Hex;
  store.replaceRows(copy, [row(names[1700] ?? '', { source: 'localized', stated_size: 7, blake3 })]);
  expect(store.complete(copy, 'f')).toMatchObject({ entry_count: 2500, stated_bytes: 5005 });
  const rows = await collect(store.rows(copy, 'all'));
  expect(rows.map(({ destination }) => destination)).toEqual(names);
  expect(rows.filter((each) => each.blake3 !== null)).toEqual([
    row(names[1700] ?? '', { source: 'localized', stated_size: 7, blake3 }),
  ]);
  // The form that finds names that differ in case only is copied, too.
  store.add(copy, [entry('file-00000')]);
  expect(store.caseConflicts(copy, 10)).toHaveLength(1);
});

test('only revisions without a user are unreferenced', () => {
  const store = openStore();
  const first = begin(store);
  store.complete(first, 'f');
  expect(store.unreferenced()).toEqual([]);
  const second = begin(store);
  expect(store.unreferenced()).toEqual([second]);
  store.complete(second, 'g');
  expect(store.unreferenced()).toEqual([first]);
});

test('the difference of two catalogs equals a comparison of the whole catalogs', async () => {
  const catalogs = uniqueArray(
    record({
      name: constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      size: integer({ min: 1, max: 3 }),
      md5: constantFrom('x', 'y', null),
    }),
    { selector: ({ name }) => name },
  );
  await assert(
    asyncProperty(catalogs, catalogs, async (before, after) => {
      const rows = (list: typeof before): Map<string, CatalogEntryRow> =>
        new Map(list.map(({ name, size, md5 }) => [name, row(name, { stated_size: size, stated_md5: md5 })]));
      const [old, now] = [rows(before), rows(after)];
      const stream = async function* stream(
        from: Map<string, CatalogEntryRow>,
      ): AsyncGenerator<CatalogEntryRow> {
        for (const name of [...from.keys()].sort(compareDestinations)) yield from.get(name)!;
      };
      const added = [...now.values()].filter((each) => !old.has(each.destination));
      const changed = [...now.values()].filter((each) => {
        const earlier = old.get(each.destination);
        return earlier !== undefined && statesOtherBytes(earlier, each);
      });
      expect(await compareCatalogs(stream(old), stream(now))).toEqual({
        added: added.length,
        changed: changed.length,
        removed: [...old.keys()].filter((name) => !now.has(name)).length,
        bytes: [...added, ...changed].reduce((sum, each) => sum + (each.stated_size ?? 0), 0),
      });
    }),
  );
});

test.each([
  ['the same SHA-256', { stated_sha256: 's' }, { stated_sha256: 's' }, false, 'same_sha256'],
  ['the same SHA-256, forced', { stated_sha256: 's' }, { stated_sha256: 's' }, true, 'same_sha256'],
  [
    'another SHA-256 and the same MD5',
    { stated_sha256: 's', stated_md5: 'm' },
    { stated_sha256: 't', stated_md5: 'm' },
    false,
    null,
  ],
  ['the same MD5 and size', { stated_md5: 'm' }, { stated_md5: 'm' }, false, 'same_md5'],
  ['the same MD5, forced', { stated_md5: 'm' }, { stated_md5: 'm' }, true, null],
  [
    'the same MD5, sizes unknown',
    { stated_md5: 'm', stated_size: null },
    { stated_md5: 'm', stated_size: null },
    false,
    null,
  ],
  ['the same CRC-32 and size', { stated_crc32: '1' }, { stated_crc32: '1' }, false, 'same_crc32'],
  [
    'the same CRC-32, another size',
    { stated_crc32: '1', stated_size: 2 },
    { stated_crc32: '1' },
    false,
    null,
  ],
  ['nothing stated', {}, {}, false, null],
  ['a BLAKE3 stated now only', { stated_blake3: 'b', stated_md5: 'm' }, { stated_md5: 'm' }, false, null],
] as const)('bytes are reused from an earlier catalog: %s', (_, now, earlier, force, reuse) => {
  expect(reuseOf(row('a', now), row('a', earlier), force)).toBe(reuse);
  if (reuse !== null) expect(reuseOf(row('a', now), row('b', earlier), force)).toBeNull();
});
