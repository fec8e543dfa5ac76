import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import { PageCache } from '../../../src/console/state/page-cache.ts';
import {
  createPagedSource,
  type ListPage,
  type PagedSource,
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

const START = 1_700_000_000_000;
let server: FakeServer;
let source: PagedSource<ListPage<string>>;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  server = new FakeServer();
  source = createPagedSource({ load: server.load, pageSize: 100, maxPages: 3 });
});

afterEach(() => {
  source.stop();
  vi.useRealTimers();
});

async function show(first: number, last: number): Promise<void> {
  source.show(first, last);
  await vi.advanceTimersByTimeAsync(100);
  await server.answerAll();
}

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
