import { describe, expect, it } from 'vitest';
import { ApiFailure } from '../../../../src/console/api/api-client.ts';
import {
  importTerms,
  NOTHING_DONE,
  type ImportProgress,
} from '../../../../src/console/translate/glossary-import/import-terms.ts';
import { readTerms } from '../../../../src/console/translate/glossary-import/read-terms.ts';
import { renderConsoleContract } from '../../../../src/contract/console/console-contract.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };
const KNOWN = {
  ...PAIR,
  aliases: [],
  allowed_translations: [],
  category: '',
  priority: 0,
  scope: {},
};
const TERMS = [
  { ...KNOWN, term_id: 'gt_1', source_term: '約束', recommended_translation: '约定', review_status: 'draft' },
  {
    ...KNOWN,
    term_id: 'gt_2',
    source_term: '先生',
    recommended_translation: '老师',
    review_status: 'approved',
  },
  { ...KNOWN, term_id: 'gt_3', source_term: '駅', recommended_translation: '车站', review_status: 'draft' },
];

/** A service with some terms, that refuses a category. */
function createDesk(fail: (body: Record<string, unknown>) => ApiFailure | null = () => null) {
  const sent: [action: string, body: Record<string, unknown>][] = [];
  const desk = {
    contract: renderConsoleContract(),
    now: () => 1_767_225_600.7,
    api: {
      read: async (_path: string, { query = {} }: { query?: Record<string, string> } = {}) => {
        const items = TERMS.filter((term) => term.source_term.includes(query['source_text'] ?? ''));
        return await Promise.resolve({ items, total: items.length });
      },
      control: async (path: string, text: string) => {
        const body = JSON.parse(text) as Record<string, unknown>;
        const failure = fail(body);
        if (failure !== null) throw failure;
        sent.push([path.slice('/admin/control/translation-glossary-'.length), body]);
        return await Promise.resolve({ status: 'succeeded', task_id: 'x' });
      },
    },
  } as unknown as Parameters<typeof importTerms>[0];
  return { desk, sent };
}

async function run(
  text: string,
  { desk }: Pick<ReturnType<typeof createDesk>, 'desk'>,
  signal = new AbortController().signal,
): Promise<ImportProgress> {
  let last = NOTHING_DONE;
  const options = {
    // A pair of a report has counts, too, which no action takes.
    pair: { ...PAIR, counts: {} },
    file: 'terms.csv',
    signal,
    onProgress: (now: ImportProgress) => void (last = now),
  };
  await importTerms(desk, readTerms(text, PAIR).terms, options);
  return last;
}

const HEAD = 'source_term,recommended_translation,review_status,category\n';

describe('the import of terms in the console', () => {
  it('adds new terms as drafts, changes drafts, and leaves decisions of people', async () => {
    const made = createDesk();
    const progress = await run(
      `${HEAD}港,港口,approved,place\n約束,誓约,,\n先生,教师,,\n駅,车站,,\n秘密,隐秘,rejected,\n`,
      made,
    );
    expect(progress.counts).toEqual({ added: 1, updated: 1, conflict: 1, unchanged: 1, left_out: 1 });
    expect(made.sent.map(([action, body]) => [action, body['term_id'], body['source_term']])).toEqual([
      ['add', undefined, '港'],
      ['update', 'gt_1', '約束'],
    ]);
    expect(made.sent[0]?.[1]).not.toHaveProperty('counts');
    expect(made.sent[0]?.[1]).toMatchObject({
      ...PAIR,
      category: 'place',
      source: { source_kind: 'imported', observed_unix_seconds: 1_767_225_600, source_ref: 'terms.csv' },
    });
    expect(progress.issues.map(({ term, message }) => [term.source_term, message])).toEqual([
      ['先生', expect.stringContaining('approved')],
      ['秘密', expect.stringContaining('rejected')],
    ]);
  });

  it('reports a refused term and continues, and ends where the service does not answer', async () => {
    const refuse = createDesk(({ category }) =>
      category === 'bad'
        ? new ApiFailure('The body is invalid.', {
            status: 422,
            problem: { errors: [{ pointer: '/category', message: 'unknown category' }] },
          })
        : null,
    );
    const progress = await run(`${HEAD}港,港口,,bad\n海,海,,\n`, refuse);
    expect(progress.counts).toEqual({ refused: 1, added: 1 });
    expect(progress.issues[0]?.message).toBe('The body is invalid. /category unknown category');
    const away = createDesk(() => new ApiFailure('The server does not answer.'));
    await expect(run(`${HEAD}港,港口,,\n`, away)).rejects.toThrow('does not answer');
  });

  it('adds a term under another id when that of the file is taken', async () => {
    const taken = createDesk(({ term_id: id }) =>
      id === undefined ? null : new ApiFailure('Taken.', { status: 409, problem: { detail: 'term_exists' } }),
    );
    const progress = await run('term_id,source_term,recommended_translation\ngt_old,港,港口\n', taken);
    expect([progress.counts, taken.sent.length]).toEqual([{ added: 1 }, 1]);
  });

  it('stops after the current term', async () => {
    const made = createDesk();
    const stop = new AbortController();
    stop.abort();
    expect(await run(`${HEAD}港,港口,,\n`, made, stop.signal)).toEqual(NOTHING_DONE);
    expect(made.sent).toEqual([]);
  });
});
