import { describe, expect, it, onTestFinished } from 'vitest';
import { generateRelease, manifestEntry } from '../support/generate-release.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import type { UpstreamFault } from '../support/upstream-faults.ts';
import { startUpstreamServer, type UpstreamServer } from '../support/upstream-server.ts';

const FIRST = generateRelease({ releaseId: 'r1', seed: 1, serverInfoRoot: 'https://patch.invalid/r1' });
const SECOND = generateRelease({ releaseId: 'r2', seed: 2, serverInfoRoot: 'https://patch.invalid/r2' });
const VICTIM = [...SECOND.files.keys()].at(-1) ?? '';

interface Served {
  readonly system: TestSystem;
  readonly upstream: UpstreamServer;
  /** Puts the second release upstream, changed as the test wants. */
  readonly publish: (change?: (tree: Map<string, Buffer>) => void) => void;
}

/** A system that serves the first release of an upstream that the test controls. */
async function served(): Promise<Served> {
  const upstream = await startUpstreamServer({ files: FIRST.manifestTree() });
  onTestFinished(async () => await upstream.close());
  const system = await startSystem({
    upstream: {
      kind: 'manifest',
      manifest: { url: `${upstream.url}/` },
      maxAttempts: 3,
      backoffBaseMs: 5,
      backoffCapMs: 50,
      stallTimeoutMs: 700,
      headersTimeoutMs: 2000,
      connectTimeoutMs: 2000,
    },
  });
  await system.untilReady(true);
  return {
    system,
    upstream,
    publish: (change) => {
      const tree = SECOND.manifestTree();
      change?.(tree);
      upstream.files.clear();
      for (const [path, bytes] of tree) upstream.files.set(path, bytes);
    },
  };
}

async function expectFirstStillServed(system: TestSystem): Promise<void> {
  const verdict = await system.untilReady(true);
  expect(verdict.release_id).toBe('r1');
  for (const [destination, bytes] of FIRST.files) {
    const response = await fetch(system.cdn(destination));
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  }
}

async function expectSecondServed(system: TestSystem): Promise<void> {
  await expect.poll(async () => (await system.untilReady(true)).release_id, { timeout: 60_000 }).toBe('r2');
  for (const [destination, bytes] of SECOND.files) {
    const response = await fetch(system.cdn(destination));
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
  [
    'wrong bytes',
    'digest_mismatch',
    (tree) => tree.set(VICTIM, Buffer.alloc(SECOND.files.get(VICTIM)!.length, 1)),
  ],
  ['a wrong size', 'size_mismatch', (tree) => tree.set(VICTIM, SECOND.files.get(VICTIM)!.subarray(1))],
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
    'a duplicate destination',
    'destination_duplicate',
    (tree) => editCatalog(tree, (entries) => entries.push({ ...entries[0] })),
  ],
  ['an empty release', 'catalog_empty', (tree) => editCatalog(tree, (entries) => entries.splice(0))],
  ['no catalog', 'upstream_not_found', (tree) => tree.delete('release.json')],
  [
    'a catalog that breaks off',
    'upstream_truncated',
    (tree) => tree.set('release.json', tree.get('release.json')!.subarray(0, 200)),
  ],
  ['a catalog that is no JSON', 'catalog_invalid', (tree) => tree.set('release.json', Buffer.from('<html>'))],
];

describe('an upstream that fails', () => {
  it.each(TRANSIENT)('with %s is asked again, and the sync succeeds', async (_name, fault) => {
    const { system, upstream, publish } = await served();
    publish();
    upstream.addFaults(VICTIM, fault);
    expect(await system.run('sync')).toMatchObject({ status: 'succeeded' });
    expect(upstream.requestsOf(VICTIM).length).toBeGreaterThan(0);
    await expectSecondServed(system);
  });

  it('in the middle of a large file is resumed where it broke off', async () => {
    const { system, upstream, publish } = await served();
    publish();
    upstream.addFaults(VICTIM, { kind: 'reset', afterBytes: 2_000_000 });
    expect(await system.run('sync')).toMatchObject({ status: 'succeeded' });
    const resumed = upstream.requestsOf(VICTIM).filter((request) => request.status === 206);
    expect(resumed.length).toBeGreaterThan(0);
    await expectSecondServed(system);
  });

  it.each(PERMANENT)('with %s fails the sync, and what is served stays', async (_name, code, change) => {
    const { system, publish } = await served();
    publish(change);
    const task = await system.run('sync');
    expect([task.status, task.failure_code]).toEqual(['failed', code]);
    expect(task.failure_reason?.length).toBeGreaterThan(10);
    await expectFirstStillServed(system);
    publish();
    expect(await system.run('sync')).toMatchObject({ status: 'succeeded' });
    await expectSecondServed(system);
  });

  it('altogether fails the sync, and what is served stays', async () => {
    const { system, upstream } = await served();
    await upstream.close();
    expect(await system.run('sync')).toMatchObject({
      status: 'failed',
      failure_code: 'upstream_unreachable',
    });
    await expectFirstStillServed(system);
  });

  it('by changing its catalog during the sync gives one release or the other, never a mixture', async () => {
    const { system, upstream, publish } = await served();
    publish();
    const third = generateRelease({ releaseId: 'r3', seed: 3 }).manifestTree();
    // The catalog that the second look sees is another one than the first look saw.
    upstream.addFaults(
      'release.json',
      { kind: 'drip', bytes: 1_000_000, intervalMs: 1 },
      {
        kind: 'replace',
        bytes: third.get('release.json')!,
      },
    );
    const task = await system.run('sync');
    const { release_id } = await system.untilReady(true);
    const expected = release_id === 'r1' ? FIRST : generateRelease({ releaseId: 'r3', seed: 3 });
    expect(['r1', 'r3']).toContain(release_id);
    if (release_id === 'r1') expect(task.status).toBe('failed');
    for (const [destination, bytes] of expected.files) {
      const response = await fetch(system.cdn(destination));
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    }
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
