import { appendFile, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { damageKindOf, reasonOfDamage, type DamageKind } from '../../../../src/domain/verdict/damage-kind.ts';
import { REASONS } from '../../../../src/domain/verdict/reasons.ts';
import type { HashPool } from '../../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../../src/platform/hashing/hash-pool.ts';
import { byteFaultOf } from '../../../../src/server/bytes/byte-fault.ts';
import { createRevalidator } from '../../../../src/server/public/distribution/revalidator.ts';
import { scrubObject } from '../../../../src/server/scrub/scrub-object.ts';
import type { ScrubObject } from '../../../../src/server/scrub/scrub-order.ts';
import { createObjectInspector } from '../../../../src/server/serving/object-inspector.ts';
import { createVerifiedDocumentReader } from '../../../../src/server/serving/verified-document.ts';
import { verifyObject } from '../../../../src/snapshot/objects/object-verifier.ts';
import { blockListPath, objectPath } from '../../../../src/snapshot/volume/layout.ts';
import { patternBytes, serveFiles, startCdn, type CdnFixture } from '../../../support/cdn-fixture.ts';

const SMALL = patternBytes(5000);
const LARGE = patternBytes(2 * 1024 * 1024 + 77, 2);

/** The change of an object: of its files before a reader opens them, or at each hash of it. */
interface Fault {
  readonly bytes?: Buffer;
  readonly before?: (path: string, list: string) => Promise<void>;
  readonly whileHashed?: (path: string) => Promise<void>;
}

const failToRead = async (): Promise<void> =>
  await Promise.reject(Object.assign(new Error('the device fails'), { code: 'EIO' }));

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[100]! ^= 1;
  return copy;
}

interface Found extends CdnFixture {
  readonly entry: ManifestEntry;
  readonly pool: HashPool;
}

async function startWith({ bytes = SMALL, before, whileHashed }: Fault): Promise<Found> {
  const hashes = createHashPool({ threads: 1 });
  onTestFinished(async () => {
    await hashes.close();
  });
  let path = '';
  const meet = async <T>(hash: () => Promise<T>): Promise<T> => {
    await whileHashed?.(path);
    const found = await hash();
    // Each reader meets the same file.
    if (whileHashed !== undefined) await writeFile(path, bytes);
    return found;
  };
  const pool: HashPool = {
    ...hashes,
    hashContent: async (...of) => await meet(async () => await hashes.hashContent(...of)),
    hashBlock: async (...of) => await meet(async () => await hashes.hashBlock(...of)),
  };
  const cdn = await startCdn({ pool });
  const entry = (await serveFiles(cdn, { 'a.bin': bytes })).get('a.bin')!;
  path = objectPath(cdn.root, entry.blake3);
  await before?.(path, blockListPath(cdn.root, entry.blake3));
  return { ...cdn, entry, pool };
}

/** The kind of damage that each part of the server finds. */
async function foundByServer(found: Found): Promise<object> {
  const { root, pool, entry, serving } = found;
  const { signal } = new AbortController();
  const object: ScrubObject = {
    ...entry,
    destination: () => 'a.bin',
    index: serving.state().current.official!.index,
  };
  const answer = await found.request('GET', 'r1/a.bin');
  const scrubbed = await scrubObject({ root, pool, signal, pace: async () => undefined }, object).then(
    () => null,
    (error: unknown) => byteFaultOf(error).kind,
  );
  const revalidated = await createRevalidator({ root, pool, concurrency: 1 }).revalidate(entry);
  const inspected = await createObjectInspector({ root, pool })(entry, null);
  return {
    request: (JSON.parse(answer.body.toString()) as { reason: string }).reason,
    reported: serving.reports[0]?.kind,
    scrub: scrubbed,
    revalidation: revalidated.ok ? null : revalidated.kind,
    inspection: inspected?.kind,
    ...(entry.blocks === undefined ? { document: await foundInDocument(found) } : {}),
  };
}

/** The kind of damage of a server-info document of the same bytes. */
async function foundInDocument({ root, pool, entry }: Found): Promise<DamageKind | null> {
  const document = await createVerifiedDocumentReader({ root, pool })(entry);
  return document.ok ? null : document.error.kind;
}

/** The kind of damage that the daemon finds with `verify`. */
async function foundByDaemon({ root, pool, entry }: Found): Promise<DamageKind | null> {
  const status = await verifyObject({ root, pool, part: entry });
  return status === 'ok' ? null : damageKindOf(status);
}

it.each<readonly [string, DamageKind, Fault]>([
  ['missing', 'missing', { before: async (path) => await rm(path) }],
  ['truncated', 'missing', { before: async (path) => await truncate(path, 4000) }],
  ['truncated while it is read', 'missing', { whileHashed: async (path) => await truncate(path, 4000) }],
  ['longer', 'missing', { before: async (path) => await appendFile(path, 'x') }],
  ['of other bytes', 'damaged', { before: async (path) => await writeFile(path, flipped(SMALL)) }],
  [
    'a folder',
    'missing',
    {
      before: async (path) => {
        await rm(path);
        await mkdir(path);
      },
    },
  ],
  ['failing while it is read', 'missing', { whileHashed: failToRead }],
  ['large and failing while it is read', 'missing', { bytes: LARGE, whileHashed: failToRead }],
  ['without its block list', 'missing', { bytes: LARGE, before: async (_path, list) => await rm(list) }],
  [
    'with a block list of other bytes',
    'damaged',
    { bytes: LARGE, before: async (_path, list) => await writeFile(list, Buffer.alloc(3 * 32)) },
  ],
])('for the server and the daemon, an object that is %s is %s', async (_, kind, fault) => {
  const found = await startWith(fault);
  expect(await foundByDaemon(found)).toBe(kind);
  const revalidatesBlocks = found.entry.blocks !== undefined && fault.before !== undefined;
  expect(await foundByServer(found)).toEqual({
    request: reasonOfDamage(kind),
    reported: kind,
    scrub: kind,
    // A revalidation compares the object alone.
    revalidation: revalidatesBlocks ? null : kind,
    inspection: kind,
    ...(found.entry.blocks === undefined ? { document: kind } : {}),
  });
});

it('the rule is the one that the reasons state', () => {
  expect(REASONS.EntryMissing).toContain('it is missing, has another size or cannot be read');
  const missing = (['missing', 'size_mismatch', 'unreadable'] as const).map(damageKindOf);
  expect(missing.map(reasonOfDamage)).toEqual(['EntryMissing', 'EntryMissing', 'EntryMissing']);
  expect(REASONS.EntryDamaged).toContain('bytes that do not match the manifest');
  expect(reasonOfDamage(damageKindOf('digest_mismatch'))).toBe('EntryDamaged');
});
