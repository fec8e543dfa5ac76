import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MEMORY_EXPORT_JOB, MEMORY_IMPORT_JOB } from '../../../../src/localization/memory/memory-jobs.ts';
import { callOf } from '../../../../src/engine/tasks/job.ts';
import type { Task } from '../../../../src/engine/tasks/task.ts';
import { startMemory, type TestMemory } from '../../../support/memory-part.ts';
import { lookup, proposal } from '../../../support/memory-records.ts';
import { mutations } from '../../../support/mutate.ts';
import { runToEnd, taskOf } from '../../../support/task-engine.ts';

const REVIEW = { reviewer: 'mika', reason: 'delivered by the agency' };

function put({ exchangeRoot }: TestMemory, file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(exchangeRoot, file)), { recursive: true });
  writeFileSync(join(exchangeRoot, file), content);
}

async function importFile(world: TestMemory, file: string, args: object = {}, audit = {}): Promise<Task> {
  return await runToEnd(world.engine, callOf(MEMORY_IMPORT_JOB, { file, ...args }), audit);
}

async function exportFile(world: TestMemory, file: string, args: object = {}): Promise<Task> {
  return await runToEnd(world.engine, callOf(MEMORY_EXPORT_JOB, { file, ...args }));
}

/** The bytes of the records, as an export of all of them has them. */
async function contents(world: TestMemory): Promise<string> {
  const include = 'candidate,trusted,superseded,rejected';
  const task = await exportFile(world, 'all.jsonl', { include });
  expect(task.failure_reason).toBeNull();
  return readFileSync(join(world.exchangeRoot, 'all.jsonl'), 'utf8');
}

function line(source_text: string, target_text: string, fields: object = {}): string {
  return JSON.stringify({
    source_language: 'ja',
    target_language: 'zh-CN',
    source_text,
    target_text,
    ...fields,
  });
}

function counts({ result }: Task): unknown {
  return result?.['counts'];
}

async function stateOf({ memory }: TestMemory, source: string): Promise<unknown> {
  const [answer] = await memory.translationMemory.lookUp([lookup(source, { depth: 'exact' })]);
  return answer?.matches.map(({ record }) => record.state);
}

describe.each(['tmx', 'jsonl'])('records that leave as %s', (format) => {
  it('come back into another memory with texts, states, context and provenance, and once more without a change', async () => {
    const from = await startMemory();
    const { translationMemory } = from.memory;
    await translationMemory.propose([
      proposal('はい', '是\u0001', { context: { speaker: 'アロナ' } }),
      proposal('いいえ', '不'),
    ]);
    const [known] = await translationMemory.lookUp([lookup('いいえ', { depth: 'exact' })]);
    await translationMemory.confirm({
      record_id: known?.matches[0]?.record.record_id ?? '',
      supersede_record_id: null,
      force: false,
      ...REVIEW,
    });
    const file = `out/memory.${format}`;
    const task = await exportFile(from, file);
    const bytes = readFileSync(join(from.exchangeRoot, file));
    expect(task.result).toEqual({
      file,
      path: join(from.exchangeRoot, file),
      format,
      include: 'trusted,candidate',
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      written: 2,
      refused: 0,
      issues: [],
    });
    const to = await startMemory();
    put(to, 'in/memory.file', bytes);
    const trusted = await importFile(
      to,
      'in/memory.file',
      { format, trusted: true, token_id: 'ann' },
      REVIEW,
    );
    expect(counts(trusted)).toMatchObject({ added: 1, confirmed: 1, unchanged: 0, refused: 0 });
    expect(await stateOf(to, 'はい')).toEqual(['candidate']);
    expect(await stateOf(to, 'いいえ')).toEqual(['trusted']);
    const [confirmed] = await to.memory.translationMemory.lookUp([lookup('いいえ', { depth: 'exact' })]);
    const confirmedId = confirmed?.matches[0]?.record.record_id ?? '';
    expect(await to.memory.translationMemory.history(confirmedId)).toMatchObject([
      { action: 'confirm', reviewer: REVIEW.reviewer, token_id: 'ann' },
    ]);
    const [found] = await to.memory.translationMemory.lookUp([
      lookup('はい', { context: { speaker: 'アロナ' } }),
    ]);
    const record = await to.memory.translationMemory.record(found?.matches[0]?.record.record_id ?? '');
    expect(record).toMatchObject({
      target_text: '是\u0001',
      context: { speaker: 'アロナ' },
      provenance: { origin: 'import', provider: 'fixture' },
    });
    const before = await contents(to);
    const again = await importFile(to, 'in/memory.file', { format, trusted: true }, REVIEW);
    expect(counts(again)).toMatchObject({ added: 0, confirmed: 0, unchanged: 2 });
    expect(await contents(to)).toBe(before);
    expect(await to.memory.translationMemory.record(record?.record_id ?? '')).toEqual(record);
  });
});

describe('an import', () => {
  it('that one token makes trusted is the work of this token alone', async () => {
    const world = await startMemory();
    put(world, 'a.jsonl', line('はい', '是'));
    await importFile(world, 'a.jsonl', { trusted: true, token_id: 'ann' }, REVIEW);
    const { translationMemory } = world.memory;
    const [answer] = await translationMemory.lookUp([lookup('はい', { depth: 'exact' })]);
    const ids = answer?.matches.map(({ record }) => record.record_id) ?? [];
    expect(await translationMemory.soleTokens(ids)).toEqual(['ann']);
  });

  it('is a file of candidates unless a reviewer stands for it', async () => {
    const world = await startMemory();
    put(world, 'a.jsonl', [line('はい', '是', { state: 'trusted' }), line('いいえ', '不')].join('\n'));
    expect(counts(await importFile(world, 'a.jsonl'))).toMatchObject({ added: 2, confirmed: 0 });
    expect(await stateOf(world, 'はい')).toEqual(['candidate']);
    const unnamed = await importFile(world, 'a.jsonl', { trusted: true });
    expect(unnamed).toMatchObject({ status: 'failed', failure_code: 'reviewer_missing' });
    expect(counts(await importFile(world, 'a.jsonl', { trusted: true }, REVIEW))).toMatchObject({
      confirmed: 2,
    });
    expect(await stateOf(world, 'いいえ')).toEqual(['trusted']);
  });

  it('reports every record that it does not take, with its line', async () => {
    const world = await startMemory();
    const lines = [
      line('はい', '是'),
      line('はい', '对'),
      line('はい', ''),
      line('はい', '\uD800'),
      line('はい', 'yes', { target_language: 'en' }),
      line('古い', '旧', { state: 'rejected' }),
      line('{0}', '没有'),
      '{"source_language":"ja"}',
      line('遠い', '远', { provenance: { provider: 'x'.repeat(4097) } }),
      line('近い', '近', { context: { speaker: 'x'.repeat(100_000) } }),
    ];
    put(world, 'a.jsonl', lines.join('\n'));
    const { result } = await importFile(world, 'a.jsonl', { trusted: true }, REVIEW);
    expect(result).toMatchObject({
      counts: {
        added: 0,
        confirmed: 1,
        unchanged: 0,
        conflict: 1,
        refused: 6,
        left_out: 1,
        other_languages: 1,
      },
      issues_left_out: 0,
    });
    const issues = result?.['issues'] as { line: number; outcome: string; message: string }[];
    expect(
      issues
        .map((issue) => [issue.line, issue.outcome])
        .toSorted(([left = 0], [right = 0]) => Number(left) - Number(right)),
    ).toEqual([
      [2, 'conflict'],
      [3, 'refused'],
      [4, 'refused'],
      [7, 'refused'],
      [8, 'refused'],
      [9, 'refused'],
      [10, 'refused'],
    ]);
  });

  it('of a file without the wanted languages takes nothing, and says which ones the file has', async () => {
    const world = await startMemory();
    const unit = (languages: readonly string[]): string =>
      `<tu>${languages.map((each) => `<tuv xml:lang="${each}"><seg>${each}</seg></tuv>`).join('')}</tu>`;
    const units = [unit(['en', 'zh-CN']), unit(['en', 'zh-CN']), unit(['en', 'ko'])];
    const file = (srclang: string, more = ''): string =>
      `<tmx version="1.4"><header srclang="${srclang}"/>\n<body>${units.join('\n')}${more}</body></tmx>`;
    put(world, 'a.tmx', file('EN'));
    expect((await importFile(world, 'a.tmx')).result).toMatchObject({
      counts: { added: 0, other_languages: 3 },
      issues: [
        {
          line: 2,
          outcome: 'other_languages',
          message: '0 taken: no entry is of ja to zh-Hans; the file has en to zh-CN (2), en to ko (1)',
        },
      ],
    });
    put(world, 'a.tmx', file('*all*', unit(['en', 'zh-Hans', 'ja_JP'])));
    expect((await importFile(world, 'a.tmx')).result).toMatchObject({
      counts: { added: 1, other_languages: 4 },
      issues: [],
    });
  });

  it('as a dry run says the same and changes nothing', async () => {
    const world = await startMemory();
    put(world, 'a.jsonl', [line('はい', '是'), line('はい', '对')].join('\n'));
    const before = await contents(world);
    const dry = await importFile(world, 'a.jsonl', { trusted: true, dry_run: true }, REVIEW);
    expect(dry.result).toMatchObject({ dry_run: true, counts: { confirmed: 1, conflict: 1 } });
    expect(await contents(world)).toBe(before);
    expect(counts(await importFile(world, 'a.jsonl', { trusted: true }, REVIEW))).toEqual(counts(dry));
  });

  it('that is cancelled on its way is finished by the next one', async () => {
    const world = await startMemory();
    const all = Array.from({ length: 3000 }, (_, at) => line(`文${at}`, `句${at}`));
    put(world, 'a.jsonl', all.join('\n'));
    const { engine } = world;
    engine.start();
    const { task } = engine.submit({ ...callOf(MEMORY_IMPORT_JOB, { file: 'a.jsonl' }), dedupe: true });
    engine.cancel(task.task_id, null);
    const end = await runToEnd(engine, callOf(MEMORY_IMPORT_JOB, { file: 'a.jsonl' }));
    expect(taskOf(engine, task.task_id).status).toBe('cancelled');
    const found = counts(end) as { added: number; unchanged: number };
    expect(found.added + found.unchanged).toBe(3000);
    expect((await contents(world)).match(/"state":"candidate"/g)).toHaveLength(3000);
  });

  it.each([
    ['missing.tmx', {}, 'file_not_found'],
    ['../memory.db', { format: 'tmx' }, 'invalid_path'],
    ['link.tmx', {}, 'invalid_path'],
    ['folder', { format: 'tmx' }, 'invalid_path'],
    ['a.xlsx', {}, 'format_unknown'],
  ])('of %s fails with its reason', async (file, args, code) => {
    const world = await startMemory();
    put(world, 'folder/a.txt', '');
    writeFileSync(join(world.dataDirectory, 'secret.tmx'), '');
    symlinkSync('../secret.tmx', join(world.exchangeRoot, 'link.tmx'));
    expect(await importFile(world, file, args)).toMatchObject({ status: 'failed', failure_code: code });
  });

  it.each<[string, string | Uint8Array, string, number]>([
    ['with entities', '<!DOCTYPE tmx [<!ENTITY a "b">]><tmx version="1.4"/>', 'structure_invalid', 1],
    [
      'with an external entity',
      '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx version="1.4"><header/><body>&a;</body></tmx>',
      'structure_invalid',
      1,
    ],
    ['that is cut off', '<tmx version="1.4">\n<header/><body>\n', 'syntax_invalid', 3],
    ['of bytes that are not text', Buffer.from('<tmx version="1.4">\n\xff', 'latin1'), 'encoding_invalid', 2],
    ['with NUL', '<tmx version="1.4">\n<header/>\n\0', 'syntax_invalid', 3],
  ])('of a file %s is refused with line and reason, and changes nothing', async (_, content, reason, at) => {
    const world = await startMemory();
    put(world, 'good.jsonl', line('はい', '是'));
    await importFile(world, 'good.jsonl');
    const before = await contents(world);
    put(world, 'bad.tmx', content);
    expect(await importFile(world, 'bad.tmx')).toMatchObject({
      status: 'failed',
      failure_code: 'file_refused',
      failure_reason: expect.stringMatching(new RegExp(`bad.tmx: line ${at}: .*nothing was changed`)),
      result: { file: 'bad.tmx', reason, line: at },
    });
    expect(await contents(world)).toBe(before);
    expect(readdirSync(world.dataDirectory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('of mutated files changes nothing when the file is refused', async () => {
    const world = await startMemory();
    const good = `{"format":"slipway-memory-1"}\n${line('はい', '是')}\n{"end":true,"records":1}\n`;
    let refused = 0;
    for (const mutation of mutations(Buffer.from(good), { seed: 5, count: 60 })) {
      const before = await contents(world);
      put(world, 'mutated.jsonl', mutation);
      const task = await importFile(world, 'mutated.jsonl');
      if (task.status === 'succeeded') continue;
      refused += 1;
      expect(task).toMatchObject({ failure_code: 'file_refused', result: { line: expect.any(Number) } });
      expect(await contents(world)).toBe(before);
    }
    expect(refused).toBeGreaterThan(20);
  });
});

describe('an export', () => {
  it('replaces a file only when it is complete, and a link instead of the file behind it', async () => {
    const world = await startMemory();
    await world.memory.translationMemory.propose([proposal('はい', '是')]);
    put(world, 'kept.txt', 'kept');
    symlinkSync('kept.txt', join(world.exchangeRoot, 'out.tmx'));
    expect(await exportFile(world, 'out.tmx')).toMatchObject({ status: 'succeeded', result: { written: 1 } });
    expect(readFileSync(join(world.exchangeRoot, 'kept.txt'), 'utf8')).toBe('kept');
    expect(readFileSync(join(world.exchangeRoot, 'out.tmx'), 'utf8')).toContain('<tu ');
    expect(readdirSync(world.exchangeRoot).toSorted()).toEqual(['kept.txt', 'out.tmx']);
    expect(statSync(join(world.exchangeRoot, 'out.tmx')).mode & 0o777).toBe(0o644);
  });

  it('names the records that a format cannot carry, and writes the others', async () => {
    const world = await startMemory();
    await world.memory.translationMemory.propose([
      proposal('はい', '是', { context: { speaker: '\u0001' } }),
      proposal('いいえ', '不'),
    ]);
    expect(await exportFile(world, 'a.tmx')).toMatchObject({
      result: {
        written: 1,
        refused: 1,
        issues: [{ id: expect.stringMatching(/^tm_/), message: expect.stringContaining('U+0001') }],
      },
    });
    expect(await exportFile(world, 'a.jsonl')).toMatchObject({ result: { written: 2, refused: 0 } });
  });

  it('that cannot leave its folder fails', async () => {
    const world = await startMemory();
    expect(await exportFile(world, '../out.tmx')).toMatchObject({ failure_code: 'invalid_path' });
  });
});

describe('a Translation Memory that cannot be used', () => {
  it('is named by both jobs', async () => {
    const world = await startMemory((folder) => writeFileSync(join(folder, 'memory.db'), 'x'.repeat(5000)));
    put(world, 'a.jsonl', line('はい', '是'));
    for (const task of [await importFile(world, 'a.jsonl'), await exportFile(world, 'b.tmx')]) {
      expect(task).toMatchObject({ status: 'failed', failure_code: 'memory_unavailable' });
    }
    expect(readdirSync(world.exchangeRoot)).toEqual(['a.jsonl']);
  });
});
