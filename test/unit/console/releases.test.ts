import { exampleOf } from '../../../scripts/reference/examples.ts';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ManifestEntry, ReleaseRow } from '../../../src/console/api/wire.ts';
import {
  ChangedFolders,
  type ChangedFolder,
} from '../../../src/console/releases/difference/changed-folders.ts';
import {
  startComparison,
  type Comparison,
  readFolder,
} from '../../../src/console/releases/difference/comparison.ts';
import {
  EntryCursor,
  type ReadEntries,
  isSame,
  mergeEntries,
  type EntryPair,
} from '../../../src/console/releases/difference/entry-cursor.ts';
import { releaseActions } from '../../../src/console/releases/release-parts.tsx';
import { checksOf } from '../../../src/console/releases/integrity-history.tsx';
import {
  canRollBack,
  predecessorOf,
  servingOf,
  settingWords,
  type ReleaseStatus,
} from '../../../src/console/releases/release-facts.ts';
import { sortReleases } from '../../../src/console/releases/releases-view.tsx';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { compareDestinations } from '../../../src/domain/release/destination.ts';
import { isRolledBack } from '../../../src/domain/release/release-history.ts';

function row(id: string, fields: Partial<ReleaseRow> = {}): ReleaseRow {
  return {
    release_id: id,
    channel: 'official',
    state: 'superseded',
    created_at: 100,
    published_at: 100,
    manifest: { blake3: '', entry_count: 1, total_bytes: 10 },
    artifact_integrity: { checked_at: 100, ok: true, damaged: 0 },
    ...fields,
  };
}

const localized = (id: string, base: string, fields: Partial<ReleaseRow> = {}): ReleaseRow =>
  row(id, { channel: 'localized', base_release_id: base, ...fields });

it('calls the setting that a report names the folder of it', () => {
  expect(settingWords('upstream.directory.path')).toBe('the folder of ');
  expect(settingWords('https://files.example.org/game/')).toBe('');
});

const ROWS = [
  localized('r3-l2', 'r3', { state: 'current', published_at: 330 }),
  localized('r3-l1', 'r3', { published_at: 320 }),
  row('r3', { state: 'current', published_at: 300 }),
  localized('r2-l1', 'r2', { published_at: 210 }),
  row('r2', { published_at: 200 }),
  row('r1', { published_at: 100 }),
  row('r0', { published_at: 50, state: 'deleted' }),
];
const STATUS = {
  official: { release_id: 'r3' },
  localized: { release_id: 'r3-l2' },
  attestation: { authorizes: { official: 'r3', localized: 'r3-l2', retained: ['r2', 'r3-l1'] } },
} as unknown as ReleaseStatus;

function titles(
  id: string,
  rows: readonly ReleaseRow[] = ROWS,
  status: ReleaseStatus | null = STATUS,
): string[] {
  const found = rows.find((each) => each.release_id === id)!;
  return releaseActions(found, rows, status).map(({ title }) => title);
}

function predecessorId(id: string, rows: readonly ReleaseRow[]): string | undefined {
  return predecessorOf(
    rows.find((each) => each.release_id === id)!,
    rows,
  )?.release_id;
}

describe('the actions of a page of releases', () => {
  describe('the actions of a release', () => {
    it('are those that the daemon would not refuse', () => {
      expect(Object.fromEntries(ROWS.map(({ release_id: id }) => [id, titles(id)]))).toEqual({
        'r3-l2': ['Verify'],
        'r3-l1': ['Verify'],
        r3: ['Verify'],
        // It was made for another base, and nothing needs it.
        'r2-l1': ['Verify', 'Clean up …'],
        // Clients may still download a retained release, and a localized one is built on it.
        r2: ['Verify'],
        r1: ['Verify', 'Clean up …'],
        r0: [],
      });
    });

    it('begin with the remedy of a damaged release', () => {
      const damaged = row('r9', {
        state: 'damaged',
        artifact_integrity: { checked_at: 1, ok: false, damaged: 2 },
      });
      expect(titles('r9', [...ROWS, damaged])[0]).toBe('Repair 2 files');
    });

    it('has a rollback where the page Publish offers it: from the current one, and to one of the same base', () => {
      const offered = ROWS.filter((each) => canRollBack(each, STATUS)).map(({ release_id: id }) => id);
      expect(offered).toEqual(['r3-l2', 'r3-l1']);
      expect(ROWS.some((each) => canRollBack(each, null))).toBe(false);
      expect(canRollBack(localized('r3-l0', 'r3', { state: 'rolled_back' }), STATUS)).toBe(false);
    });

    it('offer no clean-up while the state of the channels is unknown', () => {
      expect([titles('r3-l1', ROWS, null), titles('r1', ROWS, null)]).toEqual([['Verify'], ['Verify']]);
    });
  });

  describe('a release among others', () => {
    it('tells that it was taken back, unless it is current again', () => {
      const undone = { reviewer: 'Rin', reason: 'only a try' };
      const history = [
        { localized_release_id: 'r3-l1', rolled_back: undone },
        { localized_release_id: 'r3-l2', rolled_back: undone },
        { localized_release_id: 'r2-l1', rolled_back: null },
      ];
      const found = ROWS.filter((each) => isRolledBack(each, history)).map(({ release_id: id }) => id);
      expect(found).toEqual(['r3-l1']);
      expect(isRolledBack(localized('x', 'r3', { state: 'rolled_back' }), undefined)).toBe(true);
    });

    it('has the release of its channel before it as predecessor', () => {
      expect(['r3-l2', 'r3', 'r1', 'r0'].map((id) => predecessorId(id, ROWS))).toEqual([
        'r3-l1',
        'r2',
        'r0',
        undefined,
      ]);
    });

    it('keeps its predecessor after a rollback to it, which publishes the predecessor again', () => {
      const rows = ROWS.map((each) => (each.release_id === 'r3-l1' ? { ...each, published_at: 340 } : each));
      expect(['r3-l2', 'r3-l1'].map((id) => predecessorId(id, rows))).toEqual(['r3-l1', 'r2-l1']);
    });

    it('has no predecessor whose content is not known', () => {
      const rows = ROWS.map((each) => (each.release_id === 'r2' ? { ...each, manifest: null } : each));
      expect(predecessorId('r3', rows)).toBe('r1');
    });

    it('is served as the attestation says', () => {
      expect(['r3', 'r2', 'r1'].map((id) => servingOf({ release_id: id }, STATUS))).toEqual([
        'current',
        'retained',
        'none',
      ]);
      expect(servingOf({ release_id: 'r3' }, null)).toBeNull();
    });

    it('is sorted by the column of the address', () => {
      const ids = (by: string, isDescending: boolean): string =>
        sortReleases(ROWS, { by, isDescending })
          .map(({ release_id: id }) => id)
          .join(' ');
      expect(ids('published', false)).toBe('r0 r1 r2 r2-l1 r3 r3-l1 r3-l2');
      expect(ids('state', true).startsWith('r3-l1 r2-l1 r2 r1')).toBe(true);
      expect(ids('nonsense', true)).toBe(ROWS.map(({ release_id: id }) => id).join(' '));
    });
  });
});

const TASK = exampleOf(REPORTS['task.status'].answer).task;

describe('the checks of a release', () => {
  it('are the tasks that read or mended it, with the result for it alone', () => {
    const verify = {
      ...TASK,
      kind: 'verify',
      result: {
        releases: [
          { release_id: 'r1', damaged: 0 },
          { release_id: 'r2', damaged: 2 },
        ],
      },
    };
    const repair = { ...TASK, kind: 'repair', args: { release_id: 'r2' }, result: null };
    const sync = { ...TASK, kind: 'sync', args: { release_id: 'r2' } };
    const other = { ...TASK, kind: 'verify', args: {}, result: { releases: 'none' } };
    const found = checksOf([repair, verify, sync, other], 'r2');
    expect(found.map(({ task, outcome }) => [task.kind, outcome])).toEqual([
      ['repair', ''],
      ['verify', '2 damaged'],
    ]);
    expect(checksOf([verify], 'r3')).toEqual([]);
  });
});

/** Files of a release and the number of their bytes, which is their content, too. */
type Files = Readonly<Record<string, number>>;

function entriesOf(files: Files): ManifestEntry[] {
  return Object.entries(files)
    .sort(([left], [right]) => compareDestinations(left, right))
    .map(([destination, size]) => ({
      destination,
      size,
      blake3: String(size),
      crc64: '0',
      source: 'official',
      media_type: 'text/plain',
    }));
}

/** A server with one release, which answers pages of at most three entries. */
function serverOf(files: Files): { read: ReadEntries; asked: number[]; snapshot: string } {
  const entries = entriesOf(files);
  const server = {
    asked: [] as number[],
    snapshot: 'one',
    read: async ({ offset, limit }: { offset: number; limit: number }, signal: AbortSignal) => {
      server.asked.push(offset);
      await Promise.resolve();
      signal.throwIfAborted();
      const items = entries.slice(offset, offset + Math.min(limit, 3));
      return { snapshot_id: server.snapshot, total: entries.length, items };
    },
  };
  return server;
}

const never = new AbortController().signal;

async function foldersOf(left: Files, right: Files, most?: number): Promise<ChangedFolders> {
  const folders = new ChangedFolders(most);
  const sides = [serverOf(left), serverOf(right)].map(({ read }) => new EntryCursor(read, never));
  const [first, second] = sides as [EntryCursor, EntryCursor];
  await mergeEntries(first, second, (pair, place) => {
    folders.add(pair, place);
    return 'next';
  });
  folders.finish({ left: first.position, right: second.position });
  return folders;
}

function text({ left, right }: EntryPair): string {
  if (left === null) return `+${right?.destination}`;
  return right === null ? `-${left.destination}` : `~${left.destination}`;
}

async function filesOf(left: Files, right: Files, path: string, most?: number): Promise<string[]> {
  const folders = await foldersOf(left, right, most);
  const folder = folders.folder(path) as ChangedFolder;
  const read = { left: serverOf(left).read, right: serverOf(right).read };
  const found: string[] = [];
  for (let from = folder.firstFile; from !== null;) {
    const part = await readFolder(read, folders, folder, { from, most: 2, signal: never });
    found.push(...part.pairs.map(text));
    from = part.next;
  }
  expect(found).toHaveLength(folder.files);
  return found;
}

const LEFT: Files = {
  'Android/a.bundle': 10,
  'Android/b.bundle': 20,
  'Android/deep/er/x': 5,
  'Android/deep/y': 6,
  'Android-old/z': 1,
  'Audio/one.ogg': 100,
  'Audio/two.ogg': 200,
  'catalog.json': 7,
};
const RIGHT: Files = {
  'Android/a.bundle': 10,
  'Android/b.bundle': 25,
  'Android/deep/er/new': 50,
  'Android/deep/er/x': 5,
  'Audio/one.ogg': 100,
  'Audio/two.ogg': 200,
  'Video/intro.mp4': 1000,
  'a-first.json': 3,
  'catalog.json': 8,
};

describe('the difference of two releases', () => {
  it('folds changes to the folders that contain them', async () => {
    const folders = await foldersOf(LEFT, RIGHT);
    expect(folders.root).toMatchObject({
      totals: {
        added: 3,
        changed: 2,
        removed: 2,
        newBytes: 50 + 1000 + 3 + 25 + 8,
        growth: 1053 + 5 + 1 - 6 - 1,
      },
      files: 2,
      folders: ['Android-old/', 'Android/', 'Video/'],
    });
    expect(folders.folder('Android/')).toMatchObject({
      totals: { added: 1, changed: 1, removed: 1 },
      files: 1,
      folders: ['Android/deep/'],
    });
    // A folder without changes is not kept.
    expect(folders.folder('Audio/')).toBeUndefined();
  });

  it('reads the entries of a folder again, without those of the folders in it', async () => {
    expect(await filesOf(LEFT, RIGHT, '')).toEqual(['+a-first.json', '~catalog.json']);
    expect(await filesOf(LEFT, RIGHT, 'Android/')).toEqual(['~Android/b.bundle']);
    expect(await filesOf(LEFT, RIGHT, 'Android/deep/')).toEqual(['-Android/deep/y']);
    expect(await filesOf(LEFT, RIGHT, 'Android/deep/er/')).toEqual(['+Android/deep/er/new']);
    expect(await filesOf(LEFT, RIGHT, 'Android-old/')).toEqual(['-Android-old/z']);
  });

  it('counts the changes of folders beyond the bound for the folder around them', async () => {
    const folders = await foldersOf(LEFT, RIGHT, 2);
    expect([folders.size, folders.root.folders]).toEqual([2, ['Android-old/']]);
    expect(await filesOf(LEFT, RIGHT, '', 2)).toEqual([
      '~Android/b.bundle',
      '+Android/deep/er/new',
      '-Android/deep/y',
      '+Video/intro.mp4',
      '+a-first.json',
      '~catalog.json',
    ]);
  });

  it('agrees with a comparison of whole lists, for any two releases and any bound', async () => {
    const name = fc.array(fc.constantFrom('a', 'b', 'a-b', 'a.b', '\u{1f600}', '\u{ff5e}'), {
      minLength: 1,
      maxLength: 3,
    });
    const files = fc.dictionary(
      name.map((parts) => `${parts.join('/')}/f`),
      fc.integer({ min: 0, max: 3 }),
      { maxKeys: 25 },
    );
    await fc.assert(
      fc.asyncProperty(files, files, fc.integer({ min: 1, max: 30 }), async (left, right, most) => {
        const folders = await foldersOf(left, right, most);
        const expected = [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
          (each) => left[each] !== right[each],
        );
        const found: string[] = [];
        const collect = async (path: string): Promise<void> => {
          found.push(...(await filesOf(left, right, path, most)));
          for (const inner of folders.folder(path)?.folders ?? []) await collect(inner);
        };
        await collect('');
        expect(found.map((line) => line.slice(1)).sort()).toEqual(expected.sort());
        const { added, changed, removed } = folders.root.totals;
        expect(added + changed + removed).toBe(expected.length);
      }),
      { numRuns: 150 },
    );
  });

  it('compares content, not size', () => {
    const [entry] = entriesOf({ a: 1 });
    const other = { ...(entry as ManifestEntry), blake3: 'other' };
    expect([isSame({ left: entry!, right: entry! }), isSame({ left: entry!, right: other })]).toEqual([
      true,
      false,
    ]);
  });
});

describe('a comparison in the page', () => {
  async function ended({ state }: Comparison): Promise<void> {
    await expect.poll(() => state.value.phase).not.toBe('reading');
  }

  it('tells how far it is, and keeps entries only while their folder is open', async () => {
    const comparison = startComparison({ left: serverOf(LEFT).read, right: serverOf(RIGHT).read });
    const seen: number[] = [];
    onTestFinished(comparison.state.subscribe(({ read }) => seen.push(read)));
    await ended(comparison);
    expect(comparison.state.value).toMatchObject({ phase: 'done', read: 17, total: 17 });
    expect(seen.length).toBeGreaterThan(4);
    const root = comparison.folders.root;
    comparison.open(root);
    expect(comparison.entries('')).toMatchObject({ isLoading: true, pairs: [] });
    await expect
      .poll(() => comparison.entries('')?.pairs.map(text))
      .toEqual(['+a-first.json', '~catalog.json']);
    expect(comparison.entries('')).toMatchObject({ hasMore: false, isLoading: false });
    comparison.close('');
    expect(comparison.entries('')).toBeUndefined();
  });

  it('asks nothing more after it was cancelled, and keeps what it knows', async () => {
    const left = serverOf(LEFT);
    const comparison = startComparison({ left: left.read, right: serverOf(RIGHT).read });
    await expect.poll(() => comparison.folders.size).toBeGreaterThan(1);
    comparison.cancel();
    const { length } = left.asked;
    expect(comparison.state.value.phase === 'cancelled' || comparison.state.value.phase === 'done').toBe(
      true,
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(left.asked).toHaveLength(length);
  });

  it('says when a release was built again while it was read', async () => {
    const left = serverOf(LEFT);
    const comparison = startComparison({
      left: async (range, signal) => {
        const page = await left.read(range, signal);
        left.snapshot = 'two';
        return page;
      },
      right: serverOf(RIGHT).read,
    });
    await ended(comparison);
    expect(comparison.state.value).toMatchObject({ phase: 'failed', failure: { name: 'ReleaseMoved' } });
  });
});
