import { chmod, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runKeygen } from '../../../../src/cli/keygen/keygen.ts';
import { runVerify } from '../../../../src/cli/verify/verify.ts';
import type { VolumeReport } from '../../../../src/cli/verify/volume-report.ts';
import type { AttestedRelease } from '../../../../src/domain/verdict/attestation.ts';
import { loadSigningKeys } from '../../../../src/attestation/keys.ts';
import { signStatement } from '../../../../src/attestation/sign.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { noFailpoints } from '../../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../../src/platform/hashing/hash-pool.ts';
import { objectPath } from '../../../../src/snapshot/volume/layout.ts';
import { openSnapshotWriter, type SnapshotWriter } from '../../../../src/snapshot/snapshot-writer.ts';
import { sampleFiles } from '../../../support/release-tree.ts';
import {
  attestedSample,
  commitBytes,
  storeRelease,
  type StoredSample,
} from '../../../support/store-release.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const pool = createHashPool({ threads: 1 });
afterAll(async () => {
  await pool.close();
});

const files = sampleFiles();
let directory: string;
let root: string;
let writer: SnapshotWriter;
let release: StoredSample;

beforeEach(async () => {
  directory = await temporaryDirectory();
  root = join(directory, 'volume');
  writer = await openSnapshotWriter({ root, failpoints: noFailpoints, clock: systemClock });
  release = await storeRelease(writer, pool, { id: 'r1', files, serverInfo: Buffer.from('{}') });
});

const pathOf = (name: string): string =>
  objectPath(root, blake3Hex(files.get(name) ?? Buffer.from('absent')));

async function verify(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return await verifyAt(root, ...args);
}

async function verifyAt(
  folder: string,
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const code = await runVerify([folder, ...args], {
    stdout: {
      write: (text) => {
        out += text;
      },
    },
    stderr: {
      write: (text) => {
        err += text;
      },
    },
  });
  return { code, out, err };
}

async function report(...args: string[]): Promise<VolumeReport> {
  return JSON.parse((await verify('--json', ...args)).out) as VolumeReport;
}

/** Publishes an attestation of the release, signed with a new key; returns the public key. */
async function attest(
  storeId = writer.storeId,
  serverInfo?: AttestedRelease['server_info'],
): Promise<string> {
  const keys = join(directory, 'keys');
  const discard = { write: () => true };
  expect(await runKeygen(['--out', keys, '--force'], { stdout: discard, stderr: discard })).toBe(0);
  const loaded = await loadSigningKeys([join(keys, 'signing.key')]);
  if (!loaded.ok) throw new Error(loaded.error.join());
  const { record, snapshotId } = release;
  const envelope = signStatement(
    {
      version: 7,
      issued_at: 1_760_000_000,
      expires_at: 1_760_000_600,
      store_id: storeId,
      verifier: { id: 'https://slipway.dev/daemon', version: '0.1.0', boot_id: 'boot' },
      official: { ...attestedSample(release), server_info: serverInfo },
      localized: null,
      retained: [],
      previous_payload_sha256: null,
    },
    loaded.value.keys,
    new Map([[snapshotId, record.manifest.sha256]]),
  );
  await writer.publishAttestation(envelope, 7);
  return join(keys, 'signing.pub');
}

describe('slipway verify', () => {
  it('accepts a sound volume, and counts objects that no release names', async () => {
    await commitBytes(writer, pool, Buffer.from('orphan'));
    const { code, out } = await verify();
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +official +r1 +9 /m);
    expect(out.trimEnd().endsWith('\nsound')).toBe(true);
    for (const mode of [[], ['--quick']]) {
      const found = await report(...mode);
      expect(found).toMatchObject({ sound: true, store_id: writer.storeId, problems: [] });
      expect(found.objects).toEqual({ referenced: 10, orphans: 1, orphan_bytes: 6, orphan_manifests: 0 });
    }
  });

  it('finds a flipped bit only by reading, and a missing object in any case', async () => {
    const path = pathOf('TableBundles/Excel.zip');
    const bytes = await readFile(path);
    bytes[9] = (bytes[9] ?? 0) ^ 1;
    await chmod(path, 0o644);
    await writeFile(path, bytes);
    expect((await verify('--quick')).code).toBe(0);
    const { code, out } = await verify();
    expect(code).toBe(1);
    expect(out).toContain('official r1: digest_mismatch TableBundles/Excel.zip');
    expect(out).toContain('DAMAGE FOUND');
    await rm(pathOf('empty.bytes'));
    const found = await report('--quick');
    expect(found.releases[0]).toMatchObject({
      damaged: 1,
      examples: [{ destination: 'empty.bytes', status: 'missing' }],
    });
  });

  it.each([
    [
      'a manifest that is cut',
      async () => await truncateWritable(join(root, 'manifests', manifestName()), 99),
    ],
    ['a manifest that is gone', async () => await rm(join(root, 'manifests', manifestName()))],
    [
      'a record that is invalid',
      async () => await truncateWritable(join(root, 'releases/official/r1.json'), 9),
    ],
    ['a FORMAT that is gone', async () => await rm(join(root, 'FORMAT'))],
    [
      'a server-info document that is gone',
      async () => await rm(objectPath(root, blake3Hex(Buffer.from('{}')))),
    ],
  ])('finds %s', async (_, spoil) => {
    await spoil();
    expect((await verify()).code).toBe(1);
    expect((await verify('--quick')).code).toBe(1);
  });

  it('finds a record that does not match its manifest', async () => {
    await writer.removeReleaseRecord('official', release.record.release_id);
    await writer.writeReleaseRecord({
      ...release.record,
      manifest: { ...release.record.manifest, total_bytes: 1, sha256: '0'.repeat(64) },
    });
    expect((await report()).releases[0]?.problems).toHaveLength(2);
  });

  it('verifies the attestation when it has keys', async () => {
    expect((await report()).attestation.status).toBe('none');
    const publicKey = await attest();
    expect((await report()).attestation.status).toBe('not_checked');
    expect((await report('--keys', publicKey)).attestation).toMatchObject({
      status: 'ok',
      version: 7,
      problems: [],
    });
    const strangers = join(directory, 'strangers');
    await mkdir(strangers);
    await writeFile(join(strangers, 'key.pub'), await readFile(publicKey));
    await attest();
    expect((await verify('--keys', strangers)).code).toBe(1);
    expect((await verify('--keys', await attest('another-store'))).code).toBe(1);
    const current = await attest();
    await writer.removeReleaseRecord('official', release.record.release_id);
    expect((await report('--keys', current)).attestation.problems).toHaveLength(1);
  });

  it('checks the server-info document that the attestation names, also without keys', async () => {
    const document = Buffer.alloc(3 * 1024 * 1024, 'x');
    const { blake3, size } = await commitBytes(writer, pool, document);
    await attest(writer.storeId, { blake3, size });
    for (const mode of [[], ['--quick']]) {
      const found = await report(...mode);
      expect(found).toMatchObject({ sound: true, attestation: { status: 'not_checked' } });
      // The document of the manifest is no longer the one of the release.
      expect(found.objects).toMatchObject({ referenced: 10, orphans: 1 });
    }
    const path = objectPath(root, blake3);
    await chmod(path, 0o644);
    await writeFile(path, Buffer.alloc(size, 'y'));
    expect((await report()).releases[0]?.problems).toEqual(['its server-info document: digest_mismatch']);
    await rm(path);
    for (const mode of [[], ['--quick']]) {
      expect((await verify(...mode)).code).toBe(1);
      expect((await report(...mode)).releases[0]?.problems[0]).toMatch(/server-info document.*missing/);
    }
  });

  it('checks one release on request, and reports when it does not exist', async () => {
    await storeRelease(writer, pool, { id: 'r2', files: new Map([['a', Buffer.from('a')]]) });
    const found = await report('--release', 'r2');
    expect(found.releases.map(({ release_id }) => release_id)).toEqual(['r2']);
    expect(found.objects).toBeNull();
    expect((await verify('--release', 'r3')).code).toBe(1);
  });

  it('finds the volume in a data folder, and refuses a folder without one', async () => {
    const data = join(directory, 'data');
    await mkdir(data);
    const none = await verifyAt(data);
    expect([none.code, none.err]).toEqual([2, expect.stringContaining('name the snapshot volume')]);
    await rename(root, join(data, 'snapshot'));
    const { code, out } = await verifyAt(data);
    expect(code).toBe(0);
    expect(out).toContain(` at ${join(data, 'snapshot')}, full check`);
  });

  it('knows a volume by FORMAT, or by objects and manifests together, and no folder by one of these', async () => {
    const other = join(directory, 'other');
    await mkdir(join(other, 'objects'), { recursive: true });
    expect((await verifyAt(other)).code).toBe(2);
    await rename(join(other, 'objects'), join(other, 'manifests'));
    expect((await verifyAt(other)).code).toBe(2);
    await mkdir(join(other, 'objects'));
    expect((await verifyAt(other)).code).toBe(1);
    await rm(join(other, 'objects'), { recursive: true });
    await writeFile(join(other, 'FORMAT'), '');
    expect((await verifyAt(other)).code).toBe(1);
  });

  // A loop of links is refused to every user, and a folder without permission is not refused to root.
  it.each(['data', 'data/snapshot'])('says why %s cannot be read', async (name) => {
    await mkdir(join(directory, 'data'));
    const loop = join(directory, name);
    await rm(loop, { recursive: true, force: true });
    await symlink(loop, loop);
    const { code, err } = await verifyAt(join(directory, 'data'));
    expect([code, err]).toEqual([1, expect.stringMatching(/^slipway verify: .*data cannot be read: ELOOP/)]);
  });

  it('ends with 2 for wrong arguments and with 0 for help', async () => {
    expect((await verify('--colour')).code).toBe(2);
    expect((await verify('second')).code).toBe(2);
    expect((await verify('--release', '../x')).code).toBe(2);
    expect((await verify('--keys', join(directory, 'absent'))).code).toBe(2);
    expect((await verify('--help')).out).toContain('Usage: slipway verify');
    const nowhere = await runVerify([join(directory, 'absent')], {
      stdout: { write: () => true },
      stderr: { write: () => true },
    });
    expect(nowhere).toBe(2);
  });
});

function manifestName(): string {
  return `${release.record.manifest.blake3}.ndjson`;
}

async function truncateWritable(path: string, length: number): Promise<void> {
  await chmod(path, 0o644);
  await truncate(path, length);
}
