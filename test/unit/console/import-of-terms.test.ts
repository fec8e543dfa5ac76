import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import {
  importTerms,
  NOTHING_DONE,
  type ImportProgress,
  readTerms,
} from '../../../src/console/translate/glossary-import/import-terms.ts';
import { duplicatesOf, mergedBody, type Term } from '../../../src/console/translate/term-parts.tsx';
import { renderConsoleContract } from '../../../scripts/console/console-contract.ts';
import { GlossaryQueryReport } from '../../../src/contract/reports/report-glossary.ts';
import { TERM_FORMATS } from '../../../src/exchange/glossary/term-formats.ts';

const PAIR = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

const LANGUAGES = { source_language: 'ja', target_language: 'zh-Hans' };
const KNOWN = {
  ...LANGUAGES,
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

/** The answer of the server where the daemon has refused. */
function rejected(status: number, code: string, detail: string): ApiFailure {
  const problem = { code: 'daemon_rejected', detail, daemon: { status, code } } as const;
  return new ApiFailure(detail, { status: 502, problem });
}

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
  waits: number[] = [],
): Promise<ImportProgress> {
  let last = NOTHING_DONE;
  const options = {
    pair: PAIR,
    file: 'terms.csv',
    signal,
    wait: async (seconds: number) => {
      waits.push(seconds);
      await Promise.resolve();
    },
    onProgress: (now: ImportProgress) => void (last = now),
  };
  await importTerms(desk, readTerms(text, PAIR).terms, options);
  return last;
}

describe('the import of terms in the console', () => {
  const HEAD = 'source_term,recommended_translation,review_status,category\n';

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
    expect(made.sent[0]?.[1]).toMatchObject({
      ...LANGUAGES,
      category: 'place',
      source: { source_kind: 'imported', observed_unix_seconds: 1_767_225_600, source_ref: 'terms.csv' },
    });
    expect(progress.issues).toEqual([
      { line: 4, message: expect.stringMatching(/^先生: .*approved/) },
      { line: 6, message: expect.stringMatching(/^秘密: .*rejected/) },
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
    expect(progress.issues[0]?.message).toBe('港: The body is invalid. /category unknown category');
    const away = createDesk(() => new ApiFailure('The server does not answer.'));
    await expect(run(`${HEAD}港,港口,,\n`, away)).rejects.toThrow('does not answer');
  });

  it('adds a term under another id when that of the file is taken', async () => {
    const taken = createDesk(({ term_id: id }) =>
      id === undefined ? null : rejected(409, 'term_exists', 'There is or was a term of this id.'),
    );
    const file = 'term_id,source_term,recommended_translation\ngt_old,港,港口\n';
    const progress = await run(file, taken);
    expect([progress.counts, taken.sent.length]).toEqual([{ added: 1 }, 1]);
    // A text that only names the code is another refusal.
    const other = createDesk(() => rejected(409, 'term_conflict', 'Not term_exists.'));
    expect((await run(file, other)).counts).toEqual({ refused: 1 });
  });

  it('takes a rejection of the daemon for a refusal of the term, unless it ends by itself', async () => {
    const refuse = createDesk(({ category }) =>
      category === 'bad' ? rejected(409, 'term_conflict', 'Another term says the same.') : null,
    );
    expect((await run(`${HEAD}港,港口,,bad\n海,海,,\n`, refuse)).counts).toEqual({ refused: 1, added: 1 });
    const full = createDesk(() => rejected(409, 'data_full', 'The volume is full.'));
    await expect(run(`${HEAD}港,港口,,\n`, full)).rejects.toThrow('The volume is full.');
  });

  it('waits as long as the service asks where the token has reached a limit, and loses no term', async () => {
    let refusals = 2;
    const limited = createDesk(() => {
      refusals -= 1;
      return refusals < 0
        ? null
        : new ApiFailure('Too many.', { status: 429, retryAfter: refusals === 1 ? 7 : null });
    });
    const waits: number[] = [];
    const progress = await run(`${HEAD}港,港口,,\n海,海,,\n`, limited, new AbortController().signal, waits);
    expect([progress.counts, waits]).toEqual([{ added: 2 }, [7, 1]]);

    const endless = createDesk(() => new ApiFailure('Too many.', { status: 429, retryAfter: 3600 }));
    const longWaits: number[] = [];
    const signal = new AbortController().signal;
    await expect(run(`${HEAD}港,港口,,\n`, endless, signal, longWaits)).rejects.toThrow('Too many.');
    expect(longWaits).toEqual(Array.from({ length: 10 }, () => 300));
  });

  it('ends where the Glossary has more matches than one answer, and adds no known term again', async () => {
    const { desk, sent } = createDesk();
    const many = {
      ...desk,
      api: { ...desk.api, read: async () => await Promise.resolve({ items: TERMS, total: 1200 }) },
    };
    await expect(run(`${HEAD}港,港口,,\n`, { desk: many })).rejects.toThrow(/^1200 terms contain "港"/);
    expect(sent).toEqual([]);
  });

  it('stops after the current term', async () => {
    const made = createDesk();
    const stop = new AbortController();
    stop.abort();
    expect(await run(`${HEAD}港,港口,,\n`, made, stop.signal)).toEqual(NOTHING_DONE);
    expect(made.sent).toEqual([]);
  });
});

describe('a CSV file of terms in the console', () => {
  const HEAD = 'source_term,recommended_translation,source_language,target_language,priority\n';

  it('gives the terms that the command line reads from it', () => {
    const text =
      'term;translation;aliases;allowed_translations;scope;priority;status;note;id;other\r\n' +
      '先生;老师;"せんせい\n教師";教师;"{""speaker"":""アロナ""}";3;approved;a title;gt_1;x\r\n' +
      '\'+1;"加一";;;;;;;;\r\n' +
      ';;;;;;;;;\r\n' +
      '海;海;;;;1e3;;;;\r\n' +
      `駅;车站;"${'a\n'.repeat(1001)}";;;;;;;\r\n`;
    const reader = TERM_FORMATS.csv.createReader(PAIR);
    const expected = [...reader.write(Buffer.from(text)), ...reader.end()];
    const { terms, problems, others } = readTerms(text, PAIR);
    expect([...terms, ...problems]).toEqual(expected);
    expect([terms.map(({ line }) => line), others]).toEqual([[2, 4], 0]);
    expect(problems).toEqual([
      { kind: 'problem', line: 6, message: 'the priority is not a whole number' },
      { kind: 'problem', line: 7, message: 'aliases has more than 1000 wordings' },
    ]);
  });

  it('leaves out rows of other languages, and knows a language by another tag', () => {
    const { terms, others } = readTerms(`${HEAD}a,b,ja,en,0\nc,d,JA,zh-cn,0\ne,f,,zh-TW,0\n`, PAIR);
    expect([terms.map(({ term }) => term.source_term), others]).toEqual([['c'], 2]);
    expect(readTerms(`${HEAD}a,b,ja,en,0\ne,f,,zh-TW,0\n`, PAIR).remarks).toEqual([
      {
        line: 2,
        message: '0 taken: no entry is of ja to zh-Hans; the file has ja (1), en (1), zh-TW (1)',
      },
    ]);
    expect(readTerms(`${HEAD}はい,TRUE,,,0\n`, PAIR).remarks).toMatchObject([
      { line: 2, message: expect.stringContaining('"TRUE" is a truth value') },
    ]);
  });

  it.each([
    [
      'without a column of terms',
      'source_term,other\na,b\n',
      /^line 1: .*does not name the column recommended_translation/,
    ],
    ['without a row', '', /^line 1: the table has no row/],
    ['with a quote that is not closed', `${HEAD}"open,2`, /^line 2: a quote is not closed/],
    ['with text behind a quote', `${HEAD}"x"y,2`, /^line 2: a cell continues/],
    ['that is cut behind a delimiter', `${HEAD}a,b,`, /^line 2: the row has 3 cells instead of 5/],
    ['whose last row is cut', `${HEAD}a,b,,,0\nc,d`, /^line 3: the row has 2 cells instead of 5/],
  ])('is refused %s', (_, text, message) => {
    expect(() => readTerms(text, PAIR)).toThrow(message);
  });

  it('is refused with more than 5,000 rows, of whatever kind', () => {
    const rows = (row: string, many: number): string => HEAD + row.repeat(many);
    expect(readTerms(rows('a,b,,,0\n', 5000), PAIR).terms.length).toBe(5000);
    for (const row of ['a,b,,,0\n', 'a,b,,,high\n', 'a,b,en,,0\n'])
      expect(() => readTerms(rows(row, 5001), PAIR)).toThrow(/more than 5000 rows/);
  });
});

const EXAMPLE = exampleOf(GlossaryQueryReport).items[0] as Term;

describe('duplicates', () => {
  const duplicate = {
    ...EXAMPLE,
    term_id: 'twin',
    source_term: '先生',
    recommended_translation: '教师',
    aliases: ['せんせい'],
  };

  it('have the same source term, languages and scope, and another id', () => {
    const others = [
      { ...duplicate, term_id: 'other-language', target_language: 'ko' },
      { ...duplicate, term_id: 'other-scope', scope: { character: 'Arona' } },
      { ...duplicate, term_id: 'refused', review_status: 'rejected' as const },
    ];
    const found = duplicatesOf(EXAMPLE, [EXAMPLE, duplicate, ...others]);
    expect(found.map(({ term_id: id }) => id)).toEqual(['twin']);
  });

  it('give a term their spellings and translations, each once', () => {
    expect(mergedBody(EXAMPLE, duplicate)).toEqual({ aliases: ['せんせい'], allowed_translations: ['教师'] });
    expect(mergedBody(EXAMPLE, { ...EXAMPLE, term_id: 'same' })).toEqual({
      aliases: [],
      allowed_translations: [],
    });
  });
});
