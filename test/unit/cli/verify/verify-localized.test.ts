import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { keyIdOf } from '../../../../src/attestation/keys.ts';
import { signStatement } from '../../../../src/attestation/sign.ts';
import type { BaseReport } from '../../../../src/cli/verify/base-report.ts';
import { runVerify } from '../../../../src/cli/verify/verify.ts';
import type { VolumeReport } from '../../../../src/cli/verify/volume-report.ts';
import type { ReleaseId } from '../../../../src/domain/release/release-id.ts';
import { noFailpoints } from '../../../../src/platform/files/failpoints.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../../src/platform/hashing/hash-pool.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { openSnapshotWriter, type SnapshotWriter } from '../../../../src/snapshot/snapshot-writer.ts';
import { manifestPath, objectPath } from '../../../../src/snapshot/volume/layout.ts';
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

const OFFICIAL = new Map(
  Object.entries({ 'a.json': 'おはよう', 'b.json': '先生', 'c.ogg': 'sound', 'd.ogg': 'more' }).map(
    ([name, text]) => [name, Buffer.from(text)],
  ),
);
const PATCHED = Buffer.from('早上好');

let root: string;
let publicKey: string;
let writer: SnapshotWriter;
let official: StoredSample;
let sign: (of: { readonly localized: StoredSample; readonly base?: string }) => Promise<void>;

beforeEach(async () => {
  const directory = await temporaryDirectory();
  root = join(directory, 'volume');
  writer = await openSnapshotWriter({ root, failpoints: noFailpoints, clock: systemClock });
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

describe('slipway verify of a localized release', () => {
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
    expect(out.trimEnd().endsWith('\nsound')).toBe(true);
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
    expect(out.trimEnd().endsWith('sound as far as it could be checked: see NOT CHECKED above')).toBe(true);
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
