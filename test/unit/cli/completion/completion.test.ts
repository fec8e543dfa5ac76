import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { completeCtl } from '../../../../src/cli/completion/complete-ctl.ts';
import { completeSlipway } from '../../../../src/cli/completion/complete-slipway.ts';
import { renderCompletion, wordsOnly } from '../../../../src/cli/completion/completion.ts';
import { answerShell, runCompletion } from '../../../../src/cli/completion/run-completion.ts';
import { CTL_COMMANDS } from '../../../../src/cli/ctl/ctl-commands.ts';
import { DEV_USAGE } from '../../../../src/cli/dev/dev-options.ts';
import { VERIFY_USAGE } from '../../../../src/cli/verify/verify-options.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';

/** The values for the last word, and the command lines with which names were listed. */
async function complete(...words: string[]): Promise<{ values: string[]; files: boolean; asked: string[] }> {
  const asked: string[] = [];
  const { candidates, files } = await completeCtl(words, async (argv) => {
    asked.push(argv.join(' '));
    return await Promise.resolve(['n1']);
  });
  return { values: candidates.map(({ value }) => value), files, asked };
}

describe('the words of slipway ctl', () => {
  it('begin with every command, and continue with its second word', async () => {
    const { values } = await complete('');
    expect(values).toEqual([...new Set(CTL_COMMANDS.map(({ name }) => name.split(' ')[0]))]);
    expect((await complete('task', '')).values).toEqual(['show', 'cancel']);
    expect((await complete('help', 'context', '')).values).toContain('use');
  });

  it.each([
    [['logs', '--task', ''], ['n1'], ['tasks -o name']],
    [['texts', 'diff', 'a', ''], ['n1'], ['releases -o name']],
    [['context', 'use', ''], ['n1'], ['context list -o name']],
    [['--ctl-context', ''], ['n1'], ['context list -o name']],
    [
      ['--url=http://h', '--ctl-context', 'x', 'task', 'show', ''],
      ['n1'],
      ['tasks --url=http://h --ctl-context=x -o name'],
    ],
    [['-n', 'ns', '-o', 'json', 'task', 'show', ''], ['n1'], ['tasks --namespace=ns -o name']],
    [['run', 'task-cancel', 'task_id='], ['task_id=n1'], ['tasks -o name']],
    [
      ['run', 'localized-publish', 'args=min_state='],
      ['args=min_state=translated', 'args=min_state=proofread'],
      [],
    ],
    [['-o', ''], ['table', 'wide', 'name', 'json', 'yaml'], []],
    [
      ['--output='],
      ['--output=table', '--output=wide', '--output=name', '--output=json', '--output=yaml'],
      [],
    ],
    [['task', 'show', 'a', ''], [], []],
    [['run', 'nonsense', ''], [], []],
    [['nonsense', ''], [], []],
    [['tasks', '--limit', ''], [], []],
    [['--[='], [], []],
    [['--(a+)+=x', 'tasks', '--stat.*='], [], []],
  ])('%j', async (words, values, asked) => {
    const found = await complete(...words);
    expect([found.files, found.asked]).toEqual([false, asked]);
    expect(found.values).toEqual(expect.arrayContaining(values));
    if (values.length === 0) expect(found.values).toEqual([]);
  });

  it.each([[['translations', 'export', '']], [['--token-file', '']], [['tasks', '--token-file=']]])(
    'are files in %j',
    async (words) => {
      expect(await complete(...words)).toEqual({ values: [], files: true, asked: [] });
    },
  );

  it.each(CTL_COMMANDS.map((command) => [command.name, command] as const))(
    'of %s have its own options and the common ones',
    async (name, { options }) => {
      const { values } = await complete(...name.split(' '), '-');
      expect(values).toEqual(expect.arrayContaining(['--url', ...options.map((option) => `--${option}`)]));
    },
  );
});

describe('the answer to a shell', () => {
  it('has only words that begin as typed and mean nothing to a shell', () => {
    const words = wordsOnly(['tt_1', 't$(x)', 't;x', 't x', 't`x`', "t'", 'other', 't\u001b[2J']);
    expect(renderCompletion(words, 't')).toBe('tt_1\n:4\n');
    expect(renderCompletion(wordsOnly(['a=', 'ab=']), 'a')).toBe('a=\nab=\n:6\n');
    expect(renderCompletion({ candidates: [], files: true }, '')).toBe(':0\n');
  });

  it('comes from the help of the other commands, and without an error from a service that is down', async () => {
    const sources = {
      list: async () => await Promise.resolve([]),
      usageOf: async (name: string) => await Promise.resolve(name === 'verify' ? VERIFY_USAGE : null),
    };
    const verify = await completeSlipway(['verify', '--'], sources);
    expect(verify.candidates.map(({ value }) => value)).toEqual([
      '--release',
      '--keys',
      '--quick',
      '--url',
      '--token-file',
      '--sample',
      '--timeout',
      '--against',
      '--output',
    ]);
    expect((await completeSlipway(['verify', ''], sources)).files).toBe(true);
    expect((await completeSlipway(['verify', '--release', ''], sources)).files).toBe(false);
    const dev = { ...sources, usageOf: async () => await Promise.resolve(DEV_USAGE) };
    expect((await completeSlipway(['dev', '--upstream', ''], dev)).files).toBe(true);
    expect((await completeSlipway(['dev', '--port', ''], dev)).files).toBe(false);
    expect((await completeSlipway(['completion', ''], sources)).candidates).toHaveLength(3);
    let [out, err] = ['', ''];
    const io = {
      stdout: { write: (text: string | Uint8Array) => (out += text.toString()) },
      stderr: { write: (text: string) => (err += text) },
      stdin: Readable.from([]),
      env: { SLIPWAY_CTL_URL: 'http://127.0.0.1:1' },
      clock: systemClock,
      signal: new AbortController().signal,
    };
    const program = { name: 'slipway ctl', plugin: false, version: '1' };
    expect(await answerShell(['ctl', 'task', 'show', ''], io, program, sources.usageOf)).toBe(0);
    expect([out, err]).toEqual([':4\n', '']);
    expect([runCompletion(['tcsh'], io), err]).toEqual([
      2,
      'slipway completion: name one shell: bash, zsh, fish\nFor help: slipway completion --help\n',
    ]);
  });
});
