import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Blake3Hex } from '../../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { BlockCache } from '../../../../src/server/bytes/block-cache.ts';
import { ReadBuffers } from '../../../../src/server/bytes/read-buffers.ts';
import { DescriptorCache } from '../../../../src/server/bytes/descriptor-cache.ts';
import { InFlightBudget, SLICE_BYTES } from '../../../../src/server/bytes/in-flight-budget.ts';
import { VerifiedMemory } from '../../../../src/server/bytes/verified-memory.ts';
import type { FileIdentity } from '../../../../src/snapshot/objects/object-reader.ts';

const digest = (name: string): Blake3Hex => name.padEnd(64, '0') as Blake3Hex;
const entry = (name: string): ManifestEntry => ({ blake3: digest(name), size: 1 }) as ManifestEntry;
const identity = (ino: number, ctimeNs = 1n): FileIdentity => ({
  dev: 1n,
  ino: BigInt(ino),
  size: 10n,
  mtimeNs: 1n,
  ctimeNs,
});

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
  cache.drop(digest('a'), 0);
  cache.drop(digest('a'), 0);
  expect(cache.bytes).toBe(20_000);
  cache.clear();
  expect(cache.bytes).toBe(0);
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
  cache.drop(digest('c'), 0);
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

test('verified marks hold for one state of one file', () => {
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

test.each([31, 32, 33, 1000])(
  'the marks of %i blocks are separate, and all of them are cleared when damage is found',
  (blocks) => {
    const memory = new VerifiedMemory(2);
    const held = memory.recall(digest('a'), identity(1), blocks);
    for (let block = 0; block < blocks; block += 2) held.add(block);
    const marks = Array.from({ length: blocks }, (_, block) => held.has(block));
    expect(marks).toEqual(marks.map((_, block) => block % 2 === 0));
    memory.forget(digest('a'));
    expect(marks.map((_, block) => held.has(block))).not.toContain(true);
  },
);

test('property: remembered blocks were verified in this state, and the latest one is remembered', () => {
  const operation = fc.record({
    object: fc.nat(30),
    state: fc.nat(2),
    block: fc.nat(39),
    kind: fc.constantFrom('add', 'ask', 'forget'),
  });
  fc.assert(
    fc.property(
      fc.array(operation, { maxLength: 300 }),
      fc.constantFrom(1, 3, 8, 16, 40),
      (operations, limit) => {
        const memory = new VerifiedMemory(limit);
        const name = (object: number): Blake3Hex =>
          `${(object % 7).toString(16)}${object.toString(16).padStart(3, '0')}`.padEnd(64, '0') as Blake3Hex;
        const truth = new Map<number, { state: number; blocks: Set<number> }>();
        for (const { object, state, block, kind } of operations) {
          if (kind === 'forget') {
            memory.forget(name(object));
            truth.delete(object);
            continue;
          }
          let known = truth.get(object);
          if (known?.state !== state) truth.set(object, (known = { state, blocks: new Set() }));
          const recalled = memory.recall(name(object), identity(object, BigInt(state)), object % 2 ? 40 : 20);
          const at = object % 2 ? block : block % 20;
          // It may have been evicted meanwhile, but it never knows more than was verified.
          if (recalled.has(at)) expect(known.blocks.has(at)).toBe(true);
          if (kind === 'add') {
            known.blocks.add(at);
            recalled.add(at);
            expect(memory.recall(name(object), identity(object, BigInt(state)), 40).has(at)).toBe(true);
          }
        }
      },
    ),
  );
});

test('a reader that holds the marks of an evicted object sees nothing of its replacement', () => {
  const memory = new VerifiedMemory(1);
  const held = memory.recall(digest('a'), identity(1), 20);
  memory.recall(digest('b'), identity(2), 20).add(3);
  expect(held.has(3)).toBe(false);
  held.add(4);
  expect(memory.recall(digest('b'), identity(2), 20).has(4)).toBe(false);
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
