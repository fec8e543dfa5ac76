import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import type { Docker } from './docker.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const APPLETS = [
  'sh',
  'mkdir',
  'chown',
  'chmod',
  'tar',
  'cat',
  'ln',
  'ls',
  'id',
  'sleep',
  'wget',
  'touch',
  'dd',
  'sync',
  'find',
  'sort',
  'xargs',
  'cut',
  'cp',
  'dirname',
  'du',
  'grep',
  'mktemp',
  'mv',
  'rm',
  'sha256sum',
];

/** Where the base image keeps the packages that npm installed outside, and the bill of materials that it wrote. */
const PACKAGES = '/opt/node_modules.tar';
const MATERIALS = '/opt/sbom.cdx.json';
/** Where it keeps the packages of the bundler, which the image build installs apart from the others. */
const BUNDLER = '/opt/console-tools.tar';
const NPM_SBOM = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];

/**
 * Makes the base image for NODE_IMAGE from this machine, because nothing can be pulled: busybox, this Node with its
 * libraries, and an npm that only hands out what the real npm made outside from the same lock file.
 *
 * @param directory an empty folder for the tree
 */
export async function makeBaseImage(docker: Docker, name: string, directory: string): Promise<void> {
  const tree = join(directory, 'base');
  for (const folder of ['bin', 'etc', 'opt', 'tmp', 'usr/bin', 'usr/local/bin']) {
    await mkdir(join(tree, folder), { recursive: true });
  }
  await chmod(join(tree, 'tmp'), 0o1777);
  const busybox = output('sh', ['-c', 'command -v busybox']);
  await copyFile(await realpath(busybox), join(tree, 'bin/busybox'));
  for (const applet of APPLETS) await symlink('busybox', join(tree, 'bin', applet));
  await symlink('/bin/busybox', join(tree, 'usr/bin/env'));
  await copyFile(process.execPath, join(tree, 'usr/local/bin/node'));
  for (const library of librariesOf([process.execPath, ...nativeModules()])) {
    await mkdir(join(tree, dirname(library)), { recursive: true });
    await copyFile(await realpath(library), join(tree, library));
  }
  await writeFile(join(tree, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\n');
  const npm = `#!/bin/sh
[ "$1" != sbom ] || exec cat ${MATERIALS}
if grep -q '"slipway-console-tools"' package.json; then exec tar -x -f ${BUNDLER}; fi
exec tar -x -f ${PACKAGES}
`;
  await writeFile(join(tree, 'usr/local/bin/npm'), npm, { mode: 0o755 });
  // busybox has none. Nothing compares these sums with those of another machine.
  await writeFile(join(tree, 'usr/local/bin/cksum'), '#!/bin/sh\nexec sha256sum\n', { mode: 0o755 });
  await writeFile(join(tree, MATERIALS), output('npm', NPM_SBOM));
  await packPackages(join(directory, 'packages'), join(tree, PACKAGES));
  const tools = output('sh', ['scripts/node-tools.sh', 'console-tools']);
  output('tar', ['-c', '-f', join(tree, BUNDLER), 'node_modules'], tools);
  await importTree(docker, name, tree);
  await rm(directory, { recursive: true, force: true });
}

/** The native modules among the packages of this machine. */
function nativeModules(): readonly string[] {
  return globSync('node_modules/{,@*/}*/*.node', { cwd: ROOT }).map((path) => join(ROOT, path));
}

/** The shared libraries that files load. A base image for Node has all of the C library. */
function librariesOf(files: readonly string[]): ReadonlySet<string> {
  const lines = files.flatMap((file) => output('ldd', [file]).split('\n'));
  return new Set(lines.flatMap((line) => /(?:^|\s)(\/\S+) \(0x/.exec(line)?.[1] ?? []));
}

/**
 * Builds the image from the Dockerfile of this repository, without network.
 *
 * @returns its id
 */
export function buildImage(
  docker: Docker,
  base: string,
  name: string,
  buildArguments: Readonly<Record<string, string>> = {},
): string {
  docker.run(
    'build',
    '--network=none',
    '--no-cache',
    `--build-arg=NODE_IMAGE=${base}`,
    ...Object.entries(buildArguments).map(([key, value]) => `--build-arg=${key}=${value}`),
    `--tag=${name}`,
    ROOT,
  );
  return docker.run('image', 'inspect', '--format={{.Id}}', name);
}

async function packPackages(directory: string, archive: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
    await cp(join(ROOT, file), join(directory, file));
  }
  // From npm's cache, which has held them since this repository was set up.
  output(
    'npm',
    ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'],
    directory,
  );
  output('tar', ['-c', '-f', archive, 'node_modules'], directory);
}

async function importTree(docker: Docker, name: string, tree: string): Promise<void> {
  const pack = spawn('tar', ['-c', '--owner=0', '--group=0', '.'], {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const path = '/usr/local/bin:/bin';
  const load = spawn('docker', ['import', `--change=ENV PATH=${path}`, '-', name], {
    env: docker.env,
    stdio: [pack.stdout, 'ignore', 'inherit'],
  });
  const [code] = (await once(load, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`docker import ended with ${code}`);
}

function output(command: string, args: readonly string[], cwd = ROOT): string {
  const run = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  if (run.status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${run.stdout}${run.stderr}`);
  return run.stdout.trim();
}
