import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'deploy/systemd');
const UNITS = ['slipway-daemon.service', 'slipway-server.service'];
/** Tenths of the exposure that systemd-analyze computes, from 0 to 100; units without any hardening have 96. */
const EXPOSURE = 20;

describe.skipIf(!hasTool('systemd-analyze', 'systemd'))('the units for systemd', () => {
  it('are valid, hardened, and name programs that exist', async () => {
    const folder = await temporaryDirectory();
    // The checkout is at /opt/slipway there.
    await symlink(ROOT, join(folder, 'slipway'));
    const units: string[] = [];
    for (const name of UNITS) {
      const text = await readFile(join(FOLDER, name), 'utf8');
      const unit = join(folder, name);
      await writeFile(unit, text.replaceAll('/opt/slipway', join(folder, 'slipway')));
      units.push(unit);
    }
    const verified = await run('systemd-analyze', ['verify', '--man=no', ...units]);
    expect(verified.stderr).toBe('');
    await run('systemd-analyze', ['security', '--offline=true', `--threshold=${EXPOSURE}`, ...units]);
  });

  it.each(['daemon', 'server'])(
    'run the %s with a configuration that is valid, again and again',
    async (program) => {
      const unit = await readFile(join(FOLDER, `slipway-${program}.service`), 'utf8');
      const started = program === 'daemon' ? 'daemon-supervisor' : program;
      expect(unit).toContain(`/bin/slipway-${started} --config /etc/slipway/${program}.yaml`);
      expect(unit).toMatch(/^StartLimitIntervalSec=0$[^]*^\[Service\]$[^]*^RestartPreventExitStatus=78$/m);
      // The daemon gets the signal of its supervisor alone: a second one would end it at once.
      expect(/^KillMode=mixed$/m.test(unit)).toBe(program === 'daemon');
      const configuration = join(FOLDER, `${program}.yaml`);
      const args = [join(ROOT, `cmd/${program}.ts`), '--config', configuration, '--print-config'];
      const { stdout } = await run(process.execPath, args);
      // The credentials and folders of the settings are those of the unit.
      for (const [, name = '', file = ''] of stdout.matchAll(/\/run\/credentials\/(\S+?)\/([\w.]+)/g)) {
        expect([name, unit.includes(`LoadCredential=${file}:`)]).toEqual([
          `slipway-${program}.service`,
          true,
        ]);
      }
      expect(stdout).toContain('/run/credentials/');
    },
  );
});
