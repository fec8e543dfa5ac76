import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BLOCK_BYTES } from '../../../src/domain/release/blocks.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { BlockCache } from '../../../src/server/bytes/block-cache.ts';
import { ChunkCursor } from '../../../src/server/bytes/chunk-cursor.ts';
import { DescriptorCache } from '../../../src/server/bytes/descriptor-cache.ts';
import { EXTENT_BYTES } from '../../../src/server/bytes/extents.ts';
import { InFlightBudget, SLICE_BYTES } from '../../../src/server/bytes/in-flight-budget.ts';
import { ReadBuffers } from '../../../src/server/bytes/read-buffers.ts';

const digest = (name: string): Blake3Hex => name.padEnd(64, '0') as Blake3Hex;
const entry = (name: string): ManifestEntry => ({ blake3: digest(name), size: 1 }) as ManifestEntry;

interface Probe {
  readonly name: string;
  closed: number;
  close(): Promise<void>;
}

function descriptors(limit: number): { cache: DescriptorCache<Probe>; opened: Probe[]; errors: unknown[] } {
  const opened: Probe[] = [];
  const errors: unknown[] = [];
  const cache = new DescriptorCache<Probe>({
    limit,
    open: async ({ blake3 }) => {
      const probe: Probe = {
        name: blake3.replaceAll('0', ''),
        closed: 0,
        close: async () => {
          probe.closed += 1;
          return await Promise.resolve();
        },
      };
      opened.push(probe);
      return await Promise.resolve(probe);
    },
    onCloseError: (error) => errors.push(error),
  });
  return { cache, opened, errors };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('bounded memory', () => {
  test('the block cache keeps to its budget and evicts the least recently used block', () => {
    const cache = new BlockCache(33_000, new ReadBuffers(0));
    for (const name of ['a', 'b', 'c']) cache.put(digest(name), 0, Buffer.alloc(10_000));
    expect(cache.get(digest('a'), 0)).toBeDefined();
    cache.put(digest('d'), 0, Buffer.alloc(10_000));
    expect(cache.bytes).toBe(30_000);
    expect(cache.get(digest('b'), 0)).toBeUndefined();
    expect(cache.get(digest('a'), 0)).toBeDefined();
    cache.put(digest('a'), 0, Buffer.alloc(10_000));
    cache.put(digest('e'), 0, Buffer.alloc(33_000));
    expect(cache.bytes).toBe(30_000);
    cache.dropOwner(digest('a'));
    cache.dropOwner(digest('a'));
    expect(cache.bytes).toBe(20_000);
    cache.clear();
    expect(cache.bytes).toBe(0);
  });

  test('all extents of one owner are dropped, those that were evicted in between included', () => {
    const cache = new BlockCache(10 * 10_512, new ReadBuffers(0));
    for (let extent = 0; extent < 12; extent += 1) cache.put(digest('a'), extent, Buffer.alloc(10_000));
    cache.put(digest('b'), 7, Buffer.alloc(10_000));
    cache.get(digest('a'), 9);
    cache.dropOwner(digest('a'));
    expect(cache.bytes).toBe(10_000);
    expect(cache.get(digest('b'), 7)).toBeDefined();
    cache.put(digest('a'), 3, Buffer.alloc(10_000));
    cache.dropOwner(digest('a'));
    expect(cache.bytes).toBe(10_000);
  });

  test('the memory of an evicted block is reused once no response sends it', () => {
    const buffers = new ReadBuffers(1024 * 1024);
    const cache = new BlockCache(80_000, buffers);
    const first = buffers.take(65_536);
    cache.put(digest('a'), 0, first);
    buffers.giveBack(first);
    const sent = cache.get(digest('a'), 0, 100, 200) ?? Buffer.alloc(0);
    expect(sent).toHaveLength(100);
    cache.put(digest('b'), 0, Buffer.alloc(70_000));
    expect(cache.get(digest('a'), 0)).toBeUndefined();
    expect(buffers.spareBytes).toBe(0);
    buffers.giveBack(sent);
    expect(buffers.spareBytes).toBe(65_536);
    const dropped = buffers.take(65_536);
    cache.put(digest('c'), 0, dropped);
    buffers.giveBack(dropped);
    cache.dropOwner(digest('c'));
    expect(buffers.spareBytes).toBe(65_536);
  });

  test('passes over a whole release evict nothing that is popular', () => {
    const cache = new BlockCache(20 * 10_512, new ReadBuffers(0));
    const ask = (name: string, block: number): boolean => {
      const wanted = cache.wants(digest(name), block);
      if (cache.get(digest(name), block) !== undefined) return true;
      if (wanted) cache.put(digest(name), block, Buffer.alloc(10_000));
      return false;
    };
    for (let round = 0; round < 3; round += 1) {
      for (let block = 0; block < 10; block += 1) ask('a', block);
    }
    for (let pass = 0; pass < 4; pass += 1) {
      for (let block = 0; block < 1000; block += 1) ask('b', block);
    }
    expect(Array.from({ length: 10 }, (_, block) => ask('a', block))).not.toContain(false);
    // A later popular block still gets a place.
    for (let round = 0; round < 3; round += 1) ask('c', 0);
    expect(ask('c', 0)).toBe(true);
    expect(cache.bytes).toBeLessThanOrEqual(20 * 10_000);
  });

  test('tiny blocks are counted with the overhead of keeping them', () => {
    const cache = new BlockCache(1_000_000, new ReadBuffers(0));
    for (let block = 0; block < 10_000; block += 1) cache.put(digest('a'), block, Buffer.alloc(1));
    expect(cache.bytes).toBeLessThan(2000);
  });

  test('a block is cached from its second request, also when many others came between', () => {
    const cache = new BlockCache(30, new ReadBuffers(0));
    expect(cache.wants(digest('a'), 1)).toBe(false);
    expect(cache.wants(digest('a'), 2)).toBe(false);
    for (let block = 0; block < 30_000; block += 1) cache.wants(digest('b'), block);
    expect(cache.wants(digest('a'), 1)).toBe(true);
    for (let block = 0; block < 100_000; block += 1) cache.wants(digest('c'), block);
    expect(cache.wants(digest('a'), 2)).toBe(false);
    expect(new BlockCache(0, new ReadBuffers(0)).wants(digest('a'), 1)).toBe(false);
  });

  test('near the budget only slices are granted, and released bytes are available again', () => {
    const budget = new InFlightBudget(1_000_000);
    expect(budget.take(700_000)).toBe(700_000);
    expect(budget.take(200_000)).toBe(SLICE_BYTES);
    expect(budget.take(10)).toBe(10);
    budget.giveBack(700_000);
    expect(budget.take(200_000)).toBe(200_000);
    for (const granted of [200_000, SLICE_BYTES, 10]) budget.giveBack(granted);
    expect(budget.used).toBe(0);
  });

  test('descriptors are shared, and those idle the longest are closed beyond the limit', async () => {
    const { cache, opened } = descriptors(2);
    const leases = await Promise.all(
      ['a', 'a', 'b', 'c'].map(async (name) => await cache.acquire(entry(name), 1)),
    );
    expect(opened.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    // All in use: none may be closed.
    expect(cache.open).toBe(3);
    for (const lease of leases) {
      lease.release();
      lease.release();
    }
    await settled();
    expect(opened.map(({ closed }) => closed)).toEqual([1, 0, 0]);
    expect(cache.open).toBe(2);
  });

  test('a switch closes idle descriptors immediately and those in use at their end', async () => {
    const { cache, opened } = descriptors(10);
    const busy = await cache.acquire(entry('a'), 1);
    (await cache.acquire(entry('b'), 1)).release();
    const fresh = await cache.acquire(entry('a'), 2);
    await settled();
    expect(opened.map(({ name, closed }) => [name, closed])).toEqual([
      ['a', 0],
      ['b', 1],
      ['a', 0],
    ]);
    busy.release();
    fresh.release();
    await settled();
    expect(opened.map(({ closed }) => closed)).toEqual([1, 1, 0]);
    // A request that began before the switch changes nothing.
    (await cache.acquire(entry('a'), 1)).release();
    expect(opened).toHaveLength(3);
  });

  test('an object that cannot be opened is retried by the next reader', async () => {
    let fails = true;
    const cache = new DescriptorCache<Probe>({
      limit: 2,
      open: async () => {
        if (fails) throw new Error('not now');
        return await Promise.resolve({ name: 'a', closed: 0, close: async () => await Promise.resolve() });
      },
      onCloseError: () => undefined,
    });
    const results = await Promise.allSettled([cache.acquire(entry('a'), 1), cache.acquire(entry('a'), 1)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    await expect(cache.acquire(entry('a'), 1)).resolves.toBeDefined();
    expect(cache.open).toBe(1);
  });
});

const KIB = 1024;

describe('buffers of reads', () => {
  test('returned memory serves the next read of that length', () => {
    const buffers = new ReadBuffers(KIB * KIB);
    const first = buffers.take(256 * KIB);
    expect(first).toHaveLength(256 * KIB);
    buffers.giveBack(first);
    expect(buffers.spareBytes).toBe(256 * KIB);
    const second = buffers.take(256 * KIB);
    expect(second.buffer).toBe(first.buffer);
    expect(second).toHaveLength(256 * KIB);
    expect(buffers.spareBytes).toBe(0);
  });

  test('memory is never shared by two reads', () => {
    const buffers = new ReadBuffers(KIB * KIB);
    const first = buffers.take(64 * KIB);
    buffers.giveBack(first);
    buffers.giveBack(first);
    expect(buffers.spareBytes).toBe(64 * KIB);
    expect(buffers.take(64 * KIB).buffer).not.toBe(buffers.take(64 * KIB).buffer);
  });

  test('bytes from elsewhere are left to their owners', () => {
    const buffers = new ReadBuffers(KIB * KIB);
    buffers.giveBack(Buffer.alloc(64 * KIB));
    buffers.giveBack(Buffer.from('from the pool of Node'));
    expect(buffers.spareBytes).toBe(0);
  });

  test('shared memory is returned with its last view, however often one view is returned', () => {
    const buffers = new ReadBuffers(KIB * KIB);
    const whole = buffers.take(KIB * KIB);
    whole.fill(7);
    const part = buffers.share(whole, 10, 20);
    const other = buffers.share(part, 1);
    expect(part).toEqual(Buffer.alloc(10, 7));
    expect(other).toEqual(Buffer.alloc(9, 7));
    for (const view of [whole, other, whole, other]) buffers.giveBack(view);
    expect(buffers.spareBytes).toBe(0);
    buffers.giveBack(part);
    expect(buffers.spareBytes).toBe(KIB * KIB);
    expect(buffers.take(KIB * KIB).buffer).toBe(whole.buffer);
  });

  test('memory is no longer than its bytes', () => {
    const buffers = new ReadBuffers(KIB * KIB);
    const [fitting, odd] = [buffers.take(64 * KIB), buffers.take(65 * KIB)];
    expect([fitting, odd].map(({ buffer }) => buffer.byteLength)).toEqual([64 * KIB, 65 * KIB]);
    for (const each of [fitting, odd]) buffers.giveBack(each);
    expect(buffers.spareBytes).toBe(64 * KIB);
  });

  test('no more than allowed is kept, and only useful sizes', () => {
    const buffers = new ReadBuffers(100 * KIB);
    const taken = [64 * KIB, 64 * KIB, KIB * KIB, KIB * KIB + 1, KIB].map((length) => buffers.take(length));
    for (const each of taken) buffers.giveBack(each);
    expect(buffers.spareBytes).toBe(64 * KIB);
  });
});

const SIZE = 5 * EXTENT_BYTES + 100;

describe('the chunks of a body', () => {
  test('property: chunks cover the parts in order, stay inside one extent, end between blocks, and carry each head once', () => {
    const part = fc
      .tuple(
        fc.nat(SIZE - 1),
        fc.integer({ min: 1, max: 3 * EXTENT_BYTES }),
        fc.string({ minLength: 1, maxLength: 4 }),
      )
      .map(([start, length, head]) => ({ start, end: Math.min(SIZE, start + length), head }));
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.integer({ min: 50_000, max: 2 * EXTENT_BYTES })),
        (parts, lengths) => {
          const cursor = new ChunkCursor(parts, SIZE);
          const covered: { start: number; end: number; head: string }[] = [];
          let previousExtent = -1;
          while (!cursor.done) {
            const length = lengths.next().value;
            const { available } = cursor;
            const chunk = cursor.take(length);
            if (chunk === null) throw new Error('not done, and yet no chunk');
            const taken = chunk.end - chunk.start;
            expect(taken).toBeLessThanOrEqual(Math.min(length, available));
            expect(taken).toBeGreaterThan(0);
            if (taken < Math.min(length, available)) {
              expect(chunk.end % BLOCK_BYTES).toBe(0);
              expect(Math.min(length, available) - taken).toBeLessThan(BLOCK_BYTES);
            }
            const extent = Math.floor(chunk.start / EXTENT_BYTES);
            expect(extent).toBe(Math.floor((chunk.end - 1) / EXTENT_BYTES));
            expect(chunk.continuesExtent).toBe(extent === previousExtent);
            previousExtent = extent;
            const last = covered.at(-1);
            if (chunk.head === '' && last !== undefined) {
              expect(chunk.start).toBe(last.end);
              last.end = chunk.end;
            } else {
              covered.push({ start: chunk.start, end: chunk.end, head: chunk.head });
            }
          }
          expect(covered).toEqual(parts);
          expect(cursor.take(1)).toBeNull();
        },
      ),
    );
  });
});
