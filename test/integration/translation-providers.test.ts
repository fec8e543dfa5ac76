import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { sharedFixture } from '../support/shared-fixture.ts';
import { answerJson, startTranslationServer, type Reply } from '../support/translation-server.ts';
import { startWorkerSystem } from '../support/worker-system.ts';

const MIB = 2 ** 20;

interface Line {
  readonly id: string;
  readonly text: string;
  readonly fix?: readonly string[];
}

type Rows = Record<string, { s: string; t: string }>;

/** The lines of a request to a language model. */
function linesOf(body: unknown): readonly Line[] {
  const { messages } = body as { readonly messages: readonly { readonly content: string }[] };
  const { script } = JSON.parse(messages[1]?.content ?? '{}') as { script: readonly (Line | string)[] };
  return script.filter((entry): entry is Line => typeof entry === 'object' && 'id' in entry);
}

const translated = ({ text }: Line): string => text.replaceAll('の', '的').replaceAll('です', '是');
const rowsOf = (lines: readonly Line[]): Rows =>
  Object.fromEntries(lines.map((line) => [line.id, { s: line.text.slice(0, 12), t: translated(line) }]));

function answer(response: ServerResponse, message: object, finish = 'stop'): void {
  answerJson(response, { id: 'run-1', choices: [{ message, finish_reason: finish }] });
}

const answerRows = (response: ServerResponse, rows: object): void => {
  answer(response, { content: JSON.stringify(rows) });
};

const good: Reply = (body, response) => {
  answerRows(response, rowsOf(linesOf(body)));
};

const html: Reply = (_body, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<html><body>Bad gateway</body></html>');
};

const endless: Reply = (_body, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const write = (): void => {
    while (!response.destroyed && response.write(' '.repeat(16_384)));
  };
  response.on('drain', write);
  write();
};

const huge: Reply = (_body, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 * MIB });
  response.write(Buffer.alloc(MIB, ' '));
};

const swapped: Reply = (body, response) => {
  const rows = Object.entries(rowsOf(linesOf(body)));
  answerRows(response, Object.fromEntries(rows.map(([id], at) => [id, rows[(at + 1) % rows.length]?.[1]])));
};

/** How a provider misbehaves, and the failure that its run has. */
const MISBEHAVIOURS: readonly (readonly [string, Reply, string])[] = [
  ['never answers', () => undefined, 'provider_timeout'],
  ['answers 500', (_body, response) => answerJson(response, { error: 'oops' }, 500), 'provider_error'],
  ['answers 429', (_body, response) => answerJson(response, {}, 429), 'provider_throttled'],
  ['answers with HTML', html, 'provider_error'],
  [
    'answers half of its JSON',
    (_body, response) => answer(response, { content: '{"u1":{"s":"第' }),
    'provider_unusable',
  ],
  [
    'answers other ids',
    (_body, response) => answerRows(response, { x9: { s: '第', t: '第' } }),
    'provider_unusable',
  ],
  [
    'repeats other sources',
    (body, response) => {
      const lines = linesOf(body).map((line) => ({ ...line, text: `他${line.text}` }));
      answerRows(response, rowsOf(lines));
    },
    'answer_malformed',
  ],
  [
    'refuses',
    (_body, response) => answer(response, { content: null, refusal: 'I cannot' }),
    'answer_refused',
  ],
  ['is cut off', (_body, response) => answer(response, { content: '{' }, 'length'), 'answer_cut'],
  ['never ends its answer', endless, 'provider_unusable'],
  ['answers 100 MiB', huge, 'provider_unusable'],
  ['closes the connection', (_body, response) => response.destroy(), 'provider_unreachable'],
];

const FILES = Object.fromEntries(
  [
    ...MISBEHAVIOURS.map((_, at) => `bad${at}.json`),
    'first.json',
    'swapped.json',
    'one.json',
    'later.json',
    'mended.json',
    'kinds.json',
  ].map((name) => [name, [`一は${name}です`, `二は${name}です`, `三は${name}です`]]),
);

describe('a provider that misbehaves', () => {
  const started = sharedFixture(async (atEnd) => {
    const server = await startTranslationServer(good, atEnd);
    const loop = {
      kind: 'openai',
      url: server.url,
      model: 'm',
      allowHosts: ['127.0.0.1'],
      limits: { attempts: 1, answerBytes: 65_536 },
    };
    // Only where nobody answers does the time limit matter: a busy machine answers late.
    const hasty = { ...loop, limits: { ...loop.limits, timeoutSeconds: 1 } };
    const patient = { ...loop, limits: { ...loop.limits, attempts: 3 } };
    const system = await startWorkerSystem(
      FILES,
      {
        translation: {
          provider: 'loop',
          providers: { loop, hasty, patient, tried: patient },
          textKinds: [{ files: 'kinds.*', kind: 'system message' }],
        },
      },
      atEnd,
    );
    // Rows that cannot be used are the fault of a provider that has never given a good one.
    await system.run({ task_id: (await system.task('first.json')).task_id });
    return { ...system, server };
  });

  it('translates a line that tries it, stores nothing, and says how it is', async () => {
    const system = started();
    const state = async (): Promise<object | undefined> => {
      const { machine_translation: machine } = await system.report('translation.status');
      const { providers } = machine as { readonly providers: readonly { readonly name: string }[] };
      return providers.find(({ name }) => name === 'tried');
    };
    expect(await state()).toMatchObject({ kind: 'openai', model: 'm', state: 'untried', can_review: true });
    const body = { provider: 'tried', args: ['try_text=一=の文です'] };
    system.server.reply = good;
    const tried = await system.run(body);
    expect(tried).toMatchObject({
      status: 'succeeded',
      result: { provider: 'tried', text: '一=の文です', translation: '一=的文是', usage: { requests: 1 } },
    });
    expect(await state()).toMatchObject({ state: 'works', last_failure: null });
    system.server.reply = (_body, response) => {
      answerJson(response, { error: { message: 'wrong key' } }, 401);
    };
    expect(await system.run(body)).toMatchObject({ status: 'failed', failure_code: 'provider_credentials' });
    expect(await state()).toMatchObject({
      state: 'failing',
      last_failure: {
        code: 'provider_credentials',
        message: expect.stringContaining('wrong key') as unknown,
      },
    });
    system.server.reply = good;
    await system.run(body);
    expect(await state()).toMatchObject({ state: 'works' });
    expect(await system.task('kinds.json')).toMatchObject({ unit_counts: { untranslated: 3 } });
  });

  it('gets the kind of the texts that the configuration names', async () => {
    const system = started();
    const { task_id } = await system.task('kinds.json');
    const { result } = await system.run({ task_id, args: ['dry_run=true'] });
    const { prompt } = result as { readonly prompt: { readonly user: string } };
    expect(JSON.parse(prompt.user)).toMatchObject({ kind: 'system message' });
  });

  it.each(MISBEHAVIOURS.map((row, at) => [...row, at] as const))(
    'and %s fails its run, and the next one translates everything',
    async (_what, reply, code, at) => {
      const system = started();
      const destination = `bad${at}.json`;
      const { task_id } = await system.task(destination);
      system.server.reply = reply;
      const provider = code === 'provider_timeout' ? 'hasty' : 'loop';
      const run = await system.run({ task_id, provider, max_attempts: 1 });
      // Trouble of the provider uses up no attempt; what it says about the texts does.
      const isOfTexts = code.startsWith('answer_');
      expect(run).toMatchObject({
        status: 'failed',
        failure_code: code,
        result: {
          outcome: 'failed',
          reasons: [{ code, units: 3 }],
          units: isOfTexts ? { failed: 3, left: 0 } : { failed: 0, left: 3 },
        },
      });
      expect(await system.task(destination)).toMatchObject({
        status: isOfTexts ? 'failed' : 'pending',
        failure_reason: expect.stringContaining(code) as unknown,
        unit_counts: { untranslated: 3 },
      });
      system.server.reply = good;
      expect(await system.run({ task_id, force: isOfTexts })).toMatchObject({
        status: 'succeeded',
        result: { outcome: 'succeeded', units: { translated: 3, failed: 0 } },
      });
    },
  );

  it('and swaps rows is asked again, until each translation has its own source', async () => {
    const system = started();
    const { task_id } = await system.task('swapped.json');
    system.server.reply = swapped;
    const run = await system.run({ task_id, provider: 'patient', max_attempts: 1 });
    expect(run).toMatchObject({ result: { units: { translated: 3, failed: 0 } } });
    const units = (await system.units('swapped.json')) as unknown as readonly {
      source_text: string;
      translation: { target_text: string };
    }[];
    for (const { source_text: source, translation } of units) {
      expect(translation.target_text).toBe(translated({ id: '', text: source }));
    }
  });

  it('and fails one line of many keeps the others', async () => {
    const system = started();
    const { task_id } = await system.task('one.json');
    system.server.reply = (body, response) => {
      answerRows(response, rowsOf(linesOf(body).filter(({ text }) => !text.includes('二'))));
    };
    expect(await system.run({ task_id, provider: 'patient', max_attempts: 1 })).toMatchObject({
      status: 'succeeded',
      result: { outcome: 'partly', units: { translated: 2, failed: 1 } },
    });
  });

  it('and asks to come back later is asked then, in the same run', async () => {
    const system = started();
    const { task_id } = await system.task('later.json');
    let calls = 0;
    system.server.reply = async (body, response, request) => {
      calls += 1;
      if (calls > 1) {
        await good(body, response, request);
        return;
      }
      response.writeHead(429, { 'retry-after': '1' });
      response.end();
    };
    expect(await system.run({ task_id, max_attempts: 2, retry_backoff_seconds: 0 })).toMatchObject({
      result: {
        units: { translated: 3 },
        failures: { provider_throttled: 3 },
        chunks: { retried: 1, done: 1 },
      },
    });
  });

  it('and loses placeholders or leaves errors is asked to mend them', async () => {
    const system = started();
    const { task_id } = await system.task('mended.json');
    let fixes = 0;
    system.server.reply = (body, response) => {
      const lines = linesOf(body);
      const rows = rowsOf(lines);
      if (lines.some(({ fix }) => fix !== undefined)) fixes += 1;
      for (const { id, text, fix } of lines) {
        // A control character is an error of the checks.
        if (fix === undefined && text.includes('一')) rows[id] = { s: text.slice(0, 12), t: '一\u0001' };
      }
      answerRows(response, rows);
    };
    expect(await system.run({ task_id })).toMatchObject({
      result: { units: { translated: 2, repaired: 1, blocked: 0 } },
    });
    expect(fixes).toBe(1);
  });

  it('evaluates translated targets, and only adds findings', async () => {
    const system = started();
    const destination = 'evaluated.json';
    await system.publish('evaluated', { ...FILES, [destination]: ['四の文', '五の文'] });
    const { task_id } = await system.task(destination);
    system.server.reply = good;
    await system.run({ task_id });
    system.server.reply = (body, response) => {
      const rows = linesOf(body).map(({ id, text }) => {
        const isWrong = text.startsWith('四');
        return [
          id,
          {
            s: text.slice(0, 12),
            findings: isWrong
              ? [{ kind: 'accuracy', severity: 'warning', quote: '', message: 'wrong number' }]
              : [],
          },
        ];
      });
      answerRows(response, Object.fromEntries(rows));
    };
    const answer = await system.act('translation-proofread', {
      provider: 'loop',
      max_tasks: 1000,
      args: ['max_tokens=100000'],
    });
    expect(answer.status).toBe(202);
    expect(await system.ended(String(answer.body['task_id']))).toMatchObject({
      status: 'succeeded',
      result: { evaluation: { provider: 'loop', units_with_findings: 1, findings: 1, stopped: null } },
    });
    expect(await system.units(destination)).toMatchObject([
      {
        translation: {
          state: 'draft',
          findings: [{ check: 'accuracy', origin: 'evaluation', message: 'wrong number', waivable: true }],
        },
      },
      { translation: { state: 'draft', findings: [] } },
    ]);
  });

  it('and refuses the key or the model stops the run, and no attempt counts', async () => {
    const system = started();
    await system.publish('r2', { ...FILES, 'key.json': ['鍵の文です'] });
    const { task_id } = await system.task('key.json');
    for (const [status, code] of [
      [401, 'provider_credentials'],
      [403, 'provider_credentials'],
      [404, 'provider_rejected'],
    ] as const) {
      system.server.reply = (_body, response) => {
        answerJson(response, { error: { message: 'no' } }, status);
      };
      expect(await system.run({ task_id })).toMatchObject({
        status: 'failed',
        failure_code: code,
      });
      expect(await system.task('key.json')).toMatchObject({ status: 'pending', attempt: 0 });
    }
  });
});
