import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import {
  follow,
  isAtEnd,
  MAX_SPACE,
  placeAt,
  rowAfterKey,
  spaceOf,
  topToShow,
  windowAt,
  type Place,
} from '../../../src/console/components/virtual-rows.tsx';
import { flatten, keyTarget } from '../../../src/console/components/tree.tsx';
import { leastWidth, tracksOf, withWidth } from '../../../src/console/components/virtual-table.tsx';
import {
  PageCache,
  PagedSource,
  type ListPage,
  type PageRange,
} from '../../../src/console/state/paged-source.ts';

/** A server with a list of numbers; it answers when the test lets it. */
class FakeServer {
  total = 1000;
  generation = 1;
  isDown = false;
  /** The most items of one answer; with it the answers tell where the next page begins. */
  most: number | null = null;
  readonly asked: PageRange[] = [];
  readonly aborted: number[] = [];
  readonly #waiting: (() => void)[] = [];

  readonly load = async (range: PageRange, signal: AbortSignal): Promise<ListPage<string>> => {
    this.asked.push(range);
    signal.addEventListener('abort', () => this.aborted.push(range.offset));
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (signal.aborted) throw new DOMException('aborted', 'AbortError');
    if (this.isDown) throw new ApiFailure('down');
    return this.#answer(range);
  };

  #answer({ offset, limit }: PageRange): ListPage<string> {
    const wanted = Math.max(0, Math.min(limit, this.most ?? limit, this.total - offset));
    const items = Array.from({ length: wanted }, (_, index) => `${this.generation}:${offset + index}`);
    const end = offset + wanted;
    return {
      total: this.total,
      items,
      generation: this.generation,
      ...(this.most === null ? {} : { next_offset: end < this.total ? end : null }),
    };
  }

  /** Answers everything that was asked, and what the answers make the page ask next. */
  async answerAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      for (const answer of this.#waiting.splice(0)) answer();
      await vi.advanceTimersByTimeAsync(0);
    }
  }
}

let server: FakeServer;
let source: PagedSource<ListPage<string>>;

async function show(first: number, last: number): Promise<void> {
  source.show(first, last);
  await vi.advanceTimersByTimeAsync(100);
  await server.answerAll();
}

describe('a list that is read in pages', () => {
  const START = 1_700_000_000_000;

  beforeEach(() => {
    vi.useFakeTimers({ now: START });
    server = new FakeServer();
    source = new PagedSource({ load: server.load, pageSize: 100, maxPages: 3 });
  });

  afterEach(() => {
    source.stop();
    vi.useRealTimers();
  });

  describe('a list in pages', () => {
    it('loads only the pages in view, and those close to it', async () => {
      await show(0, 20);
      expect(server.asked).toEqual([{ offset: 0, limit: 100 }]);
      expect([source.row(0), source.row(99), source.row(100)]).toEqual(['1:0', '1:99', undefined]);
      expect(source.state.value).toMatchObject({ value: { total: 1000, edition: 0 }, loadedAt: START + 100 });
      await show(70, 90);
      expect(server.asked.slice(1)).toEqual([{ offset: 100, limit: 100 }]);
    });

    it('asks on where an answer ends early', async () => {
      server.most = 30;
      server.total = 130;
      await show(0, 70);
      expect(server.asked.map(({ offset, limit }) => `${offset}+${limit}`)).toEqual([
        '0+100',
        '30+70',
        '60+40',
        '90+10',
      ]);
      await show(90, 129);
      expect(server.asked.slice(4).map(({ offset, limit }) => `${offset}+${limit}`)).toEqual(['100+100']);
      expect([source.row(95), source.row(129)]).toEqual(['1:95', '1:129']);
    });

    it('aborts requests for pages that were scrolled past, and asks nothing on the way', async () => {
      await show(0, 20);
      source.show(430, 450);
      await vi.advanceTimersByTimeAsync(100);
      for (let first = 500; first < 900; first += 100) {
        source.show(first + 30, first + 50);
        await vi.advanceTimersByTimeAsync(10);
      }
      await vi.advanceTimersByTimeAsync(100);
      await server.answerAll();
      expect(server.aborted).toEqual([400]);
      expect(server.asked.map(({ offset }) => offset)).toEqual([0, 400, 800]);
      expect([source.row(430), source.row(830)]).toEqual([undefined, '1:830']);
      expect(source.state.value.failure).toBeNull();
    });

    it('keeps a bounded number of pages, those shown last', async () => {
      for (const first of [30, 230, 30, 430, 630]) await show(first, first + 10);
      expect([30, 230, 430, 630].map((index) => source.row(index) !== undefined)).toEqual([
        true,
        false,
        true,
        true,
      ]);
    });

    it('refreshes without a gap: the old rows stay until the new ones arrive', async () => {
      await show(130, 150);
      await show(30, 50);
      server.asked.length = 0;
      source.refresh();
      expect([source.row(30), source.row(130)]).toEqual(['1:30', '1:130']);
      await server.answerAll();
      // Other rows are loaded again when they come into view.
      expect(server.asked.map(({ offset }) => offset)).toEqual([0]);
      await show(130, 150);
      expect(server.asked.map(({ offset }) => offset)).toEqual([0, 100]);
      expect(source.state.value.value?.edition).toBe(0);
    });

    it('asks again for an answer that was on its way during a refresh', async () => {
      await show(30, 50);
      source.refresh();
      server.asked.length = 0;
      // The answer that is on its way does not have the change that this refresh is for.
      source.refresh();
      expect(server.asked).toEqual([]);
      await server.answerAll();
      expect(server.asked.map(({ offset }) => offset)).toEqual([0]);
      source.show(30, 51);
      await server.answerAll();
      expect(server.asked).toHaveLength(1);
    });

    it('forgets rows that the list no longer has', async () => {
      await show(30, 50);
      server.total = 40;
      source.refresh();
      await server.answerAll();
      expect([source.row(39), source.row(40), source.state.value.value?.total]).toEqual([
        '1:39',
        undefined,
        40,
      ]);
    });

    it('begins again when another list takes its place', async () => {
      await show(130, 150);
      await show(30, 50);
      server.generation = 2;
      source.refresh();
      await server.answerAll();
      expect([source.row(30), source.row(130)]).toEqual([undefined, undefined]);
      await vi.advanceTimersByTimeAsync(100);
      await server.answerAll();
      expect([source.row(30), source.row(130)]).toEqual(['2:30', undefined]);
      expect(source.state.value.value?.edition).toBe(1);
    });

    it('retries after a failure, with the rows that it has', async () => {
      await show(30, 50);
      server.isDown = true;
      source.refresh();
      await server.answerAll();
      expect(source.state.value).toMatchObject({ failure: { message: 'down' }, nextAt: START + 1100 });
      expect(source.row(30)).toBe('1:30');
      server.isDown = false;
      await vi.advanceTimersByTimeAsync(1000);
      await server.answerAll();
      expect(source.state.value).toMatchObject({ failure: null, nextAt: null });
    });

    it('asks nothing after it was stopped', async () => {
      await show(30, 50);
      source.show(530, 550);
      source.stop();
      await vi.advanceTimersByTimeAsync(1000);
      expect(server.asked).toHaveLength(1);
    });
  });

  describe('the memory of pages', () => {
    it('keeps rows of the older answer until the page is complete', () => {
      const cache = new PageCache<string>({ pageSize: 3, maxPages: 2 });
      cache.put(1, ['a', 'b', 'c'], true);
      cache.age();
      cache.put(1, ['A'], false);
      expect([3, 4, 5, 6].map((index) => cache.row(index))).toEqual(['A', 'b', 'c', undefined]);
      expect(cache.isFresh(1)).toBe(false);
      cache.put(1, ['A', 'B'], true);
      expect([cache.row(4), cache.row(5), cache.isFresh(1)]).toEqual(['B', undefined, true]);
    });
  });
});

const ROW = 36;
const VIEWPORT = 600;
const LONG = { content: 1_000_000 * ROW, viewport: VIEWPORT };

const RANGE = MAX_SPACE - VIEWPORT;

describe('the scrolling of a list', () => {
  const START: Place = { top: 0, scrollTop: 0 };

  describe('the scroll bar of a long list', () => {
    it('is the list itself while a browser can draw it', () => {
      const extent = { content: 100 * ROW, viewport: VIEWPORT };
      expect(spaceOf(extent)).toBe(3600);
      expect(follow(extent, START, 1234)).toEqual({ top: 1234, scrollTop: 1234 });
      expect(placeAt(extent, 9999)).toEqual({ top: 3000, scrollTop: 3000 });
      expect(placeAt({ content: 100, viewport: VIEWPORT }, 50)).toEqual({ top: 0, scrollTop: 0 });
    });

    it('moves in proportion when it is dragged, and reaches both ends', () => {
      expect(spaceOf(LONG)).toBe(MAX_SPACE);
      const middle = follow(LONG, START, RANGE / 2);
      expect(middle.top).toBe((LONG.content - VIEWPORT) / 2);
      expect(follow(LONG, middle, RANGE).top).toBe(LONG.content - VIEWPORT);
      expect(follow(LONG, middle, 0).top).toBe(0);
    });

    it('moves pixel by pixel with the wheel', () => {
      const middle = follow(LONG, START, RANGE / 2);
      const next = follow(LONG, middle, middle.scrollTop + 100);
      expect([next.top - middle.top, next.scrollTop - middle.scrollTop]).toEqual([100, 100]);
    });

    it('reaches every row with the wheel, even where the bar arrives at its end first', () => {
      let place = placeAt(LONG, 20_000);
      for (let turns = 0; turns < 1000 && place.top > 0; turns += 1) {
        place = follow(LONG, place, Math.max(0, place.scrollTop - 100));
      }
      expect(place).toEqual({ top: 0, scrollTop: 0 });
      place = placeAt(LONG, LONG.content - VIEWPORT - 20_000);
      for (let turns = 0; turns < 1000 && place.top < LONG.content - VIEWPORT; turns += 1) {
        place = follow(LONG, place, Math.min(RANGE, place.scrollTop + 100));
      }
      expect(place).toEqual({ top: LONG.content - VIEWPORT, scrollTop: RANGE });
    });

    it('never leaves the list, whatever the bar does', () => {
      const moves = fc.array(
        fc.oneof(fc.integer({ min: -900, max: 900 }), fc.integer({ min: -RANGE, max: RANGE })),
      );
      fc.assert(
        fc.property(moves, (deltas) => {
          let place = START;
          for (const delta of deltas) {
            place = follow(LONG, place, Math.min(RANGE, Math.max(0, place.scrollTop + delta)));
            expect(place.top).toBeGreaterThanOrEqual(0);
            expect(place.top).toBeLessThanOrEqual(LONG.content - VIEWPORT);
            expect(place.scrollTop).toBeGreaterThanOrEqual(0);
            expect(place.scrollTop).toBeLessThanOrEqual(RANGE);
          }
        }),
      );
    });
  });

  describe('the rows in view', () => {
    it('are those of the place, with some around them', () => {
      const list = { count: 100, rowHeight: 10, overscan: 2 };
      expect(windowAt({ top: 0, viewport: 50 }, list)).toEqual({ first: 0, last: 6 });
      expect(windowAt({ top: 55, viewport: 50 }, list)).toEqual({ first: 3, last: 12 });
      expect(windowAt({ top: 950, viewport: 50 }, list)).toEqual({ first: 93, last: 99 });
      expect(windowAt({ top: 0, viewport: 50 }, { ...list, count: 0 })).toEqual({ first: 0, last: -1 });
    });

    it('move no further than needed to show a row', () => {
      const view = { top: 100, viewport: 50 };
      expect([5, 10, 14, 15, 99].map((index) => topToShow(view, index, 10))).toEqual([
        50, 100, 100, 110, 950,
      ]);
    });

    it('follow the keys, up to the ends', () => {
      const at = { active: 50, count: 100, page: 9 };
      const keys = ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End', 'x'];
      expect(keys.map((key) => rowAfterKey(key, at))).toEqual([51, 49, 59, 41, 0, 99, null]);
      expect(keys.map((key) => rowAfterKey(key, { ...at, active: 99 }))[0]).toBe(99);
      expect(rowAfterKey('PageUp', { ...at, active: 3 })).toBe(0);
      expect(rowAfterKey('End', { ...at, count: 0 })).toBeNull();
    });
  });
});

const folder = (key: string): Parameters<typeof flatten>[0][number] => ({
  key,
  name: key,
  hasChildren: true,
});
const leaf = (key: string): Parameters<typeof flatten>[0][number] => ({ key, name: key, hasChildren: false });
const CHILDREN: Readonly<Record<string, ReturnType<typeof folder>[] | null>> = {
  audio: [folder('late'), leaf('theme.ogg')],
  late: null,
};
const ROOTS = [folder('audio'), folder('bundles'), leaf('catalog.json')];
const rowsOf = (...open: string[]): ReturnType<typeof flatten> =>
  flatten(ROOTS, new Set(open), ({ key }) => CHILDREN[key] ?? null);

describe('the rows of a tree', () => {
  describe('a tree', () => {
    it('shows the children of open nodes, with their place', () => {
      expect(
        rowsOf('audio').map(({ key, level, position, siblings }) => [key, level, position, siblings]),
      ).toEqual([
        ['audio', 1, 1, 3],
        ['late', 2, 1, 2],
        ['theme.ogg', 2, 2, 2],
        ['bundles', 1, 2, 3],
        ['catalog.json', 1, 3, 3],
      ]);
    });

    it('holds a place for children that have not arrived', () => {
      const rows = rowsOf('audio', 'late');
      expect(rows[2]).toMatchObject({ node: null, level: 3 });
      expect(keyTarget(rows, 2, 'ArrowRight', new Set())).toBeNull();
    });

    it('follows the keys of the tree pattern', () => {
      const open = new Set(['audio']);
      const rows = rowsOf('audio');
      const keys = (at: number): unknown[] =>
        ['ArrowRight', 'ArrowLeft', 'Enter', 'c', 'x', ' '].map((key) => keyTarget(rows, at, key, open));
      // An open node, a closed one inside of it, one without children, and the last root.
      expect(keys(0)).toEqual([1, 'toggle', 'toggle', 4, null, null]);
      expect(keys(1)).toEqual(['toggle', 0, 'toggle', 4, null, null]);
      expect(keys(2)).toEqual([null, 0, 'toggle', 4, null, null]);
      expect(keys(4)).toEqual([null, null, 'toggle', 4, null, null]);
      expect(keyTarget(rows, 4, 'a', open)).toBe(0);
      // Before any row was reached, a character finds one.
      expect([keyTarget(rows, -1, 'b', open), keyTarget(rows, -1, 'Enter', open)]).toEqual([3, null]);
    });
  });

  describe('the columns of a table', () => {
    const columns = [
      { id: 'check', least: 36, grow: 0 },
      { id: 'path', least: 200, grow: 2 },
      { id: 'size', least: 80, grow: 1 },
    ];

    it('have the same tracks in every row, whatever is in them', () => {
      expect(tracksOf(columns, {})).toBe('36px minmax(200px, 2fr) minmax(80px, 1fr)');
      expect(leastWidth(columns, {})).toBe(316);
    });

    it('keep the width that the reader chooses, within bounds', () => {
      const chosen = withWidth(withWidth({}, 'path', 320.4), 'size', 3);
      expect(tracksOf(columns, chosen)).toBe('36px 320px 48px');
      expect(leastWidth(columns, chosen)).toBe(404);
      expect(withWidth({}, 'size', 99_999)).toEqual({ size: 1200 });
    });
  });
});

it('knows the end of a list, where the last row stays whole when rows become higher', () => {
  expect(isAtEnd({ content: 240, viewport: 208 }, 32)).toBe(true);
  expect(isAtEnd({ content: 240, viewport: 208 }, 20)).toBe(false);
  // All of it is in view: the reader is at the beginning too, and stays there.
  expect(isAtEnd({ content: 200, viewport: 208 }, 0)).toBe(false);
});
