import { globSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { loadSigningKeys, loadTrustedKeys } from '../../../src/attestation/keys.ts';
import { completeCtl } from '../../../src/cli/completion/complete-ctl.ts';
import { completeSlipway } from '../../../src/cli/completion/complete-slipway.ts';
import { renderCompletion, wordsOnly } from '../../../src/cli/completion/completion.ts';
import { PROGRAMS, renderProgramProblem, renderSlipwayUsage } from '../../../src/cli/completion/programs.ts';
import { answerShell, runCompletion } from '../../../src/cli/completion/run-completion.ts';
import { renderActionBody } from '../../../src/cli/ctl/action-body.ts';
import { CTL_COMMANDS, findCtlCommand } from '../../../src/cli/ctl/ctl-commands.ts';
import { parseCtlArguments, refuseOtherOptions } from '../../../src/cli/ctl/ctl-options.ts';
import { DEV_USAGE } from '../../../demo/dev-options.ts';
import { runKeygen } from '../../../src/cli/keygen/keygen.ts';
import { VERIFY_USAGE } from '../../../src/cli/verify/verify-options.ts';
import { isControlAction } from '../../../src/contract/actions/actions.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The values for the last word, and the command lines with which names were listed. */
async function complete(...words: string[]): Promise<{ values: string[]; files: boolean; asked: string[] }> {
  const asked: string[] = [];
  const { candidates, files } = await completeCtl(words, async (argv) => {
    asked.push(argv.join(' '));
    return await Promise.resolve(['n1']);
  });
  return { values: candidates.map(({ value }) => value), files, asked };
}

describe('completion of slipway ctl', () => {
  describe('the words of slipway ctl', () => {
    it('begin with every command, and continue with its second word', async () => {
      const { values } = await complete('');
      expect(values).toEqual([...new Set(CTL_COMMANDS.map(({ name }) => name.split(' ')[0]))]);
      expect((await complete('task', '')).values).toEqual(['show', 'cancel']);
      expect((await complete('help', 'texts', '')).values).toContain('diff');
    });

    it.each([
      [['logs', '--task', ''], ['n1'], ['tasks -o name']],
      [['texts', 'diff', 'a', ''], ['n1'], ['releases -o name']],
      [
        ['--url=http://h', '--token-file', 'x', 'task', 'show', ''],
        ['n1'],
        ['tasks --url=http://h --token-file=x -o name'],
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
      async (name, { optionTexts = [] }) => {
        const { values } = await complete(...name.split(' '), '-');
        const own = optionTexts.flatMap(([text]) => /--[a-z-]+/.exec(text) ?? []);
        expect(values).toEqual(expect.arrayContaining(['--url', ...own]));
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
});

describe('a command line of slipway', () => {
  it('without a command gets the list of commands', async () => {
    const problem = await renderProgramProblem('');
    expect(problem).toBe(`slipway: a command is missing\n\n${renderSlipwayUsage()}`);
    expect(PROGRAMS.filter(([name]) => !problem.includes(`\n  ${name} `))).toEqual([]);
  });

  it.each([
    ['verfy', 'verify'],
    ['staus', 'ctl status'],
    ['tasks', 'ctl tasks'],
  ])('with the command %j gets a suggestion, also of a command of ctl', async (written, meant) => {
    expect(await renderProgramProblem(written)).toBe(
      `slipway: there is no command "${written}"; did you mean "${meant}"?\nFor help: slipway --help\n`,
    );
  });

  it('with a word that is close to no command gets no suggestion', async () => {
    expect(await renderProgramProblem('no such command')).toBe(
      'slipway: there is no command "no such command"\nFor help: slipway --help\n',
    );
  });
});

const ROOT = resolve(import.meta.dirname, '../../..');

interface Written {
  readonly page: string;
  /** Behind `slipway`. */
  readonly words: readonly string[];
}

/** The commands in the code of a page: each span or line that begins with `slipway`, `bin/slipway` or `kubectl slipway`. */
function commandsOf(page: string): readonly Written[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const code = [...text.matchAll(/```[a-z]*\n([\s\S]*?)```|`([^`\n]+)`/g)].map(
    ([, block, span]) => block ?? span ?? '',
  );
  return code.flatMap((each) =>
    [
      ...each
        .replaceAll(/\\\n/g, ' ')
        .matchAll(
          /^\s*(?:\$ )?(?:source <\()?(?:bin\/|(kubectl) )?slipway ([a-z-][^\n:)]*(?:[:)]\S[^\n]*)?)$/gm,
        ),
    ].map(([, kubectl, rest = '']) => ({
      page,
      words: [...(kubectl === undefined ? [] : ['ctl']), ...wordsOf(rest)],
    })),
  );
}

/** The words of a line of a shell, up to a comment. */
function wordsOf(line: string): readonly string[] {
  const words = [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word);
  const end = words.findIndex((word) => /^[#|>&]/.test(word));
  return (end === -1 ? words : words.slice(0, end)).map((word) => word.replaceAll(/['"]/g, ''));
}

/** What is wrong with a command, or `null`. */
function problemOf([program = '', ...argv]: readonly string[]): string | null {
  if (!PROGRAMS.some(([name]) => name === program)) return `there is no command ${program}`;
  if (program !== 'ctl') return null;
  try {
    const args = parseCtlArguments(argv);
    // A page may name the program, or a group of its commands.
    const group = args.words.map((word) => `${word} `).join('');
    if (CTL_COMMANDS.some(({ name }) => name.startsWith(group))) return null;
    const command = findCtlCommand(args.words);
    if (command === null) return `ctl has no command ${args.words.join(' ')}`;
    refuseOtherOptions(args, command.name, command.optionTexts ?? []);
    const [, action = '', ...fields] = args.words;
    if (command.name !== 'run') return null;
    if (!isControlAction(action)) return `there is no action ${action}`;
    // An omission such as tm_... stands for a value that the reader has.
    if (fields.some((field) => field.endsWith('...'))) return null;
    if (args.values.body === undefined) renderActionBody(action, { fields, json: null });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

const FOLDERS = ['tutorials', 'how-to', 'explanation', 'runbooks'];

describe('the commands of the guides and the runbooks', () => {
  const written = globSync(`docs/{${FOLDERS.join(',')}}/*.md`, { cwd: ROOT }).flatMap(commandsOf);

  it('exist, with their options and the fields of their actions', () => {
    const wrong = written.flatMap(({ page, words }) => {
      const problem = problemOf(words);
      return problem === null ? [] : [`${page}: slipway ${words.join(' ')}: ${problem}`];
    });
    expect(wrong).toEqual([]);
  });

  it('begin each runbook with one for a laptop as well, unless the page is about Kubernetes', () => {
    const pages = globSync('docs/runbooks/*.md', { cwd: ROOT }).filter((page) => !page.endsWith('README.md'));
    expect(pages.length).toBeGreaterThan(40);
    const firstOf = (page: string): string =>
      /^## First command\n(.*?)^## /ms.exec(readFileSync(join(ROOT, page), 'utf8'))?.[1] ?? '';
    const bound = pages.filter((page) => !/^(?:bin\/slipway|curl|date) /m.test(firstOf(page)));
    expect(bound.toSorted()).toEqual([
      'docs/runbooks/ShuttingDown.md',
      'docs/runbooks/SlipwayOperatorWithoutLeader.md',
      'docs/runbooks/SlipwayReconcileFailing.md',
      'docs/runbooks/SlipwayReleaseChannelNotReady.md',
    ]);
  });

  it('are found in every folder', () => {
    const folders = new Set(written.map(({ page }) => page.split('/')[1]));
    expect(folders).toEqual(new Set(FOLDERS));
    expect(written.filter(({ words }) => words[1] === 'run').length).toBeGreaterThan(20);
  });

  it.each([
    ['ctl diagnostics', 'ctl has no command diagnostics'],
    ['ctl run refres', 'there is no action refres'],
    ['ctl status --wait', 'status has no option --wait'],
    ['ctl run localized-publish args=resume=true', 'the body of localized-publish is not valid'],
    ['verfy volume', 'there is no command verfy'],
  ])('could not be %s', (line, problem) => {
    expect(problemOf(wordsOf(line))).toContain(problem);
  });
});

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
