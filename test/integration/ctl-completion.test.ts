import { exampleOf } from '../../scripts/reference/examples.ts';
import { spawn, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { REPORTS } from '../../src/contract/reports/reports.ts';
import { completionScript, type CompletionShell } from '../../src/cli/completion/shell-scripts.ts';
import { startAdminServer } from '../support/admin-client.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The command and the configuration of each shell: only the script, and a prompt that the test can see. */
const SHELLS: Readonly<
  Record<
    CompletionShell,
    (folder: string) => { readonly argv: readonly string[]; readonly rc: readonly [string, string] }
  >
> = {
  bash: (folder) => ({
    argv: ['bash', '--noprofile', '--rcfile', join(folder, 'bashrc'), '-i'],
    rc: ['bashrc', `PS1='READY>'\nsource ${join(folder, 'script')}\n`],
  }),
  zsh: (folder) => ({
    argv: ['zsh', '-d', '-i'],
    rc: [
      '.zshrc',
      `PS1='READY>'\nautoload -U compinit && compinit -u -D\nbindkey -e\nsource ${join(folder, 'script')}\n`,
    ],
  }),
  fish: (folder) => ({
    argv: ['fish', '--private', '-i'],
    rc: [
      'fish/config.fish',
      `function fish_prompt; echo -n 'READY>'; end\nset -g fish_greeting\nsource ${join(folder, 'script')}\n`,
    ],
  }),
};

/** The keys before Tab, and the line after it: every way in which a shell splits, quotes or ends a word. */
const LINES: ReadonlyArray<readonly [string, string]> = [
  ['slipway ver', 'slipway verify'],
  ['slipway ctl tasks --stat', 'slipway ctl tasks --status'],
  ['slipway ctl --color=alw', 'slipway ctl --color=always'],
  ['slipway ctl run release-cleanup coun', 'slipway ctl run release-cleanup count='],
  // A name that the service has; bash splits it at "=" and ":".
  ['slipway ctl run schedule-run id=configured:sy', 'slipway ctl run schedule-run id=configured:sync'],
  ['slipway verify snap', 'slipway verify snapshot'],
  ['slipway ctl tasks --token-file adm', 'slipway ctl tasks --token-file admin.token'],
];
/** What the program finds in the same way for every shell; only one types it. */
const MORE_LINES: typeof LINES = [
  ['slipway ctl sched', 'slipway ctl schedules'],
  ['slipway ctl translations hand', 'slipway ctl translations handoff'],
  ['slipway ctl tasks --status runn', 'slipway ctl tasks --status running'],
  ['slipway ctl run release-cl', 'slipway ctl run release-cleanup'],
  ['slipway ctl run release-cleanup force=tr', 'slipway ctl run release-cleanup force=true'],
  ['slipway ctl task show 01KA', 'slipway ctl task show 01KAJ2X6V5Q0E8T9R3W7Y1Z4BC'],
];

async function typeInto(shell: CompletionShell, typed: typeof LINES): Promise<readonly string[]> {
  const folder = await temporaryDirectory();
  const server = await startAdminServer({ daemonTimeoutMs: 10_000 });
  const schedules = exampleOf(REPORTS['schedule.list'].answer);
  const items = schedules.items.map((item) => ({ ...item, id: 'configured:sync' }));
  server.daemon.setReport('schedule.list', { ...schedules, items });
  server.daemon.setReport('task.list', exampleOf(REPORTS['task.list'].answer));
  const { argv, rc } = SHELLS[shell](folder);
  await mkdir(join(folder, 'fish'));
  await mkdir(join(folder, 'snapshot'));
  // Without this folder fish generates completions from the manual pages in the background, after it has ended.
  await mkdir(join(folder, '.local/share/fish/generated_completions'), { recursive: true });
  await writeFile(join(folder, 'admin.token'), '');
  await writeFile(join(folder, 'script'), completionScript(shell));
  await writeFile(join(folder, rc[0]), rc[1]);
  const child = spawn('python3', [join(ROOT, 'test/support/type-into-shell.py')], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const env = {
    PATH: `${join(ROOT, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    ZDOTDIR: folder,
    XDG_CONFIG_HOME: folder,
    TERM: 'xterm',
    SLIPWAY_CTL_URL: server.url,
    SLIPWAY_CTL_TOKEN_FILE: server.tokenFile,
    // Node starts slowly while other tests use the machine.
    SLIPWAY_CTL_COMPLETION_SECONDS: '170',
  };
  child.stdin.end(
    JSON.stringify({ argv, env, cwd: folder, prompt: 'READY>', lines: typed.map(([line]) => line) }),
  );
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(err).toBe('');
  // zsh takes the slash after a folder away when the next word begins.
  return (JSON.parse(out) as readonly string[]).map((line) => line.replace(/\/$/, ''));
}

describe('words in a terminal', () => {
  // Tab never prepares a checkout: any other command does.
  beforeAll(() => {
    expect(spawnSync(join(ROOT, 'bin/slipway'), ['--version']).status).toBe(0);
  });

  it.skipIf(!hasTool('bash') || !hasTool('python3'))('are completed by bash', async () => {
    const typed = [...LINES, ...MORE_LINES];
    expect(await typeInto('bash', typed)).toEqual(typed.map(([, line]) => line));
  });

  it.skipIf(!hasTool('zsh') || !hasTool('python3'))('are completed by zsh', async () => {
    expect(await typeInto('zsh', LINES)).toEqual(LINES.map(([, line]) => line));
  });

  it.skipIf(!hasTool('fish') || !hasTool('python3'))('are completed by fish', async () => {
    expect(await typeInto('fish', LINES)).toEqual(LINES.map(([, line]) => line));
  });
});
