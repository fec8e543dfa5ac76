import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  charactersOfScene,
  parseCharacterSheet,
  readCharacterSheet,
} from '../../../../../src/daemon/translation/providers/character-sheet.ts';
import { promptDigest, writePrompt } from '../../../../../src/daemon/translation/providers/prompt.ts';
import { maskPlaceholders } from '../../../../../src/domain/translation/placeholder-mask.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { unit } from './provider-harness.ts';

const sheet = parseCharacterSheet(
  'Name,gender,tone,address_forms,notes\nアリス,female,"polite, shy",お兄様 for Bob,x\nBob,male,,\n\nCarol,,,\n',
);

function promptOf(units: readonly ReturnType<typeof unit>[]) {
  const lines = units.map((each, index) => ({
    id: `u${index + 1}`,
    unitId: each.unitId,
    unit: each,
    masked: maskPlaceholders(each.sourceText, 'xml')!,
  }));
  const characters = charactersOfScene(sheet, ['Bob', 'アリス', 'Bob', 'nobody']);
  const subject = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans', characters };
  const { system, user } = writePrompt(subject, lines, 'xml', 'Keep it short.');
  return { system, user: JSON.parse(user) };
}

describe('the prompt', () => {
  it('has languages, tokens, instructions, and everyone in the scene', () => {
    const { system, user } = promptOf([unit('a', 'x')]);
    expect(system).toContain('from ja to zh-Hans');
    expect(system).toContain('<x id="1"/>');
    expect(system).toMatch(/Keep it short\.$/);
    expect(user.characters).toEqual([
      { name: 'Bob', gender: 'male' },
      { name: 'アリス', gender: 'female', tone: 'polite, shy', address: 'お兄様 for Bob' },
    ]);
  });

  it('shows terms, length, findings, neighbours in order, and three masked examples', () => {
    const examples = ['{a}1', '{b}', '{a}2', '{a}3', '{a}4'].map((source) => ({
      source,
      target: `${source}!`,
    }));
    const constraints = [{ source: '剣', recommended: '剑', allowed: ['刀'], forbidden: ['枪'] }];
    const { user } = promptOf([
      unit('a', '{a}剣', {
        speaker: 'Bob',
        before: ['p', 'q'],
        after: ['second'],
        constraints,
        examples,
        maxLength: 9,
      }),
      unit('b', 'second', { before: ['{a}剣'], after: ['z'], findings: ['too long'] }),
    ]);
    expect(user.lines).toEqual([
      {
        before: ['p', 'q'],
        id: 'u1',
        speaker: 'Bob',
        text: '<x id="1"/>剣',
        terms: [{ term: '剣', use: '剑', or: ['刀'], never: ['枪'] }],
        examples: [
          { source: '<x id="1"/>1', target: '<x id="1"/>1!' },
          { source: '<x id="1"/>2', target: '<x id="1"/>2!' },
          { source: '<x id="1"/>3', target: '<x id="1"/>3!' },
        ],
        max_length: 9,
      },
      { id: 'u2', text: 'second', mend: ['too long'], after: ['z'] },
    ]);
  });

  it('has a digest that changes with what it says', () => {
    const digests = [promptDigest('xml', null), promptDigest('brackets', null), promptDigest('xml', 'x')];
    expect(new Set(digests).size).toBe(3);
    expect(promptDigest('xml', null)).toBe(digests[0]);
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('the character sheet', () => {
  it('is read from a file', async () => {
    const path = join(await temporaryDirectory(), 'characters.csv');
    await writeFile(path, '\uFEFFname\nBob\n');
    expect((await readCharacterSheet(path)).get('Bob')?.gender).toBe('');
    await expect(readCharacterSheet(`${path}.no`)).rejects.toThrow('cannot be read');
  });

  it.each([
    ['who\nBob', 'row 1 has no column "name"'],
    ['name\nBob\nBob', 'row 3: "Bob" has a row already'],
    ['name,tone\n,calm', 'row 2 has no name'],
    [`name,tone\nBob,${'x'.repeat(1001)}`, 'row 2: tone has more than 1000 characters'],
    ['name\n"Bob', 'row 2'],
  ])('refuses %j', (text, message) => {
    expect(() => parseCharacterSheet(text)).toThrow(message);
  });
});
