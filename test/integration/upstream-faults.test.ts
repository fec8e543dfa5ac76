import { describe, expect, it, onTestFinished } from 'vitest';
import { generateRelease, manifestEntry, type GeneratedRelease } from '../support/generate-release.ts';
import { campaignPart } from '../support/long.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import type { UpstreamFault } from '../support/upstream-faults.ts';
import { startUpstreamServer, type UpstreamServer } from '../support/upstream-server.ts';

/** Release number `generation` of an upstream: each has other bytes under the same names. */
function releaseOf(generation: number): GeneratedRelease {
  const releaseId = `r${generation}`;
  return generateRelease({
    releaseId,
    seed: generation,
    serverInfoRoot: `https://patch.invalid/${releaseId}`,
  });
}

const VICTIM = [...releaseOf(1).files.keys()].at(-1) ?? '';

/** A system and the upstream that it syncs from. */
interface Running {
  readonly system: TestSystem;
  readonly upstream: UpstreamServer;
  /** The served generation; the next test begins with it. */
  generation: number;
}

/** A served release, and a next one that the test publishes. */
interface Served extends Running {
  /** Publishes the next release upstream, with the changes of the test. */
  readonly publish: (change?: (tree: Map<string, Buffer>) => void) => void;
  readonly expectOldServed: () => Promise<void>;
  readonly expectNextServed: () => Promise<void>;
}

async function start(atEnd: AtEnd): Promise<Running> {
  const upstream = await startUpstreamServer({ files: releaseOf(1).manifestTree() });
  atEnd(async () => await upstream.close());
  const system = await startSystem({
    upstream: {
      kind: 'manifest',
      manifest: { url: `${upstream.url}/` },
      maxAttempts: 3,
      backoffBaseMs: 5,
      backoffCapMs: 50,
      // A busy machine is slow for less than this.
      stallTimeoutMs: 4000,
    },
    daemon: WITHOUT_TEXTS,
    atEnd,
  });
  await system.untilReady(true);
  return { system, upstream, generation: 1 };
}

function servedBy(running: Running): Served {
  const { system, upstream, generation } = running;
  const next = releaseOf(generation + 1);
  return {
    ...running,
    publish: (change) => {
      const tree = next.manifestTree();
      change?.(tree);
      upstream.files.clear();
      for (const [path, bytes] of tree) upstream.files.set(path, bytes);
    },
    expectOldServed: async () => {
      expect((await system.untilReady(true)).release_id).toBe(`r${generation}`);
      await expectServed(system, releaseOf(generation));
    },
    expectNextServed: async () => {
      running.generation += 1;
      await expect
        .poll(async () => (await system.untilReady(true)).release_id)
        .toBe(`r${running.generation}`);
      await expectServed(system, next);
    },
  };
}

async function expectServed(system: TestSystem, release: GeneratedRelease): Promise<void> {
  for (const [destination, bytes] of release.files) {
    const response = await fetch(system.cdn(destination));
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  }
}

/** Rewrites the catalog of a tree. */
function editCatalog(tree: Map<string, Buffer>, edit: (entries: object[]) => void): void {
  const document = JSON.parse(String(tree.get('release.json'))) as {
    entries: Array<Record<string, unknown>>;
  };
  edit(document.entries);
  tree.set('release.json', Buffer.from(JSON.stringify(document)));
}

/** Each alone is proved in `test/unit/upstream`; here, the daemon serves meanwhile. */
const TRANSIENT: ReadonlyArray<readonly [string, UpstreamFault]> = [
  ['500 once', { kind: 'status', status: 500 }],
  ['503 twice', { kind: 'status', status: 503, times: 2 }],
  ['429 with Retry-After', { kind: 'status', status: 429, retryAfter: '0' }],
  ['a truncated body', { kind: 'truncate', afterBytes: 1_000_000 }],
  ['a reset connection', { kind: 'reset', afterBytes: 1_500_000 }],
  ['a slow body', { kind: 'drip', bytes: 300_000, intervalMs: 20 }],
  ['a stall', { kind: 'stall', afterBytes: 100_000 }],
  ['wrong bytes once', { kind: 'wrong-bytes' }],
  ['a body without a length', { kind: 'unsized' }],
];

const PERMANENT: ReadonlyArray<readonly [string, string, (tree: Map<string, Buffer>) => void]> = [
  ['a file that is missing', 'upstream_not_found', (tree) => tree.delete(VICTIM)],
  ['wrong bytes', 'digest_mismatch', (tree) => tree.set(VICTIM, Buffer.alloc(tree.get(VICTIM)!.length, 1))],
  ['a wrong size', 'size_mismatch', (tree) => tree.set(VICTIM, tree.get(VICTIM)!.subarray(1))],
  [
    'a destination with ..',
    'destination_invalid',
    (tree) => editCatalog(tree, (entries) => entries.push(manifestEntry('../outside', Buffer.from('x')))),
  ],
  [
    'an absolute destination',
    'destination_invalid',
    (tree) => editCatalog(tree, (entries) => entries.push(manifestEntry('/etc/passwd', Buffer.from('x')))),
  ],
  [
    'control characters in a destination',
    'destination_invalid',
    (tree) => editCatalog(tree, (entries) => entries.push(manifestEntry('a\nb', Buffer.from('x')))),
  ],
  [
    'a destination with two sizes',
    'destination_duplicate',
    (tree) => editCatalog(tree, (entries) => entries.push({ ...entries[0], size: 1 })),
  ],
  ['an empty release', 'catalog_empty', (tree) => editCatalog(tree, (entries) => entries.splice(0))],
  ['no catalog', 'upstream_not_found', (tree) => tree.delete('release.json')],
  [
    'a catalog that breaks off',
    'upstream_truncated',
    (tree) => tree.set('release.json', tree.get('release.json')!.subarray(0, 200)),
  ],
  [
    'a catalog that is not JSON',
    'catalog_invalid',
    (tree) => tree.set('release.json', Buffer.from('<html>')),
  ],
];

describe('an upstream that fails', () => {
  const running = reusedFixture(start);

  it.each(campaignPart(TRANSIENT, 3))('with %s is retried, and the sync succeeds', async (_name, fault) => {
    const { system, upstream, publish, expectNextServed } = servedBy(await running());
    const before = upstream.requestsOf(VICTIM).length;
    publish();
    upstream.addFaults(VICTIM, fault);
    await system.succeed('sync');
    expect(upstream.requestsOf(VICTIM).length).toBeGreaterThan(before);
    await expectNextServed();
  });

  it('in the middle of a large file is resumed where it broke off', async () => {
    const { system, upstream, publish, expectNextServed } = servedBy(await running());
    const before = upstream.requestsOf(VICTIM).length;
    publish();
    upstream.addFaults(VICTIM, { kind: 'reset', afterBytes: 2_000_000 });
    await system.succeed('sync');
    const resumed = upstream
      .requestsOf(VICTIM)
      .slice(before)
      .filter((request) => request.status === 206);
    expect(resumed.length).toBeGreaterThan(0);
    await expectNextServed();
  });

  it.each(campaignPart(PERMANENT, 3))(
    'with %s fails the sync, and the old release stays served',
    async (_name, code, change) => {
      const { system, publish, expectOldServed, expectNextServed } = servedBy(await running());
      publish(change);
      const task = await system.run('sync');
      expect([task.status, task.failure_code]).toEqual(['failed', code]);
      expect(task.failure_reason?.length).toBeGreaterThan(10);
      await expectOldServed();
      publish();
      await system.succeed('sync');
      await expectNextServed();
    },
  );

  it('altogether fails the sync, and the old release stays served', async () => {
    const { system, upstream, expectOldServed } = servedBy(await running());
    await upstream.close();
    expect(await system.run('sync')).toMatchObject({
      status: 'failed',
      failure_code: 'upstream_unreachable',
    });
    await expectOldServed();
    await upstream.reopen();
  });

  it('by changing its catalog during the sync gives one release or the other, never a mixture', async () => {
    const world = await running();
    const { system, upstream, publish } = servedBy(world);
    const [old, newest] = [world.generation, world.generation + 2];
    publish();
    // The second request for the catalog gets another catalog than the first.
    upstream.addFaults(
      'release.json',
      { kind: 'drip', bytes: 1_000_000, intervalMs: 1 },
      {
        kind: 'replace',
        bytes: releaseOf(newest).manifestTree().get('release.json')!,
      },
    );
    const task = await system.run('sync');
    world.generation = task.status === 'succeeded' ? newest : old;
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe(`r${world.generation}`);
    await expectServed(system, releaseOf(world.generation));
    // The next test begins with files that the daemon does not have.
    const after = servedBy(world);
    after.publish();
    await system.succeed('sync');
    await after.expectNextServed();
  });

  it('without any release on the volume leaves the server unready, with the reason', async () => {
    const upstream = await startUpstreamServer({ files: new Map() });
    onTestFinished(async () => await upstream.close());
    const system = await startSystem({
      upstream: { kind: 'manifest', manifest: { url: `${upstream.url}/` }, maxAttempts: 1 },
    });
    const verdict = await system.untilReady(false);
    expect(['AttestationUnavailable', 'ReleaseNotAuthorized']).toContain(verdict.reason);
    expect((await fetch(`${system.serverUrl}/v1/bootstrap`)).status).toBe(503);
  });
});
