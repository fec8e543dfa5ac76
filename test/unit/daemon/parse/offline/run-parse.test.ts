import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runParse } from '../../../../../src/daemon/parse/offline/run-parse.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

async function parse(argv: readonly string[], signal = new AbortController().signal) {
  let [out, err] = ['', ''];
  const code = await runParse(argv, {
    stdout: {
      write: (text, done) => {
        out += text;
        done?.();
      },
    },
    stderr: { write: (text) => void (err += text) },
    clock: systemClock,
    signal,
  });
  return { code, out, err };
}

describe('the command line of slipway parse', () => {
  it.each([
    [[], 'name exactly one file or folder'],
    [['a', 'b'], 'name exactly one file or folder'],
    [['a', '--limit=-1'], '--limit: must be a whole number from 0 to 999999999 (got "-1")'],
    [['a', '--limit=1.5'], '--limit: must be a whole number from 0 to 999999999 (got "1.5")'],
    [
      ['a', '--rule', 'x'],
      'there is no option --rule; did you mean "--rules"?\nFor help: slipway parse --help\n',
    ],
    [['/nonexistent/file'], '/nonexistent/file cannot be read: ENOENT'],
    [['a', '--rules', '/nonexistent/rules'], 'config file /nonexistent/rules: cannot be read: ENOENT'],
  ])('%j is refused', async (argv, problem) => {
    const { code, out, err } = await parse(argv);
    expect([code, out]).toEqual([2, '']);
    expect(err.startsWith(`slipway parse: ${problem}`)).toBe(true);
  });

  it('shows its help', async () => {
    const { code, out } = await parse(['--help']);
    expect(code).toBe(0);
    expect(out).toContain('Usage: slipway parse FILE|DIR');
  });
});

describe('slipway parse', () => {
  it('shortens long texts, and shows what a terminal would act upon as escapes', async () => {
    const path = join(await temporaryDirectory(), 'a.json');
    await writeFile(path, JSON.stringify({ long: '𠮟'.repeat(100), evil: 'あ\u001B[2J' }));
    const { code, out } = await parse([path]);
    expect(code).toBe(0);
    expect(out).toContain(`  ${'𠮟'.repeat(79)}…\n`);
    expect(out).toContain(String.raw`あ\x1b[2J`);
  });

  it('prints the key path of a text as a list for programs', async () => {
    const path = join(await temporaryDirectory(), 'a.json');
    await writeFile(path, JSON.stringify([{ Id: 7, Text: 'あ' }]));
    const { out } = await parse([path, '--json']);
    expect(JSON.parse(out.split('\n')[0] ?? '')).toMatchObject({
      field_path: '/0/Text',
      key_path: ['', '', '/Id=7/Text'],
    });
  });

  it('reports an empty folder', async () => {
    const { code, out } = await parse([await temporaryDirectory()]);
    expect(code).toBe(0);
    expect(out).toMatch(/^\n0 containers, 0 units, 0 errors, /);
  });

  it('ends when it is interrupted', async () => {
    const { code, err } = await parse([await temporaryDirectory()], AbortSignal.abort(new Error('SIGINT')));
    expect([code, err]).toEqual([130, 'slipway parse: interrupted\n']);
  });
});
