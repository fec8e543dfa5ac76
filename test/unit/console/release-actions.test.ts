import { describe, expect, it } from 'vitest';
import type { ReleaseRow } from '../../../src/console/api/wire.ts';
import { releaseActions } from '../../../src/console/releases/release-actions.ts';
import {
  canRollBack,
  predecessorOf,
  servingOf,
  type ReleaseStatus,
} from '../../../src/console/releases/release-facts.ts';
import { isRolledBack } from '../../../src/domain/release/release-history.ts';
import { sortReleases } from '../../../src/console/releases/sort-releases.ts';

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

function predecessorId(id: string, rows: readonly ReleaseRow[]): string | undefined {
  return predecessorOf(
    rows.find((each) => each.release_id === id)!,
    rows,
  )?.release_id;
}

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
