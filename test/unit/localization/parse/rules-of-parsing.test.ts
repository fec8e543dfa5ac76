import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  compileRules,
  DEFAULT_RULE,
  type CompiledRules,
} from '../../../../src/localization/parse/rules/compile-rules.ts';
import { loadRules, rulesDigest, RulesError } from '../../../../src/localization/parse/rules/load-rules.ts';
import {
  parseConfigurationSchema,
  parseRuleSchema,
} from '../../../../src/localization/parse/rules/parse-config.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function compile(configuration: object): Promise<CompiledRules> {
  return compileRules(await loadRules(parseConfigurationSchema.parse(configuration)));
}

describe('the rules of parsing', () => {
  it('have the default rule that their schema fills in, in its order, which decides digests', () => {
    const filled = parseRuleSchema.parse({ destination: ['**'] });
    expect(JSON.stringify(DEFAULT_RULE)).toBe(JSON.stringify(filled));
  });

  it('uses the first rule that matches destination and entry, and the default for the rest', async () => {
    const rules = await compile({
      rules: [
        { destination: ['tables/*.zip'], entry: ['*.bytes'], format: 'skip' },
        { destination: ['tables/**', '*.tsv'], format: 'tsv', header: false },
      ],
    });
    expect(rules.ruleFor('tables/a.zip', 'x.bytes').format).toBe('skip');
    expect(rules.ruleFor('tables/a.zip', 'x.json').format).toBe('tsv');
    expect(rules.ruleFor('tables/a.zip', null).format).toBe('tsv');
    expect(rules.ruleFor('other/a.zip', null).format).toBe('auto');
  });

  it('selects fields and texts, and names keys and context', async () => {
    const rules = await compile({
      sourceScript: 'korean',
      rules: [
        {
          destination: ['a'],
          include: ['/rows/*/Text*'],
          exclude: ['**/TextEn'],
          rowKey: ['Uid', ['Group', 'Line']],
          speaker: ['who'],
        },
        { destination: ['b'], sourceScript: 'latin' },
      ],
    });
    const rule = rules.ruleFor('a', null);
    expect(['/rows/0/TextKr', '/rows/0/TextEn', '/rows/0/Name'].map(rule.isSelectedField)).toEqual([
      true,
      false,
      false,
    ]);
    expect(['안녕', 'おはよう'].map(rule.hasSourceScript)).toEqual([true, false]);
    expect(rules.ruleFor('b', null).hasSourceScript('hello')).toBe(true);
    expect(rule.rowKeys).toEqual([['Uid'], ['Group', 'Line']]);
    expect([...rule.speakerFields]).toEqual(['who']);
    expect(rule.nestedFormat('m_Script')).toBe('auto');
  });

  it('finds the password of an entry, without the line break at the end of its file', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'one'), 'secret one\r\n');
    await writeFile(join(directory, 'two'), 'two');
    const rules = await compile({
      secrets: { one: join(directory, 'one'), two: join(directory, 'two') },
      rules: [
        { destination: ['a.zip'], password: 'one' },
        { destination: ['b.zip'], password: { 'x/*': 'one', '*.json': 'two' } },
      ],
    });
    const password = (destination: string, entry: string): string | undefined =>
      Buffer.from(rules.ruleFor(destination, null).password(entry) ?? []).toString();
    expect(password('a.zip', 'any')).toBe('secret one');
    expect(['x/1.json', '1.json', 'other'].map((entry) => password('b.zip', entry))).toEqual([
      'secret one',
      'two',
      '',
    ]);
    expect(rules.ruleFor('c.zip', null).password('any')).toBeNull();
  });

  it('changes the digest of exactly those destinations whose rules or files changed', async () => {
    const directory = await temporaryDirectory();
    const secret = join(directory, 'secret');
    const digests = async (content: string, script = 'japanese', row = 'Id'): Promise<readonly string[]> => {
      await writeFile(secret, content);
      const rules = await compile({
        sourceScript: script,
        secrets: { secret },
        rules: [
          { destination: ['a/**'], password: 'secret' },
          { destination: ['b/**'], rowKey: [row] },
        ],
      });
      return ['a/x', 'b/x', 'c/x'].map((destination) => rules.digestFor(destination));
    };
    const [a, b, c] = await digests('1');
    expect(await digests('1')).toEqual([a, b, c]);
    expect(await digests('2')).toEqual([expect.not.stringMatching(a ?? ''), b, c]);
    expect(await digests('1', 'japanese', 'Key')).toEqual([a, expect.not.stringMatching(b ?? ''), c]);
    expect(new Set([...(await digests('1', 'korean')), a, b, c]).size).toBe(6);
  });

  it('says what translations must comply with, by destination, entry and field', async () => {
    const directory = await temporaryDirectory();
    const charset = join(directory, 'charset');
    await writeFile(charset, 'あい\r\n𠮟 a\n');
    const rules = await compile({
      rules: [
        {
          destination: ['a.zip'],
          entry: ['*.csv'],
          charset,
          tags: 'angle',
          limits: [
            { fields: ['row[*].Title'], maxWidth: 24, maxLines: 1 },
            { maxBytes: 400, maxCharacters: 200 },
          ],
        },
      ],
    });
    const { constraints } = rules.ruleFor('a.zip', 'x.csv');
    expect([...(constraints.charset ?? [])]).toEqual(['あ', 'い', '𠮟', ' ', 'a']);
    expect(constraints.tags).toBe('angle');
    expect(constraints.limitsFor('row[3].Title')).toEqual({ maxWidth: 24, maxLines: 1 });
    expect(constraints.limitsFor('row[3].Text')).toEqual({ maxBytes: 400, maxCharacters: 200 });
    const none = rules.ruleFor('a.zip', 'x.json').constraints;
    expect([none.charset, none.tags, none.limitsFor('/a')]).toEqual([null, 'unity-rich-text', {}]);
  });

  it('refuses a file of characters that is not UTF-8 or has none', async () => {
    const charset = join(await temporaryDirectory(), 'charset');
    for (const content of [Buffer.of(0x82, 0xa0), Buffer.from('\n')]) {
      await writeFile(charset, content);
      await expect(compile({ rules: [{ destination: ['a'], charset }] })).rejects.toMatchObject({
        problems: [expect.stringMatching(/^parse\.rules\[0\]\.charset: /)],
      });
    }
  });

  it('digests what decides the texts and their identity, and not what only translations must comply with', async () => {
    const directory = await temporaryDirectory();
    const charset = join(directory, 'charset');
    const digests = async (configuration: object): Promise<readonly string[]> => {
      const loaded = await loadRules(parseConfigurationSchema.parse(configuration));
      return [rulesDigest(loaded), compileRules(loaded).digestFor('a')];
    };
    await writeFile(charset, 'あ');
    const plain = await digests({ rules: [{ destination: ['a'] }] });
    const constrained = {
      rules: [{ destination: ['a'], charset, tags: 'none', limits: [{ maxLines: 1 }] }],
    };
    expect(await digests(constrained)).toEqual(plain);
    await writeFile(charset, 'い');
    expect(await digests(constrained)).toEqual(plain);
    const [all, ofContainer] = await digests({ rules: [{ destination: ['a'] }], stableNames: ['a_*'] });
    expect(all).not.toBe(plain[0]);
    // The stable name is a part of the key of a container's texts by itself.
    expect(ofContainer).toBe(plain[1]);
  });

  it('takes type trees for all files, and those of a rule for its own', async () => {
    const directory = await temporaryDirectory();
    const [common, own] = ['common.json', 'own.json'].map((name) => join(directory, name)) as [
      string,
      string,
    ];
    const treesOf = (className: string): string =>
      JSON.stringify({ [className]: [{ m_Level: 0, m_Type: 'MonoBehaviour', m_Name: 'Base' }] });
    await writeFile(common, treesOf('Common'));
    await writeFile(own, treesOf('Own'));
    const configuration = { typeTrees: common, rules: [{ destination: ['own/**'], typeTrees: own }] };
    const rules = await compile(configuration);
    const treesFor = (path: string): string =>
      Buffer.from(rules.ruleFor(path, null).typeTrees ?? []).toString();
    expect(treesFor('level0')).toBe(treesOf('Common'));
    expect(treesFor('own/level0')).toBe(treesOf('Own'));
    const before = rules.digestFor('level0');
    await writeFile(common, treesOf('Other'));
    const after = await compile(configuration);
    expect(after.digestFor('level0')).not.toBe(before);
    await writeFile(common, '{}');
    await expect(compile(configuration)).rejects.toThrow(/^parse\.typeTrees: the type tree file is wrong/);
  });

  it('does not share texts between files whose extensions tell different formats', async () => {
    const rules = await compile({});
    const [csv, upper, tsv, none] = ['a/x.csv', 'b/y.CSV', 'a/x.tsv', 'a/x'].map((name) =>
      rules.digestFor(name),
    );
    expect(upper).toBe(csv);
    expect(new Set([csv, tsv, none]).size).toBe(3);
  });

  it('names every problem of a configuration', () => {
    const { error } = parseConfigurationSchema.safeParse({
      rules: [
        { destination: ['/a'], format: 'flatbuffers' },
        { destination: [], format: 'exe', colour: 1 },
        { destination: ['b'], password: 'nobody', codec: 'xor:none+utf8' },
      ],
    });
    const problems = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(
      expect.arrayContaining(['rules.0.destination.0', 'rules.1.destination', 'rules.1.format', 'rules.1']),
    );
    const rest = parseConfigurationSchema.safeParse({
      rules: [
        { destination: ['a'], format: 'flatbuffers' },
        { destination: ['b'], password: 'nobody' },
        { destination: ['c'], format: 'flatbuffers', schema: 's', codec: 'xor:none+utf8' },
      ],
    });
    expect(rest.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual([
      'rules.0.schema: is needed for the format flatbuffers',
      'rules.1.password: names the secret "nobody", which parse.secrets does not have',
      'rules.2.codec: names the secret "none", which parse.secrets does not have',
    ]);
  });

  it('names unknown secrets and missing schemas together with other problems', () => {
    const { error } = parseConfigurationSchema.safeParse({
      processes: 0,
      secrets: { known: 'file', 'a b': 'file' },
      rules: [
        null,
        {
          destination: ['a'],
          format: 'flatbuffers',
          encoding: 'ebcdic',
          codec: 'xor:none',
          password: 'known',
        },
        { destination: ['b'], codec: 5, password: { '*': 'nobody' }, colour: 1 },
      ],
    });
    expect(error?.issues.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'processes',
      'rules.0',
      'rules.1.codec',
      'rules.1.encoding',
      'rules.1.schema',
      'rules.2',
      'rules.2.codec',
      'rules.2.codec',
      'rules.2.password',
      'secrets.a b',
    ]);
  });

  it('says which setting names a file that cannot be read', async () => {
    const path = join(await temporaryDirectory(), 'missing');
    const rules = [{ destination: ['a'], format: 'flatbuffers', schema: path }];
    const failure = await compile({ rules }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RulesError);
    expect(String(failure)).toContain(`parse.rules[0].schema: ${path} cannot be read`);
  });
});
