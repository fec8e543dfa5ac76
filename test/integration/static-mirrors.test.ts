import { spawnSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { staticFilePath } from '../../src/contract/formats/static-mirror-format.ts';
import { encodePath } from '../../src/domain/release/encode-path.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { bytesOf, publicKeyOf, untilServed } from '../support/edge.ts';
import { freePorts } from '../support/free-ports.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { HAS_S3, startS3Server } from '../support/s3-server.ts';
import { startStaticSite } from '../support/static-site.ts';
import { startSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';

const FILES = sampleFiles(1);
const CHANGED = 'TableBundles/Excel.zip';
const NEXT = new Map([...FILES, [CHANGED, Buffer.from('new excel')]]);
const ROOT = resolve(import.meta.dirname, '../..');
const GUIDE = await readFile(join(ROOT, 'docs/how-to/folders-and-buckets.md'), 'utf8');
const CAN_RUN = [hasTool('nginx', 'nginx-light'), HAS_S3].every(Boolean);

/** The command lines of a block of the guide. */
function printed(name: string): readonly string[] {
  const [, block] = new RegExp(`^\`\`\`sh ${name}\\n([^]*?)^\`\`\``, 'm').exec(GUIDE) ?? [];
  if (block === undefined) throw new Error(`the guide has no block ${name}`);
  return block.trim().split('\n');
}

/** Runs the command that users run, and fails with another exit code than the expected one. */
function slipway(expected: number, ...argv: readonly string[]): string {
  const run = spawnSync(process.execPath, ['cmd/slipway.ts', ...argv], { cwd: ROOT, encoding: 'utf8' });
  expect(run.stdout + run.stderr, argv.join(' ')).toSatisfy(() => run.status === expected);
  return run.stdout;
}

it.skipIf(!CAN_RUN)(
  'a folder on nginx becomes a release, the release becomes a bucket by the commands of the guide, and the bucket a release again',
  async () => {
    const directory = await temporaryDirectory();
    const [folder, mirror] = [join(directory, 'game'), join(directory, 'mirror')];
    await writeReleaseTree(folder, { id: '', files: FILES, serverInfo: { ConnectionGroups: [] } });
    await rm(join(folder, 'release.json'));
    const site = await startStaticSite(folder);
    const origin = await startSystem({
      upstream: { kind: 'manifest', manifest: { url: `${site}/` } },
      // The mirror is checked without its origin, too, and keeps the attestation of its export.
      daemon: { ...WITHOUT_TEXTS, attestation: { ttlSeconds: 86_400 } },
    });
    await until(async () => {
      const { failure_code: code, failure_reason: reason } = await origin.run('sync');
      return code === 'upstream_not_found' && reason?.includes('write it with slipway manifest DIR') === true;
    });
    slipway(0, 'manifest', folder, '--release', 'r1');
    await origin.succeed('sync');
    await untilServed(origin, 'r1');
    for (const [destination, bytes] of FILES) expect(await bytesOf(origin, 'r1', destination)).toEqual(bytes);

    const s3 = await startS3Server();
    const bucket = `${s3.url}/bucket`;
    await s3.makeBucket('bucket', 'public');
    const keys = ['--keys', publicKeyOf(origin)];
    const exportFiles = (releaseId: string): string =>
      slipway(0, 'export', releaseId, '--data', origin.snapshotRoot, '--format', 'files', '-o', mirror);
    const upload = (name: string): string =>
      printed(name)
        .map((line) => s3.run(`${line} --verbose`, directory))
        .join('');
    const copied = (log: string): number => log.match(/: Copied /g)?.length ?? 0;
    exportFiles('r1');
    // The files, the manifest and the server-info document, then the two pointers.
    expect(copied(upload('rclone'))).toBe(FILES.size + 4);
    expect(slipway(0, 'verify', '--url', bucket, ...keys, '--against', origin.serverUrl)).toContain(
      'all releases intact\n',
    );
    const lifeOf = async (path: string): Promise<string | null> => {
      const answer = await fetch(`${bucket}/${path}`);
      await answer.arrayBuffer();
      return answer.headers.get('cache-control');
    };
    const path = (bytes: Buffer): string => encodePath(staticFilePath(CHANGED, blake3Hex(bytes)));
    expect(await lifeOf(path(FILES.get(CHANGED) ?? Buffer.alloc(0)))).toBe(
      'public, max-age=31536000, immutable',
    );
    expect(await lifeOf('mirror.json')).toBe('public, max-age=60');

    await writeFile(join(folder, CHANGED), NEXT.get(CHANGED) ?? '');
    slipway(0, 'manifest', folder, '--release', 'r2', '--update');
    await origin.succeed('sync');
    await untilServed(origin, 'r2');
    expect(slipway(1, 'verify', '--url', bucket, ...keys, '--against', origin.serverUrl)).toContain(
      'official: the mirror has r1',
    );
    expect(exportFiles('r2')).toContain('; 1 file added');
    // The first step alone changes nothing that a reader sees.
    const [files = '', pointers = ''] = printed('rclone');
    expect(copied(s3.run(`${files} --verbose`, directory))).toBe(2);
    expect(slipway(0, 'verify', '--url', bucket, ...keys)).toContain('r1');
    expect(copied(s3.run(`${pointers} --verbose`, directory))).toBe(2);
    expect(slipway(0, 'verify', '--url', bucket, ...keys, '--against', origin.serverUrl)).toContain('r2');
    await rm(mirror, { recursive: true });
    exportFiles('r2');
    expect(copied(upload('rclone-clean'))).toBeLessThanOrEqual(2);
    expect((await fetch(`${bucket}/${path(FILES.get(CHANGED) ?? Buffer.alloc(0))}`)).status).toBe(404);
    await s3.put(`bucket/${path(NEXT.get(CHANGED) ?? Buffer.alloc(0))}`, Buffer.from('New excel'));
    expect(slipway(1, 'verify', '--url', bucket, ...keys)).toContain(`digest_mismatch ${CHANGED}`);

    // A private bucket, filled by another program, and read through rclone.
    await s3.makeBucket('private', 'private');
    for (const line of printed('aws')) s3.run(line.replace('s3://bucket', 's3://private'), directory);
    expect(slipway(4, 'verify', '--url', `${s3.url}/private`, ...keys)).toContain('mirror.json answered 403');
    const [port = 0] = await freePorts(1);
    const [program = '', ...args] = (printed('rclone-serve')[0] ?? '')
      .replace('REMOTE:bucket', ':s3:private')
      .replace('127.0.0.1:8081', `127.0.0.1:${port}`)
      .split(' ');
    s3.start(program, args);
    const served = `http://127.0.0.1:${port}`;
    await until(async () => (await fetch(`${served}/mirror.json`)).ok);
    expect(slipway(0, 'verify', '--url', served, ...keys)).toContain('static mirror');
    const copy = await startSystem({ upstream: { kind: 'manifest', manifest: { url: `${served}/` } } });
    await untilServed(copy, 'r2');
    for (const [destination, bytes] of NEXT) expect(await bytesOf(copy, 'r2', destination)).toEqual(bytes);
  },
);
