import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { temporaryDirectory } from './temporary-directory.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** The server shows the console, and scripts/setup.sh builds it when it is not the one of these sources. */
const CONSOLE = [
  'scripts/console.ts',
  'scripts/console',
  'scripts/console-tools',
  'scripts/node-tools.sh',
  '.console',
];
const SOURCES = ['cmd', 'demo', 'docs', 'src'];

const COPIED = ['bin', 'scripts/setup.sh', 'package.json', 'package-lock.json', ...CONSOLE];

/** A copy of this repository that `scripts/setup.sh` may change. */
export interface Checkout {
  readonly directory: string;
  /** The first folder in the PATH of {@link env}: its programs hide those of the machine. */
  readonly programs: string;
  /** The environment of a user whose Node is too old, if this machine has such a Node. */
  readonly env: NodeJS.ProcessEnv;
}

/** The content of the copy. */
export interface CheckoutOptions {
  /** Whether Node and packages are installed, as after `scripts/setup.sh`. */
  readonly prepared: boolean;
  /** Links are quicker, but a program then treats the linked folder as its own. */
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

/** Where `scripts/setup.sh` installs its own Node. */
const TOOLS = join(ROOT, '.tools/node');

function lockChecksum(): string {
  const [checksum = ''] = execFileSync('cksum', [join(ROOT, 'package-lock.json')], {
    encoding: 'utf8',
  }).split(' ');
  return checksum;
}

/** The PATH without the project's Node in front; the whole PATH when the machine's own Node is new enough. */
function foldersWithoutThisNode(): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  if (!existsSync(TOOLS)) return folders;
  const own = realpathSync(process.execPath);
  return folders.filter((folder) => {
    const node = join(folder, 'node');
    return !existsSync(node) || realpathSync(node) !== own;
  });
}
