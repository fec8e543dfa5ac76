import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { temporaryDirectory } from './temporary-directory.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['bin', 'scripts/setup.sh', 'package.json', 'package-lock.json'];
const SOURCES = ['cmd', 'docs', 'src'];

/** A copy of this repository in which `scripts/setup.sh` may change what it likes. */
export interface Checkout {
  readonly directory: string;
  /** A folder that is first in the PATH of {@link env}: programs in it hide those of the machine. */
  readonly programs: string;
  /** The environment of a user whose Node is too old, if this machine has such a Node. */
  readonly env: NodeJS.ProcessEnv;
}

/** What the copy holds. */
export interface CheckoutOptions {
  /** Whether Node and packages are there, as after `scripts/setup.sh`. */
  readonly prepared: boolean;
  /** Links are quicker, but a program then takes the linked folder for its own. */
  readonly sources: 'copied' | 'linked';
}

/** Copies the repository to a temporary folder. Nothing in it reaches the network: its npm fails. */
export async function makeCheckout({ prepared, sources }: CheckoutOptions): Promise<Checkout> {
  const directory = join(await temporaryDirectory(), 'check out');
  const programs = join(directory, '.programs');
  await mkdir(programs, { recursive: true });
  for (const path of COPIED) {
    await cp(join(ROOT, path), join(directory, path), { recursive: true, verbatimSymlinks: true });
  }
  for (const path of SOURCES) {
    const [from, to] = [join(ROOT, path), join(directory, path)];
    await (sources === 'linked' ? symlink(from, to) : cp(from, to, { recursive: true }));
  }
  await writeProgram(programs, 'npm', 'echo "npm was called: $*" >&2; exit 1');
  if (prepared) {
    await mkdir(join(directory, '.tools'));
    await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    if (existsSync(TOOLS)) await symlink(TOOLS, join(directory, '.tools/node'));
    await writeFile(
      join(directory, '.tools/installed'),
      `development-${lockChecksum()}-${process.version}\n`,
    );
  }
  const path = [programs, ...foldersWithoutThisNode()].join(delimiter);
  return { directory, programs, env: { ...process.env, PATH: path } };
}

/** Writes a shell script that is found as a program of this name. */
export async function writeProgram(folder: string, name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** Where `scripts/setup.sh` puts a Node of its own. */
const TOOLS = join(ROOT, '.tools/node');

function lockChecksum(): string {
  const [checksum = ''] = execFileSync('cksum', [join(ROOT, 'package-lock.json')], {
    encoding: 'utf8',
  }).split(' ');
  return checksum;
}

/** The PATH as it was before the project's Node came first; all of it when the machine's own Node is new enough. */
function foldersWithoutThisNode(): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  if (!existsSync(TOOLS)) return folders;
  const own = realpathSync(process.execPath);
  return folders.filter((folder) => {
    const node = join(folder, 'node');
    return !existsSync(node) || realpathSync(node) !== own;
  });
}
