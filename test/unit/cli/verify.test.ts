import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { keyIdOf, loadSigningKeys } from '../../../src/attestation/keys.ts';
import { signStatement } from '../../../src/attestation/sign.ts';
import { runKeygen } from '../../../src/cli/keygen/keygen.ts';
import type { BaseReport } from '../../../src/cli/verify/base-report.ts';
import { runVerify } from '../../../src/cli/verify/verify.ts';
import type { VolumeReport } from '../../../src/cli/verify/volume-report.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import type { AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import type { SnapshotWriter } from '../../../src/snapshot/snapshot-writer.ts';
import { manifestPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { sampleFiles } from '../../support/release-tree.ts';
import { attestedSample, commitBytes, storeRelease, type StoredSample } from '../../support/store-release.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const files = sampleFiles();
let directory: string;

let release: StoredSample;

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

describe('slipway verify', () => {
  const pool = createHashPool({ threads: 1 });
  afterAll(async () => {
    await pool.close();
  });

  let root: string;
  let writer: SnapshotWriter;

  beforeEach(async () => {
    directory = await temporaryDirectory();
    root = join(directory, 'volume');
    writer = await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock });
    release = await storeRelease(writer, pool, { id: 'r1', files });
  });

  const pathOf = (name: string): string =>
    objectPath(root, blake3Hex(files.get(name) ?? Buffer.from('absent')));

  async function verify(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    return await verifyAt(root, ...args);
  }

  async function report(...args: string[]): Promise<VolumeReport> {
    return JSON.parse((await verify('--json', ...args)).out) as VolumeReport;
  }

  /** Publishes an attestation of the release, signed with a new key; returns the public key. */
  async function attest(storeId = writer.storeId, changes: Partial<AttestedRelease> = {}): Promise<string> {
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
        official: { ...attestedSample(release), ...changes },
        localized: null,
        stale_localized: null,
        retained: [],
        previous_payload_sha256: null,
      },
      loaded.value.keys,
      new Map([[snapshotId, record.manifest.sha256]]),
    );
    await writer.publishAttestation(envelope, 7);
    return join(keys, 'signing.pub');
  }

  it('accepts a sound volume, and counts objects that no release names', async () => {
    await commitBytes(writer, pool, Buffer.from('orphan'));
    const { code, out } = await verify();
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +official +r1 +9 /m);
    expect(out.trimEnd().endsWith('\nall releases intact')).toBe(true);
    for (const mode of [[], ['--quick']]) {
      const found = await report(...mode);
      expect(found).toMatchObject({ sound: true, store_id: writer.storeId, problems: [] });
      expect(found.objects).toEqual({ referenced: 9, orphans: 1, orphan_bytes: 6, orphan_manifests: 0 });
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
    const counts = await attest(undefined, { entry_count: 1, total_bytes: 2 });
    expect((await report('--keys', counts)).attestation.problems).toEqual([
      expect.stringMatching(
        /^entry_count of official release r1 is 1 in the attestation and \d+ in the manifest$/,
      ),
      expect.stringMatching(
        /^total_bytes of official release r1 is 2 in the attestation and \d+ in the manifest$/,
      ),
    ]);
    const current = await attest();
    await writer.removeReleaseRecord('official', release.record.release_id);
    expect((await report('--keys', current)).attestation.problems).toHaveLength(1);
  });

  it('checks the server-info document that the attestation names, also without keys', async () => {
    const document = Buffer.alloc(3 * 1024 * 1024, 'x');
    const { blake3, size } = await commitBytes(writer, pool, document);
    await attest(writer.storeId, { server_info: { blake3, size } });
    for (const mode of [[], ['--quick']]) {
      const found = await report(...mode);
      expect(found).toMatchObject({ sound: true, attestation: { status: 'not_checked' } });
      expect(found.objects).toMatchObject({ referenced: 10, orphans: 0 });
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

const OFFICIAL = new Map(
  Object.entries({ 'a.json': 'おはよう', 'b.json': '先生', 'c.ogg': 'sound', 'd.ogg': 'more' }).map(
    ([name, text]) => [name, Buffer.from(text)],
  ),
);
const PATCHED = Buffer.from('早上好');

let publicKey: string;

let official: StoredSample;
let sign: (of: { readonly localized: StoredSample; readonly base?: string }) => Promise<void>;

describe('slipway verify of a localized release', () => {
  const pool = createHashPool({ threads: 1 });
  afterAll(async () => {
    await pool.close();
  });

  let root: string;

  let writer: SnapshotWriter;

  beforeEach(async () => {
    const directory = await temporaryDirectory();
    root = join(directory, 'volume');
    writer = await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock });
    official = await storeRelease(writer, pool, { id: 'r1', files: OFFICIAL });
    const pair = generateKeyPairSync('ed25519');
    publicKey = join(directory, 'signing.pub');
    await writeFile(publicKey, pair.publicKey.export({ type: 'spki', format: 'pem' }));
    sign = async ({ localized, base = 'r1' }) => {
      const envelope = signStatement(
        {
          version: 7,
          issued_at: 1_760_000_000,
          expires_at: 1_760_000_600,
          store_id: writer.storeId,
          verifier: { id: 'https://slipway.dev/daemon', version: '0.1.0', boot_id: 'boot' },
          official: attestedSample(official),
          localized: { ...attestedSample(localized), base_release_id: base as ReleaseId },
          stale_localized: null,
          retained: [],
          previous_payload_sha256: null,
        },
        [{ keyId: keyIdOf(pair.publicKey), privateKey: pair.privateKey }],
        new Map([official, localized].map(({ snapshotId, record }) => [snapshotId, record.manifest.sha256])),
      );
      await writer.publishAttestation(envelope, 7);
    };
  });

  /** Stores a localized release in which the changes replace files of the official one; a file without bytes is left out. */
  async function localize(
    changes: Readonly<Record<string, Buffer | null>>,
    { patched = ['a.json'], id = 'r1-l1', base = 'r1' } = {},
  ): Promise<StoredSample> {
    const files = new Map<string, Buffer>(OFFICIAL);
    for (const [name, bytes] of Object.entries(changes)) {
      if (bytes === null) files.delete(name);
      else files.set(name, bytes);
    }
    return await storeRelease(writer, pool, { id, files, patched, baseId: base });
  }

  async function verify(...args: string[]): Promise<{ code: number; out: string }> {
    let out = '';
    const code = await runVerify([root, ...args], {
      stdout: {
        write: (text) => {
          out += text;
        },
      },
      stderr: { write: () => true },
    });
    return { code, out };
  }

  /** The exit code, the report and its part about the base of the localized release. */
  async function checked(
    ...args: string[]
  ): Promise<{ code: number; report: VolumeReport; base: BaseReport | null | undefined; problems: unknown }> {
    const { code, out } = await verify('-o', 'json', '--keys', publicKey, ...args);
    const report = JSON.parse(out) as VolumeReport;
    const localized = report.releases.find(({ channel }) => channel === 'localized');
    return { code, report, base: localized?.base, problems: localized?.problems };
  }

  it('compares everything that is not patched with the base', async () => {
    await sign({ localized: await localize({ 'a.json': PATCHED }) });
    for (const mode of [[], ['--quick'], ['--release', 'r1-l1']]) {
      const { code, report, base, problems } = await checked(...mode);
      expect({ code, problems, sound: report.sound, complete: report.complete }).toEqual({
        code: 0,
        problems: [],
        sound: true,
        complete: true,
      });
      expect(report.attestation.status).toBe('ok');
      expect(base).toEqual({
        release_id: 'r1',
        status: 'ok',
        reason: null,
        attested: true,
        patched: 1,
        unpatched: 3,
        differing: 0,
        examples: [],
      });
    }
    const { out } = await verify('--keys', publicKey);
    expect(out).toContain('localized r1-l1: files: 1 patched, 3 as in its base, the official release r1\n');
    expect(out.trimEnd().endsWith('\nall releases intact')).toBe(true);
  });

  it('finds a damaged patched object, and not in the official release', async () => {
    await sign({ localized: await localize({ 'a.json': PATCHED }) });
    const path = objectPath(root, blake3Hex(PATCHED));
    await chmod(path, 0o644);
    await writeFile(path, 'xxxxxxxxx');
    const { code, report, base } = await checked();
    expect(code).toBe(1);
    expect(report.releases.map(({ channel, damaged }) => [channel, damaged])).toEqual([
      ['official', 0],
      ['localized', 1],
    ]);
    expect(base?.status).toBe('ok');
    const { out } = await verify();
    expect(out).toContain('localized r1-l1: digest_mismatch a.json\n');
    expect(out).toContain('if a localized release stays damaged, publish it again ("localized-publish")');
  });

  it('finds files of the localized manifest that are neither patched nor those of the base', async () => {
    const changes = { 'a.json': PATCHED, 'c.ogg': Buffer.from('noise'), 'd.ogg': null, 'e.ogg': PATCHED };
    // The manifest is attested: only the comparison with the base finds it.
    await sign({ localized: await localize(changes) });
    for (const mode of [[], ['--quick']]) {
      const { code, base, report } = await checked(...mode);
      expect(code).toBe(1);
      expect(report.attestation.status).toBe('ok');
      expect(base).toMatchObject({
        status: 'differs',
        patched: 1,
        unpatched: 1,
        differing: 3,
        examples: [
          { destination: 'c.ogg', difference: 'changed_but_not_patched' },
          { destination: 'e.ogg', difference: 'not_in_base' },
          { destination: 'd.ogg', difference: 'left_out' },
        ],
      });
    }
    const { out } = await verify();
    expect(out).toMatch(/^DIFFERS +localized +r1-l1 /m);
    expect(out).toContain('publish it again under a new id, or report it');
    expect(out).not.toContain('DAMAGE FOUND');
    expect(out).toContain('localized r1-l1: changed_but_not_patched c.ogg\n');
  });

  it('finds a manifest that replaced the attested one and marks another file as patched', async () => {
    await sign({ localized: await localize({ 'a.json': PATCHED }) });
    await writer.removeReleaseRecord('localized', 'r1-l1' as ReleaseId);
    await localize({ 'a.json': PATCHED, 'c.ogg': Buffer.from('noise') }, { patched: ['a.json', 'c.ogg'] });
    const { code, report, base } = await checked();
    expect(code).toBe(1);
    expect(report.attestation.problems).toEqual([
      expect.stringMatching(/^it attests localized release r1-l1 as blake3:\w+, which is not on the volume$/),
    ]);
    // By itself this manifest is consistent; the report says that the attestation does not name it.
    expect(base).toMatchObject({ status: 'ok', attested: false, patched: 2 });
    expect((await verify()).out).toContain('by the release records: the attestation does not name both');
  });

  it('finds another base than the attested one', async () => {
    await storeRelease(writer, pool, { id: 'r2', files: new Map([...OFFICIAL, ['c.ogg', PATCHED]]) });
    await sign({ localized: await localize({ 'a.json': PATCHED }, { base: 'r2' }) });
    const { code, base, problems } = await checked('--release', 'r1-l1');
    expect(code).toBe(1);
    expect(problems).toEqual(['base_release_id is r2 in the manifest, and the attestation names r1']);
    expect(base).toMatchObject({
      release_id: 'r2',
      status: 'differs',
      examples: [{ destination: 'c.ogg', difference: 'changed_but_not_patched' }],
    });
  });

  it('compares with the attested manifest of the base, not with one that its record names', async () => {
    await sign({ localized: await localize({ 'a.json': PATCHED }) });
    await writer.removeReleaseRecord('official', 'r1' as ReleaseId);
    await storeRelease(writer, pool, { id: 'r1', files: new Map([...OFFICIAL, ['c.ogg', PATCHED]]) });
    expect(await checked('--release', 'r1-l1')).toMatchObject({
      code: 0,
      base: { status: 'ok', attested: true },
    });
    expect((await checked()).code).toBe(1);
  });

  it.each([
    [
      'is not on the volume',
      'the volume does not have the official release r0',
      async () => await localize({ 'a.json': PATCHED }, { base: 'r0', id: 'r0-l1' }),
    ],
    [
      'has a damaged manifest',
      'the official release r1 cannot be read: ',
      async () => {
        await localize({ 'a.json': PATCHED }, { id: 'r0-l1' });
        const path = manifestPath(root, official.record.manifest.blake3);
        const bytes = await readFile(path);
        await chmod(path, 0o644);
        await writeFile(path, bytes.subarray(1));
      },
    ],
  ])('says that nothing was compared when the base %s', async (_, reason, prepare) => {
    await prepare();
    const { code, report, base } = await checked('--release', 'r0-l1');
    expect({ code, sound: report.sound, complete: report.complete }).toEqual({
      code: 3,
      sound: true,
      complete: false,
    });
    expect(base).toMatchObject({ status: 'not_checked', reason: expect.stringContaining(reason) as string });
    const { out } = await verify('--release', 'r0-l1');
    expect(out).toContain(`localized r0-l1: NOT CHECKED against its base: ${reason}`);
    expect(out.trimEnd().endsWith('intact as far as it could be checked: see NOT CHECKED above')).toBe(true);
  });

  it('ends with damage, not with an incomplete check, when both are found', async () => {
    await localize({ 'a.json': PATCHED }, { base: 'r0', id: 'r0-l1' });
    await rm(objectPath(root, blake3Hex(PATCHED)));
    await commitBytes(writer, pool, Buffer.from('orphan'));
    expect((await checked()).code).toBe(1);
  });

  it('refuses a format that it does not know', async () => {
    expect((await verify('-o', 'yaml')).code).toBe(2);
  });
});
