import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { CTL_COMMANDS, ctlCommandsOf } from '../../src/cli/ctl/ctl-commands.ts';
import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FILES = ['src/**/*.{ts,tsx}', 'demo/**/*.ts', 'docs/**/*.md', 'charts/**/*.{yaml,tpl,txt}', '*.md'];
/** A command in quotes, in code or at the beginning of a line of a shell, with its next word. */
const COMMAND = /(?:["'`(]|^\s*(?:bin\/)?)slipway ctl ([a-z][a-z-]*)(?: ([a-z][a-z-]*)(?![=\w]))?/gm;

it('every command that messages and the documentation name exists', () => {
  const names = new Set(CTL_COMMANDS.map(({ name }) => name));
  const actions = new Set<string>(CONTROL_ACTIONS);
  const unknown: string[] = [];
  let found = 0;
  for (const file of globSync(FILES, { cwd: ROOT })) {
    for (const [text, first = '', second] of readFileSync(resolve(ROOT, file), 'utf8').matchAll(COMMAND)) {
      found += 1;
      const isGroup = second === undefined && ctlCommandsOf(first).length > 0;
      const isCommand = isGroup || names.has(first) || names.has(`${first} ${second ?? ''}`);
      const isAction = first !== 'run' || second === undefined || actions.has(second);
      if (!isCommand || !isAction) unknown.push(`${file}: ${text.trim()}`);
    }
  }
  expect(found).toBeGreaterThan(100);
  expect(unknown).toEqual([]);
});
