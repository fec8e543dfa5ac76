import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { expect, it, describe, onTestFinished } from 'vitest';
import { COSIGN } from '../../scripts/release/run-program.ts';
import { provenanceOf } from '../../scripts/release/provenance.ts';
import { CHART, runHelm } from '../support/helm.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { isLong } from '../support/long.ts';
import { startRegistry } from '../support/oci-registry.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const VERSION = '1.2.3';
const PASSWORD = 'of the test';
const tools = kubeTools('crane', 'helm', 'registry');

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

/** An image of one platform, as `docker save` writes it. */
async function writeImage(folder: string, architecture: string): Promise<void> {
  const tree = join(folder, architecture);
  await mkdir(tree);
  await writeFile(join(tree, 'program'), `for ${architecture}`);
  execFileSync('tar', ['-c', '-f', 'layer.tar', 'program'], { cwd: tree });
  const layer = sha256(await readFile(join(tree, 'layer.tar')));
  const config = {
    architecture,
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
    config: {},
  };
  await writeFile(join(tree, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [`slipway:${VERSION}`], Layers: ['layer.tar'] }];
  await writeFile(join(tree, 'manifest.json'), JSON.stringify(manifest));
  const file = join(folder, `release/slipway-${VERSION}-linux-${architecture}`);
  execFileSync('tar', ['-c', '-f', `${file}.tar`, 'manifest.json', 'config.json', 'layer.tar'], {
    cwd: tree,
  });
  const materials = { bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, components: [] };
  await writeFile(`${file}.cdx.json`, JSON.stringify(materials));
}

/** A release as `make release` leaves it, of images that take no time to build. */
async function writeRelease(folder: string, helm: string): Promise<string> {
  const release = join(folder, 'release');
  await mkdir(release);
  for (const architecture of ['amd64', 'arm64']) await writeImage(folder, architecture);
  for (const chart of [CHART, join(CHART, '../slipway-crds')]) {
    const version = ['--version', VERSION, '--app-version', VERSION];
    expect(
      runHelm(helm, ['package', chart, ...version, '--destination', release], { home: folder }).code,
    ).toBe(0);
  }
  const build = {
    version: VERSION,
    commit: '0123456789abcdef0123456789abcdef01234567',
    source: 'https://git.example.org/slipway',
    baseImage: { name: 'node:26-slim' },
    registry: '',
    dockerFlags: [],
    lockFile: sha256('lock'),
    builder: 'person:test',
    startedOn: '2026-11-28T00:00:00Z',
    finishedOn: '2026-11-28T00:01:00Z',
  };
  await writeFile(
    join(release, `slipway-${VERSION}.provenance.json`),
    JSON.stringify(provenanceOf(build, new Map())),
  );
  let sums = '';
  for (const name of await readdir(release))
    sums += `${sha256(await readFile(join(release, name)))}  ${name}\n`;
  await writeFile(join(release, 'SHA256SUMS'), sums);
  return release;
}

describe.skipIf(tools === null)('a release', () => {
  it('is published as one image of all platforms and two charts, signed if a key is given', async () => {
    const { crane = '', helm = '', registry: program = '' } = tools ?? {};
    const folder = await temporaryDirectory(onTestFinished);
    const registry = `${await startRegistry(folder, program, onTestFinished)}/games`;
    const release = await writeRelease(folder, helm);
    // No sum vouches for it, so it is not pushed.
    await writeFile(join(release, `slipway-${VERSION}-linux-s390x.tar`), 'other');
    // Without the logins of the user.
    const env = { ...process.env, COSIGN_PASSWORD: PASSWORD, DOCKER_CONFIG: folder };
    // Building cosign takes minutes of processor time.
    const [key, keyFile] = isLong ? makeKey(folder, env) : ['', ''];
    const publish = (): ReturnType<typeof spawnSync> => {
      const args = [
        `--version=${VERSION}`,
        `--registry=${registry}`,
        '--plain-http',
        `--out=${release}`,
        `--key=${key}`,
      ];
      return spawnSync(process.execPath, ['scripts/publish.ts', ...args], {
        cwd: ROOT,
        encoding: 'utf8',
        env,
      });
    };
    const { status, stdout, stderr } = publish();
    expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    const references = String(stdout).trim().split('\n');
    const names = ['slipway', 'slipway', 'slipway', 'charts/slipway', 'charts/slipway-crds'];
    expect(references.map((each) => each.replace(/@sha256:[0-9a-f]{64}$/, ''))).toEqual(
      names.map((name) => `${registry}/${name}`),
    );

    const manifest = execFileSync(crane, ['manifest', '--insecure', `${registry}/slipway:${VERSION}`], {
      encoding: 'utf8',
    });
    const { manifests } = JSON.parse(manifest) as { manifests: ReadonlyArray<{ readonly platform: object }> };
    expect(manifests.map(({ platform }) => platform)).toMatchObject([
      { os: 'linux', architecture: 'amd64' },
      { os: 'linux', architecture: 'arm64' },
    ]);
    const args = [
      'template',
      'x',
      `oci://${registry}/charts/slipway-crds`,
      '--version',
      VERSION,
      '--plain-http',
    ];
    expect(runHelm(helm, args, { home: folder }).stdout).toContain('name: releasechannels.slipway.dev');
    if (isLong) verify(references, keyFile, env);

    // The same again changes nothing; another content is refused before anything is pushed.
    expect(publish()).toMatchObject({ status: 0, stdout });
    const chart = join(release, `slipway-crds-${VERSION}.tgz`);
    const sums = await readFile(join(release, 'SHA256SUMS'), 'utf8');
    const old = sha256(await readFile(chart));
    await writeFile(chart, 'other');
    expect(publish()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('differs from SHA256SUMS') as string,
    });
    await writeFile(join(release, 'SHA256SUMS'), sums.replace(old, sha256('other')));
    expect(publish()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        `charts/slipway-crds:${VERSION} is published with another content`,
      ) as string,
    });
    await writeFile(
      join(release, 'SHA256SUMS'),
      sums.replace(/.*linux-arm64\.tar\n/, '').replace(old, sha256('other')),
    );
    expect(publish()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`games/slipway:${VERSION} is published with another content`) as string,
    });
  });
});

type Environment = NodeJS.ProcessEnv;

function cosign(args: readonly string[], env: Environment, cwd = ROOT): ReturnType<typeof spawnSync> {
  return spawnSync(join(ROOT, 'scripts/go-tools.sh'), [COSIGN, ...args], { cwd, encoding: 'utf8', env });
}

/** @returns the files of a new pair of keys */
function makeKey(folder: string, env: Environment): [string, string] {
  expect(cosign(['generate-key-pair'], env, folder).status).toBe(0);
  return [join(folder, 'cosign.key'), join(folder, 'cosign.pub')];
}

/** Checks the signatures and attestations of everything that was published, and that another key is refused. */
function verify(references: readonly string[], keyFile: string, env: Environment): void {
  const offline = ['--insecure-ignore-tlog=true', '--allow-http-registry'];
  for (const [at, reference] of references.entries()) {
    const checks = [['verify'], ['verify-attestation', '--type=slsaprovenance1']];
    if (at === 1 || at === 2) checks.push(['verify-attestation', '--type=cyclonedx']);
    for (const check of checks) {
      const { status, stderr } = cosign([...check, `--key=${keyFile}`, ...offline, reference], env);
      expect([status, status === 0 ? '' : stderr], `${check.join(' ')} ${reference}`).toEqual([0, '']);
    }
  }
  const other = join(keyFile, '../other');
  mkdirSync(other);
  const [, otherKey] = makeKey(other, env);
  expect(cosign(['verify', `--key=${otherKey}`, ...offline, references[0] ?? ''], env).status).not.toBe(0);
}
