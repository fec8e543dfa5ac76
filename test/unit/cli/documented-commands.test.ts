import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAMS } from '../../../src/cli/completion/programs.ts';
import { renderActionBody } from '../../../src/cli/ctl/action-body.ts';
import { CTL_COMMANDS, findCtlCommand } from '../../../src/cli/ctl/ctl-commands.ts';
import { parseCtlArguments, refuseOtherOptions } from '../../../src/cli/ctl/ctl-options.ts';
import { isControlAction } from '../../../src/contract/actions/actions.ts';
import { messageOf } from '../../../src/platform/errors.ts';

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
    refuseOtherOptions(args, command.name, command.options);
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

  it('begin each runbook with one that needs no Kubernetes, unless the page is about Kubernetes', () => {
    const pages = globSync('docs/runbooks/*.md', { cwd: ROOT }).filter((page) => !page.endsWith('README.md'));
    expect(pages.length).toBeGreaterThan(40);
    const firstOf = (page: string): string | undefined =>
      /^## First command\n\n```sh\n(.*)$/m.exec(readFileSync(join(ROOT, page), 'utf8'))?.[1];
    const bound = pages.filter((page) => !/^(?:slipway ctl|curl|date) /.test(firstOf(page) ?? ''));
    expect(bound.toSorted()).toEqual([
      'docs/runbooks/SlipwayOperatorWithoutLeader.md',
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
