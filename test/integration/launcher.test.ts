import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { makeCheckout, writeProgram, type Checkout } from '../support/checkout.ts';
import { nodeTools } from '../support/node-tools.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NOBODY = 65_534;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command as the user of the checkout. */
async function run(
  { env }: Checkout,
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly uid?: number } = {},
): Promise<Outcome> {
  return await new Promise((done) => {
    execFile(command, [...args], { env, ...options }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('bin/slipway', () => {
  it('runs from any folder, through links, and the name selects the program', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const elsewhere = await temporaryDirectory();
    for (const name of [
      'slipway',
      'kubectl-slipway',
      'slipway-daemon',
      'slipway-daemon-supervisor',
      'slipway-operator',
      'slipway-server',
    ]) {
      await symlink(join(checkout.directory, 'bin', name), join(elsewhere, `to-${name}`));
      await mkdir(join(elsewhere, name));
      await symlink(`../to-${name}`, join(elsewhere, name, name));
    }
    const help = async (name: string): Promise<string> => {
      const { code, stdout, stderr } = await run(checkout, join(elsewhere, name, name), ['--help'], {
        cwd: elsewhere,
      });
      expect([code, stderr]).toEqual([0, '']);
      return stdout.split('\n')[0] ?? '';
    };
    expect(await help('slipway')).toBe('Usage: slipway COMMAND [OPTIONS]');
    expect(await help('kubectl-slipway')).toBe('Usage: kubectl slipway [OPTIONS] COMMAND');
    expect(await help('slipway-daemon')).toContain('daemon');
    expect(await help('slipway-daemon-supervisor')).toContain('daemon');
    expect(await help('slipway-operator')).toContain('operator');
    expect(await help('slipway-server')).toContain('server');
  });

  it('passes arguments and the exit code, and starts Node without setup when nothing is missing', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const slipway = join(checkout.directory, 'bin/slipway');
    expect((await run(checkout, slipway, ['keygen', '--out', join(checkout.directory, 'a b')])).code).toBe(0);
    await writeProgram(join(checkout.directory, 'scripts'), 'setup.sh', 'echo setup >&2; exit 1');
    await writeProgram(checkout.programs, 'node', 'echo "the Node of the machine" >&2; exit 1');
    const unknown = await run(checkout, slipway, ['no such command']);
    expect([unknown.code, unknown.stderr.split('\n')[0]]).toEqual([
      2,
      'slipway: there is no command "no such command"',
    ]);
    // A change of the lock file requires setup again.
    await utimes(join(checkout.directory, 'package-lock.json'), 2_000_000_000, 2_000_000_000);
    expect(await run(checkout, slipway, ['--help'])).toMatchObject({ code: 1, stderr: 'setup\n' });
    // A shell that completes words does not wait for it.
    const silent = { code: 0, stdout: '', stderr: '' };
    expect(await run(checkout, slipway, ['__complete', 'ctl', ''])).toEqual(silent);
    const kubectl = join(checkout.directory, 'bin/kubectl_complete-slipway');
    expect(await run(checkout, kubectl, ['ctl', ''])).toEqual(silent);
  });

  it('installs Node and the packages, and builds the console, when they are missing', async () => {
    // Of linked sources the bundler would take the real paths.
    const checkout = await makeCheckout({ prepared: false, sources: 'copied' });
    const manifest = join(checkout.directory, '.console/manifest.json');
    await rm(dirname(manifest), { recursive: true });
    expect(nodeTools('console-tools')).not.toBe(null);
    await writeProgram(checkout.programs, 'node', 'echo v20.20.2');
    await writeProgram(
      checkout.programs,
      'npm',
      `echo "npm $*" >&2
      case $1 in
        install) for package; do :; done
          mkdir -p "$3/node_modules/\${package%@*}/bin" && ln -s '${process.execPath}' "$3/node_modules/\${package%@*}/bin/node" ;;
        ci) ln -s '${ROOT}/node_modules' "$PWD/node_modules" ;;
      esac`,
    );
    const first = await run(checkout, join(checkout.directory, 'bin/slipway'), ['--help']);
    expect([first.code, first.stdout.split('\n')[0]]).toEqual([0, 'Usage: slipway COMMAND [OPTIONS]']);
    expect(first.stderr).toMatch(
      /installing Node \d+\.\d+\.\d+ \(found: v20\.20\.2\); this takes seconds to some minutes/,
    );
    expect(first.stderr).toMatch(/^npm install --prefix .*@\d+\.\d+\.\d+$/m);
    expect(first.stderr).toMatch(/installing packages \(production\); this takes seconds to some minutes/);
    expect(first.stderr).toMatch(/^npm ci /m);
    expect(JSON.parse(await readFile(manifest, 'utf8'))).toMatchObject({
      files: expect.arrayContaining(['index.html']),
    });
    const second = await run(checkout, join(checkout.directory, 'bin/slipway'), ['--help']);
    expect(second).toMatchObject({ code: 0, stderr: '' });
  });

  it('prepares everything else when the console cannot be built', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    await rm(join(checkout.directory, '.console'), { recursive: true });
    const offline = { ...checkout, env: { ...checkout.env, NODE_TOOLS_DIR: await temporaryDirectory() } };
    const setup = await run(offline, join(checkout.directory, 'scripts/setup.sh'), ['production']);
    expect([setup.code, setup.stderr]).toEqual([
      0,
      expect.stringMatching(
        /the console cannot be built: [^]*npm was called[^]*everything but the console is prepared/,
      ),
    ]);
    const started = await run(offline, join(checkout.directory, 'bin/slipway-server'), ['--help']);
    expect(started).toMatchObject({ code: 0, stderr: '' });
  });

  it('starts a server whose console is damaged or missing, and builds nothing', async () => {
    const { directory, env } = await makeCheckout({ prepared: true, sources: 'copied' });
    execFileSync(join(directory, 'bin/slipway'), ['--version'], { env });
    const upstream = await temporaryDirectory();
    await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
    const system = await startSystem({
      upstream: { kind: 'directory', directory: { path: upstream } },
      startNothing: true,
    });
    await system.startDaemon();
    const built = join(directory, '.console');
    const damages = [
      async (): Promise<void> => await writeFile(join(built, 'manifest.json'), ''),
      async (): Promise<void> => await rm(built, { recursive: true }),
    ];
    for (const damage of damages) {
      await damage();
      // It replaces `node cmd/server.ts`, and its npm fails.
      const launch = 'while case $1 in *.ts) false ;; esac; do shift; done; shift; exec "$0" "$@"';
      const program = join(directory, 'bin/slipway-server');
      const server = await system.startServer(['env', `PATH=${env['PATH']}`, 'sh', '-c', launch, program]);
      await system.untilReady(true);
      expect(await (await fetch(`${server.url}/admin/dashboard/`)).text()).toContain(
        'The console is not built',
      );
      expect(server.lines.filter((line) => line.includes('console'))).toEqual([
        expect.stringMatching(/"level":"warn".*the console is missing or damaged/),
      ]);
      await server.stop();
    }
  });

  it('installs once when two setups run in parallel', async () => {
    const checkout = await makeCheckout({ prepared: false, sources: 'linked' });
    const install = `echo npm >>'${checkout.directory}/calls'; sleep 1; mkdir node_modules`;
    await writeProgram(checkout.programs, 'npm', install);
    await symlink(process.execPath, join(checkout.programs, 'node'));
    const setup = async (): Promise<Outcome> =>
      await run(checkout, join(checkout.directory, 'scripts/setup.sh'), ['production']);
    const [first, second] = await Promise.all([setup(), setup()]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(await readFile(join(checkout.directory, 'calls'), 'utf8')).toBe('npm\n');
  });

  it.each([
    ['v20.20.2', 'v20.20.2'],
    ['v25.1.0', 'v25.1.0'],
    ['v24.14.0', 'v24.14.0'],
    [null, 'none'],
  ])('says what to do where Node is %s and npm is missing', async (version, found) => {
    const checkout = await makeCheckout({ prepared: false, sources: 'linked' });
    await rm(join(checkout.programs, 'npm'));
    if (version !== null) await writeProgram(checkout.programs, 'node', `echo ${version}`);
    const { code, stderr } = await run(
      { ...checkout, env: { PATH: await pathWithoutNode(checkout) } },
      join(checkout.directory, 'bin/slipway'),
      ['--help'],
    );
    expect([code, stderr]).toEqual([
      1,
      `slipway setup: Slipway needs Node.js 24.14.1 or newer with an even major version (found: ${found}), but npm is missing; install Node.js 24.14.1 or newer with an even major version, with npm\n`,
    ]);
  });

  it('says what to do where it cannot write', async () => {
    const checkout = await makeCheckout({ prepared: false, sources: 'linked' });
    await writeProgram(checkout.programs, 'node', 'echo v20.20.2');
    for (const folder of [dirname(checkout.directory), checkout.directory]) await chmod(folder, 0o555);
    const { code, stderr } = await run(
      checkout,
      join(checkout.directory, 'bin/slipway'),
      ['--help'],
      // File permissions do not restrict root.
      process.getuid?.() === 0 ? { uid: NOBODY } : {},
    );
    for (const folder of [dirname(checkout.directory), checkout.directory]) await chmod(folder, 0o755);
    expect([code, stderr]).toEqual([
      1,
      `slipway setup: Slipway needs Node.js 24.14.1 or newer with an even major version (found: v20.20.2), but ${checkout.directory} cannot be written; run scripts/setup.sh production as a user who can write there\n`,
    ]);
  });
});

/** A PATH with the programs of the checkout and those that a shell script needs, but without Node and npm. */
async function pathWithoutNode(checkout: Checkout): Promise<string> {
  const folder = await temporaryDirectory();
  for (const name of ['cat', 'cut', 'dirname', 'ln', 'mkdir', 'mv', 'readlink', 'sed', 'sh', 'tr', 'uname']) {
    const { stdout } = await run(checkout, 'sh', ['-c', `command -v ${name}`]);
    await symlink(stdout.trim(), join(folder, name));
  }
  return `${checkout.programs}:${folder}`;
}
