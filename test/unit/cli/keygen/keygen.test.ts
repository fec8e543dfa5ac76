import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSigningKeys, loadTrustedKeys } from '../../../../src/attestation/keys.ts';
import { runKeygen } from '../../../../src/cli/keygen/keygen.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function keygen(...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runKeygen(argv, {
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
  });
  return { code, out: out.join(''), err: err.join('') };
}

describe('slipway keygen', () => {
  it('writes a pair that daemon and server can load, and prints its id', async () => {
    const directory = join(await temporaryDirectory(), 'new', 'keys');
    const { code, out, err } = await keygen('--out', directory);
    expect([code, err]).toEqual([0, '']);
    const signing = await loadSigningKeys([join(directory, 'signing.key')]);
    const trusted = await loadTrustedKeys([join(directory, 'signing.pub')]);
    const [key] = trusted.ok ? trusted.value : [];
    expect(signing.ok && signing.value.keys.map(({ keyId }) => keyId)).toEqual([key?.keyId]);
    expect(signing.ok && signing.value.warnings).toEqual([]);
    expect(out).toContain(key?.keyId);
    expect((await stat(join(directory, 'signing.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await readdir(directory)).sort()).toEqual(['signing.key', 'signing.pub']);
  });

  it.each(['signing.key', 'signing.pub'])('never overwrites %s unless forced', async (name) => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, name), 'precious', { mode: 0o644 });
    const refused = await keygen('--out', directory);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(join(directory, name));
    expect(refused.err).toContain('--force');
    expect(await readFile(join(directory, name), 'utf8')).toBe('precious');
    expect(await readdir(directory)).toEqual([name]);
    expect((await keygen('--out', directory, '--force')).code).toBe(0);
    expect((await stat(join(directory, 'signing.key'))).mode & 0o777).toBe(0o600);
  });

  it.each([[[]], [['--out', '']], [['--colour']], [['--out', 'a', 'b']]])(
    'refuses %j and says where the help is',
    async (argv) => {
      const { code, err } = await keygen(...argv);
      expect(code).toBe(2);
      expect(err).toMatch(/^slipway keygen: .+\nFor help: slipway keygen --help\n$/u);
    },
  );

  it('prints help, and says why it cannot write', async () => {
    expect(await keygen('--help')).toMatchObject({ code: 0, err: '' });
    const file = join(await temporaryDirectory(), 'file');
    await writeFile(file, '');
    expect(await keygen('--out', join(file, 'below'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('ENOTDIR') as string,
    });
  });
});
