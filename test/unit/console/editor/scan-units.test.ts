import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import {
  SCAN_LIMIT,
  scanUnits,
  type FoundUnit,
  type ScanProgress,
  type UnitPage,
} from '../../../../src/console/translate/editor/scan-units.ts';

const [EXAMPLE] = REPORTS['parse.text_units'].answer.schema.parse(
  REPORTS['parse.text_units'].answer.example,
).items;

/** A container of `total` units whose pages hold at most `most` of them. */
function container(total: number, most = Infinity) {
  const asked: number[] = [];
  const read = async (offset: number, limit: number): Promise<UnitPage> => {
    asked.push(limit);
    if (EXAMPLE === undefined) throw new Error('no example');
    const length = Math.max(0, Math.min(limit, most, total - offset));
    const items = Array.from({ length }, (_, at) => ({ ...EXAMPLE, unit_id: `u${offset + at}` }));
    return { items, total, next_offset: offset + length < total ? offset + length : null };
  };
  return { read, asked };
}

async function scan(
  { read }: ReturnType<typeof container>,
  isWanted: (id: string) => boolean,
  { from = 0, enough = Infinity }: { readonly from?: number; readonly enough?: number } = {},
): Promise<{ found: number[]; end: ScanProgress | null }> {
  const found: FoundUnit[] = [];
  const end = await scanUnits({
    read,
    from,
    enough,
    isWanted: ({ unit_id: id }) => isWanted(id),
    onPage: (page) => found.push(...page),
    signal: new AbortController().signal,
  });
  return { found: found.map(({ index }) => index), end };
}

describe('a search in the units of a container', () => {
  it('tells where the matches are, also when pages end early', async () => {
    const { found, end } = await scan(container(2500, 700), (id) => id === 'u3' || id === 'u2499');
    expect(found).toEqual([3, 2499]);
    expect(end).toEqual({ read: 2500, total: 2500, next: null });
  });

  it('ends with enough matches, and continues from there', async () => {
    const units = container(5000);
    const first = await scan(units, (id) => id.endsWith('00'), { enough: 5 });
    expect([first.found.length, first.end?.next]).toEqual([9, 1000]);
    const next = await scan(units, (id) => id.endsWith('00'), { from: 1000, enough: 1 });
    expect(next.found[0]).toBe(1000);
  });

  it('reads a bounded part of a container of a million', async () => {
    const units = container(1_000_000, 900);
    const { end } = await scan(units, () => false);
    expect(end).toEqual({ read: SCAN_LIMIT, total: 1_000_000, next: SCAN_LIMIT });
    expect(Math.max(...units.asked)).toBeLessThanOrEqual(1000);
  });

  it('stops when the person stops it', async () => {
    const stop = new AbortController();
    const { read } = container(5000);
    const pages: number[] = [];
    const end = await scanUnits({
      read,
      from: 0,
      enough: Infinity,
      isWanted: () => true,
      onPage: (page) => {
        pages.push(page.length);
        stop.abort();
      },
      signal: stop.signal,
    });
    expect([end, pages]).toEqual([null, [1000]]);
  });
});
