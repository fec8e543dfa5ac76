import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  integer,
  property,
  record,
  stringMatching,
  uniqueArray,
} from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/engine/database/database.ts';
import { compareCatalogs, statesOtherBytes } from '../../../src/releases/catalog/catalog-refresh-task.ts';
import { createCatalogStore, type CatalogStore } from '../../../src/releases/catalog/catalog-store.ts';
import type { CatalogEntryRow } from '../../../src/releases/records/entry-row.ts';
import { chooseReleaseName, type NameHolder } from '../../../src/releases/records/release-name.ts';
import { reuseOf } from '../../../src/releases/sync/download-plan.ts';
import type { UpstreamEntry } from '../../../src/upstream/upstream.ts';
import {
  compareDestinations,
  parseDestination,
  type Destination,
} from '../../../src/domain/release/destination.ts';
import { createObjectRegistry } from '../../../src/releases/records/object-registry.ts';
import type { Blake3Hex, Crc64Decimal } from '../../../src/domain/release/digest.ts';
import { parseReleaseId, type ReleaseId } from '../../../src/domain/release/release-id.ts';

const MD5 = 'a'.repeat(32);

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

describe('the entries of a release', () => {
  test('a destination that is listed again counts once, and is refused with other facts, also across batches', () => {
    const store = openStore();
    const revision = begin(store);
    expect(store.add(revision, [entry('a'), entry('b'), entry('a')], null)).toBe(2);
    expect(store.add(revision, [entry('b')], null)).toBe(0);
    expect(() => {
      store.add(revision, [entry('c'), { ...entry('b'), size: 4711 }], null);
    }).toThrow(expect.objectContaining({ code: 'destination_duplicate', details: { destination: 'b' } }));
    expect(store.complete(revision, 'f').entry_count).toBe(2);
  });

  test('an entry that states what one before stated gets its object, and needs no look beside that revision', async () => {
    const store = openStore();
    const sha256 = 'c'.repeat(64);
    const stated = (
      name: string,
      digests: UpstreamEntry['digests'],
      size: number | null = 1,
    ): UpstreamEntry => ({
      ...entry(name, size),
      digests,
    });
    const names = [
      'by-md5',
      'by-sha256',
      'md5-of-no-size',
      'nothing-stated',
      'other-digest',
      'other-size',
      'unknown',
    ];
    const before = begin(store);
    const first = [
      stated('by-md5', { md5: MD5 }),
      stated('by-sha256', { sha256 }, null),
      stated('md5-of-no-size', { md5: MD5 }, null),
      entry('nothing-stated'),
      stated('other-digest', { sha256 }),
      stated('other-size', { sha256 }),
      stated('unknown', { sha256 }),
    ];
    store.add(before, first, null);
    const objectOf = (at: number): Blake3Hex => String(at).repeat(64) as Blake3Hex;
    for (const [at, name] of names.slice(0, -1).entries()) store.resolve(before, name, objectOf(at));
    const after = begin(store);
    const changed = [
      ...first.slice(0, 4),
      stated('other-digest', { sha256: 'd'.repeat(64) }),
      stated('other-size', { sha256 }, 2),
      stated('unknown', { sha256 }),
    ];
    store.add(after, changed, before);
    const known = (await collect(store.rows(after, 'all'))).filter(({ blake3 }) => blake3 !== null);
    expect(known.map(({ destination, blake3 }) => [destination, blake3])).toEqual([
      ['by-md5', objectOf(0)],
      ['by-sha256', objectOf(1)],
    ]);
    // The object of another revision has to be looked at.
    store.resolve(after, 'unknown', objectOf(9));
    const beside = async (other: number | null): Promise<string[]> =>
      (await collect(store.pagesBeside(after, other))).flat().map(({ destination }) => destination);
    expect(await beside(before)).toEqual(names.slice(2));
    expect(await beside(null)).toEqual(names);
  });

  test('entries are selected a range of the revision at a time, however few there are', async () => {
    const store = openStore();
    const names = Array.from({ length: 2500 }, (_, index) => `file-${String(index).padStart(5, '0')}`);
    const object = 'f'.repeat(64) as Blake3Hex;
    const [before, after] = [begin(store), begin(store)];
    const rows = names.map((name) => row(name, { blake3: object }));
    store.addRows(before, rows);
    store.addRows(after, [...rows, row('file-last')]);
    const selected = [[], [], ['file-last']];
    for (const pages of [store.pagesBeside(after, before), store.pages(after, 'unresolved')]) {
      const found = (await collect(pages)).map((page) => page.map(({ destination }) => destination));
      expect(found).toEqual(selected);
    }
  });

  test('entries come in manifest order, over pages, in any script', async () => {
    const store = openStore();
    const names = uniqueArray(
      array(constantFrom('a', 'Z', '/', '-', 'é', '\u{ffff}', '\u{e000}', '\u{1f600}', '夜'), {
        minLength: 1,
      })
        .map((parts) => parts.join(''))
        .filter((name) => parseDestination(name).ok),
      { maxLength: 40 },
    );
    await assert(
      asyncProperty(names, async (destinations) => {
        const revision = begin(store);
        store.add(
          revision,
          destinations.map((name) => entry(name)),
          null,
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
      null,
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
    store.addRows(revision, [row('a', { blake3, stated_md5: MD5 }), row('b')]);
    const complete = store.complete(revision, 'f');
    const kept = await store.copy(complete, 'other', false);
    expect(kept).toMatchObject({ task_id: 'other', fingerprint: 'f', entry_count: 2, stated_bytes: 2 });
    expect((await collect(store.rows(kept.revision_id, 'all'))).map((each) => each.blake3)).toEqual([
      blake3,
      null,
    ]);
    const reset = await store.copy(complete, 'other', true);
    expect(store.unresolved(reset.revision_id).entries).toBe(2);
    expect(store.entry(reset.revision_id, 'a')?.stated_md5).toBe(MD5);
  });

  test('a copy of more than a page has all entries, of which some are replaced, and their bytes', async () => {
    const store = openStore();
    const revision = begin(store);
    const names = Array.from({ length: 5500 }, (_, index) => `File-${String(index).padStart(5, '0')}`);
    store.add(
      revision,
      names.map((name) => entry(name, 2)),
      null,
    );
    const copy = begin(store);
    const pages = await collect(store.copyRows(revision, { revisionId: copy, withObjects: true }));
    expect(pages).toEqual([5000, 500]);
    const blake3 = 'b'.repeat(64) as Blake3Hex;
    store.replaceRows(copy, [row(names[1700] ?? '', { source: 'localized', stated_size: 7, blake3 })]);
    expect(store.complete(copy, 'f')).toMatchObject({ entry_count: 5500, stated_bytes: 11_005 });
    const rows = await collect(store.rows(copy, 'all'));
    expect(rows.map(({ destination }) => destination)).toEqual(names);
    expect(rows.filter((each) => each.blake3 !== null)).toEqual([
      row(names[1700] ?? '', { source: 'localized', stated_size: 7, blake3 }),
    ]);
    // The form that finds names that differ in case only is copied, too.
    store.add(copy, [entry('file-00000')], null);
    expect(store.caseConflicts(copy, 10)).toHaveLength(1);
  });

  test('a copy with other entries at some destinations leads to another folder, and forgets damaged objects', async () => {
    const database = openDatabase(':memory:');
    onTestFinished(() => {
      database.close();
    });
    const store = createCatalogStore(database);
    const revision = begin(store);
    const [one, two] = ['1', '2'].map((digit) => digit.repeat(64) as Blake3Hex);
    if (one === undefined || two === undefined) throw new Error('there are two');
    store.addRows(
      revision,
      ['a', 'b', 'c'].map((name) =>
        row(name, { stated_size: 5, blake3: name === 'a' ? one : two, locator: `http://origin/r1/${name}` }),
      ),
    );
    const copy = begin(store);
    const folders = { before: 'http://origin/r1/', after: 'http://origin/release-2/' };
    await collect(store.copyRows(revision, { revisionId: copy, withObjects: true, folders }));
    store.changeRows(copy, [
      { destination: 'a', row: null },
      { destination: 'aa', row: null },
      { destination: 'b', row: row('b', { stated_size: 7, locator: 'http://origin/release-2/b' }) },
      { destination: 'd', row: row('d', { stated_size: 9, locator: 'http://origin/release-2/d' }) },
    ]);
    const rows = await collect(store.rows(copy, 'all'));
    expect(rows.map(({ destination, locator, blake3 }) => [destination, locator, blake3])).toEqual([
      ['b', 'http://origin/release-2/b', null],
      ['c', 'http://origin/release-2/c', two],
      ['d', 'http://origin/release-2/d', null],
    ]);
    expect(store.complete(copy, 'f')).toMatchObject({ entry_count: 3, stated_bytes: 21 });
    const registry = createObjectRegistry(database);
    registry.record({ blake3: two, size: 5, crc64: '1' as Crc64Decimal, blocks: null }, 1);
    store.forgetDamaged(copy);
    expect(store.unresolved(copy).entries).toBe(2);
    registry.markDamaged(two);
    store.forgetDamaged(copy);
    expect(store.unresolved(copy).entries).toBe(3);
    expect(store.unresolved(revision).entries).toBe(0);
  });

  test('a revision is deleted in large steps, of which only the last one is durable', async () => {
    const database = openDatabase(':memory:');
    onTestFinished(() => database.close());
    const durable: (boolean | undefined)[] = [];
    const store = createCatalogStore({
      ...database,
      transaction: (section, options) => {
        durable.push(options?.durable);
        return database.transaction(section, options);
      },
    });
    const revision = begin(store);
    const names = Array.from({ length: 5500 }, (_, index) => String(index));
    store.addRows(
      revision,
      names.map((name) => row(name)),
    );
    store.complete(revision, 'f');
    durable.length = 0;
    const dropping = store.drop(revision);
    // Nobody takes the rest for a whole catalog, also after a kill.
    expect([store.get(revision), store.unreferenced()]).toEqual([null, [revision]]);
    await dropping;
    expect(durable).toEqual([false, false, false]);
    expect(await collect(store.rows(revision, 'all'))).toEqual([]);
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
          new Map(
            list.map(({ name, size, md5 }) => [name, row(name, { stated_size: size, stated_md5: md5 })]),
          );
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

  test('a revision whose stated sizes have a sum that JavaScript cannot hold is read again', async () => {
    const store = openStore();
    const revision = begin(store);
    store.add(
      revision,
      ['a', 'b'].map((name) => entry(name, Number.MAX_SAFE_INTEGER)),
      null,
    );
    const { revision_id: id } = store.complete(revision, 'fingerprint');
    expect(store.get(id)?.stated_bytes).toBe(Number.MAX_SAFE_INTEGER);
  });
});

const id = (text: string): ReleaseId => text as ReleaseId;
const holder = (contentDigest: string | null, change: Partial<NameHolder> = {}): NameHolder => ({
  contentDigest,
  wasPublishable: true,
  channel: 'official',
  ...change,
});

describe('the name of a release', () => {
  test('a free name is used unchanged', () => {
    expect(chooseReleaseName(id('1.66'), 'a', () => null)).toEqual({ releaseId: '1.66', existing: false });
  });

  test('other content under a used name gets a suffix, the same content gets its name again', () => {
    const names = new Map([
      ['1.66', holder('a')],
      ['1.66-2', holder('b')],
    ]);
    const choose = (digest: string): unknown =>
      chooseReleaseName(id('1.66'), digest, (name) => names.get(name) ?? null);
    expect(choose('a')).toEqual({ releaseId: '1.66', existing: true });
    expect(choose('b')).toEqual({ releaseId: '1.66-2', existing: true });
    expect(choose('c')).toEqual({ releaseId: '1.66-3', existing: false });
  });

  test('a name that was never published is used again, one of a localized release never', () => {
    expect(chooseReleaseName(id('1'), 'b', () => holder('a', { wasPublishable: false }))).toEqual({
      releaseId: '1',
      existing: false,
    });
    const localized = (name: string): NameHolder | null =>
      name === '1' ? holder('b', { channel: 'localized', wasPublishable: false }) : null;
    expect(chooseReleaseName(id('1'), 'b', localized)).toEqual({ releaseId: '1-2', existing: false });
  });

  test('gives up instead of searching without end', () => {
    expect(chooseReleaseName(id('1'), 'b', () => holder('a'))).toBeNull();
  });

  test('every name is a free release id, however long the upstream name', () => {
    const names = stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,126}[A-Za-z0-9]$/);
    assert(
      property(names, integer({ min: 0, max: 50 }), (upstream, taken) => {
        const used = new Set<string>();
        for (let i = 0; i <= taken; i += 1) {
          const choice = chooseReleaseName(id(upstream), `content ${i}`, (name) =>
            used.has(name) ? holder('other') : null,
          );
          expect(choice).not.toBeNull();
          expect(parseReleaseId(choice!.releaseId).ok).toBe(true);
          expect(used.has(choice!.releaseId)).toBe(false);
          used.add(choice!.releaseId);
        }
      }),
      { numRuns: 50 },
    );
  });
});
