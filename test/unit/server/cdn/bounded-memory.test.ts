import { expect, test } from 'vitest';
import type { Blake3Hex } from '../../../../src/domain/digest.ts';
import type { ManifestEntry } from '../../../../src/domain/manifest.ts';
import { BlockCache } from '../../../../src/server/cdn/block-cache.ts';
import { DescriptorCache } from '../../../../src/server/cdn/descriptor-cache.ts';
import { InFlightBudget, SLICE_BYTES } from '../../../../src/server/cdn/in-flight-budget.ts';
import { VerifiedMemory } from '../../../../src/server/cdn/verified-memory.ts';
import type { FileIdentity } from '../../../../src/snapshot/object-reader.ts';

const digest = (name: string): Blake3Hex => name.padEnd(64, '0') as Blake3Hex;
const entry = (name: string): ManifestEntry => ({ blake3: digest(name), size: 1 }) as ManifestEntry;
const identity = (ino: number, ctimeNs = 1n): FileIdentity => ({
  dev: 1n,
  ino: BigInt(ino),
  size: 10n,
  mtimeNs: 1n,
  ctimeNs,
});

test('the block cache keeps to its budget and lets go of what was used longest ago', () => {
  const cache = new BlockCache(30);
  for (const name of ['a', 'b', 'c']) cache.put(digest(name), 0, Buffer.alloc(10));
  expect(cache.get(digest('a'), 0)).toBeDefined();
  cache.put(digest('d'), 0, Buffer.alloc(10));
  expect(cache.bytes).toBe(30);
  expect(cache.get(digest('b'), 0)).toBeUndefined();
  expect(cache.get(digest('a'), 0)).toBeDefined();
  cache.put(digest('a'), 0, Buffer.alloc(10));
  cache.put(digest('e'), 0, Buffer.alloc(31));
  expect(cache.bytes).toBe(30);
  cache.clear();
  expect(cache.bytes).toBe(0);
});

test('a block is wanted from its second request on, also when many others came between', () => {
  const cache = new BlockCache(30);
  expect(cache.wants(digest('a'), 1)).toBe(false);
  expect(cache.wants(digest('a'), 2)).toBe(false);
  for (let block = 0; block < 30_000; block += 1) cache.wants(digest('b'), block);
  expect(cache.wants(digest('a'), 1)).toBe(true);
  for (let block = 0; block < 100_000; block += 1) cache.wants(digest('c'), block);
  expect(cache.wants(digest('a'), 2)).toBe(false);
  expect(new BlockCache(0).wants(digest('a'), 1)).toBe(false);
});

test('beyond the budget only slices are granted, and what is given back can be had again', () => {
  const budget = new InFlightBudget(1_000_000);
  expect(budget.take(900_000)).toBe(900_000);
  expect(budget.take(200_000)).toBe(SLICE_BYTES);
  expect(budget.take(10)).toBe(10);
  budget.giveBack(900_000);
  expect(budget.take(200_000)).toBe(200_000);
  for (const granted of [200_000, SLICE_BYTES, 10]) budget.giveBack(granted);
  expect(budget.used).toBe(0);
});

test('what was verified holds for one state of one file', () => {
  const memory = new VerifiedMemory(2);
  memory.recall(digest('a'), identity(1), 20).add(13);
  const known = memory.recall(digest('a'), identity(1), 20);
  expect([12, 13, 14].map((block) => known.has(block))).toEqual([false, true, false]);
  expect(memory.recall(digest('a'), identity(1, 2n), 20).has(13)).toBe(false);
  expect(memory.recall(digest('a'), identity(1), 20).has(13)).toBe(false);
  memory.recall(digest('a'), identity(1), 20).add(0);
  memory.recall(digest('b'), identity(2), 1);
  memory.recall(digest('c'), identity(3), 1);
  expect(memory.recall(digest('a'), identity(1), 20).has(0)).toBe(false);
  memory.recall(digest('a'), identity(1), 20).add(0);
  memory.forget(digest('a'));
  expect(memory.recall(digest('a'), identity(1), 20).has(0)).toBe(false);
});

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

test('a switch closes what is idle at once and what is in use at its end', async () => {
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

test('an object that cannot be opened is tried again by the next reader', async () => {
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
