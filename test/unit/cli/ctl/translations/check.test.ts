import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CTL_EXITS } from '../../../../../src/cli/ctl/ctl-exits.ts';
import { fakeTranslations, fakeUnit } from '../../../../support/fake-translations.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

async function table(...rows: readonly (readonly string[])[]): Promise<string> {
  const path = join(await temporaryDirectory(), 'work.csv');
  const lines = ['unit_id,source,target,revision', ...rows.map((row) => row.join(','))];
  await writeFile(
    path,
    lines
      .map(
        (line) => `${line}
`,
      )
      .join(''),
  );
  return path;
}

describe('slipway ctl translations check', () => {
  it('finds with the checks of the daemon, names lines, and asks no service', async () => {
    const service = fakeTranslations([]);
    const path = await table(
      ['u1', 'おはよう{name}', '早上好', ''],
      ['u2', 'はい', '是', ''],
      ['u3', 'はい', '好的', ''],
      ['u4', 'いいえ', '', ''],
      ['u5', 'x', 'y', 'odd'],
    );
    const report = join(await temporaryDirectory(), 'report.jsonl');
    const { code, out } = await service.run('translations', 'check', path, '--report', report);
    expect(code).toBe(CTL_EXITS.failed);
    expect(out).toContain(`${path}:2: error: placeholder_mismatch: `);
    expect(out).toContain(`${path}:4: warning: inconsistent_target: `);
    expect(out).toContain('5 units, 2 errors, 1 warning\n');
    const rows = (await readFile(report, 'utf8')).trim().split('\n');
    expect(rows.map((row) => JSON.parse(row) as object)).toMatchObject([
      { line: 2, unit_id: 'u1', check: 'placeholder_mismatch', severity: 'error' },
      { line: 4, unit_id: 'u3', check: 'inconsistent_target', severity: 'warning' },
      { line: 6, unit_id: 'u5', check: 'unreadable', severity: 'error' },
    ]);
    expect(service.reads).toEqual([]);
  });

  it('fails on warnings with --strict only', async () => {
    const service = fakeTranslations([]);
    const path = await table(['u1', '「はい」', '“是', '']);
    const shown = await service.run('translations', 'check', path);
    expect(shown).toMatchObject({ code: CTL_EXITS.ok, out: expect.stringContaining('0 errors') as string });
    expect((await service.run('translations', 'check', path, '--strict')).code).toBe(CTL_EXITS.failed);
  });

  it('takes the languages of the options, which decide about checks', async () => {
    const service = fakeTranslations([]);
    const path = await table(['u1', 'Hello there', 'おはようございます', '']);
    const chinese = await service.run('translations', 'check', path, '--source-language', 'en', '--strict');
    expect(chinese.out).toContain('kana');
    const japanese = await service.run(
      'translations',
      'check',
      path,
      '--target-language',
      'ja',
      '--source-language',
      'en',
    );
    expect(japanese.out).not.toContain('kana');
    const wrong = await service.run('translations', 'check', path, '--target-language', 'klingon language');
    expect(wrong).toMatchObject({
      code: CTL_EXITS.usage,
      err: expect.stringContaining('not a language tag') as string,
    });
  });

  it('compares with the release and asks for the findings of the daemon with --server, and stores nothing', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2'), fakeUnit('u3')]);
    service.blocks = (target) => (target === 'BAD' ? 'term_missing' : '');
    const path = await table(
      ['u1', '源u1', 'BAD', '0'],
      ['u2', 'old source', 'T', '0'],
      ['u3', '源u3', 'T', '0'],
    );
    const { code, out } = await service.run('translations', 'check', path, '--server');
    expect(code).toBe(CTL_EXITS.failed);
    expect(out).toContain(`${path}:2: error: term_missing: it is term_missing (u1)`);
    expect(out).toContain(`${path}:3: error: source_changed: `);
    expect(out).not.toContain(`${path}:4:`);
    expect([service.trials.length, service.updates]).toEqual([1, []]);
    const good = await service.run(
      'translations',
      'check',
      await table(['u3', '源u3', 'T', '0']),
      '--server',
      '-o',
      'json',
    );
    expect([good.code, JSON.parse(good.out)]).toMatchObject([CTL_EXITS.ok, { errors: 0, findings: [] }]);
  });
});
