import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFixture } from '../support/shared-fixture.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { ctl } from '../support/ctl.ts';
import { startTranslationSystem, type Answer } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const FILES = {
  'typed.json': ['おはよう'],
  'imported.json': ['さようなら'],
  'shared.json': ['先生'],
  'bulk-ann.json': ['はい'],
  'bulk-rin.json': ['いいえ'],
};
const CONFIGURATION = {
  translation: { review: { fourEyes: true } },
  parse: { rules: [{ destination: ['*'], repetitions: false }] },
};

const started = sharedFixture(async (atEnd) => {
  const rin = await writeTokenFile('rin-token-4711', atEnd);
  const server = {
    admin: { exposeControl: true },
    auth: { tokens: [{ file: rin, id: 'rin', allow: ['review'] }] },
  };
  return { ...(await startTranslationSystem(FILES, CONFIGURATION, atEnd, server)), rin };
});

/** The only unit of a file, and actions by tokens. */
async function open(destination: keyof typeof FILES) {
  const world = started();
  const { task_id } = await world.task(destination);
  const unitOf = async () => {
    const [unit] = await world.units(destination);
    if (unit === undefined) throw new Error(`${destination} has no unit`);
    return unit;
  };
  const { unit_id, source_text } = await unitOf();
  const act = async (token: string, action: string, body: object): Promise<Answer> => {
    const response = await world.system.askDaemon(`/v1/control/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'slipway-token-id': token },
      body: JSON.stringify(body),
    });
    const { status, headers } = response;
    return { status, headers, body: (await response.json()) as Record<string, unknown> };
  };
  /** Hands a text in; a blank one takes the target back. */
  const write = async (
    token: string,
    translated_text: string,
    status = translated_text === '' ? 'in_progress' : 'translated',
  ): Promise<void> => {
    const translation_results = [{ unit_id, source_text, translated_text }];
    const body = { task_id, status, translation_results };
    expect((await act(token, 'translation-task-update', body)).status).toBe(202);
  };
  return {
    world,
    act,
    write,
    confirm: async (token: string): Promise<void> => {
      const { matches } = await world.report('translation.memory.query', { source_text });
      const [match] = matches as { record: { record_id: string } }[];
      const body = { record_id: match?.record.record_id, reviewer: token };
      expect((await act(token, 'translation-memory-confirm', body)).status).toBe(202);
    },
    /** Lets a worker fill the unit from the Translation Memory, and gives the author of its target. */
    reuse: async (token: string): Promise<unknown> => {
      const answer = await act(token, 'translation-worker-run', { provider: 'memory-only', task_id });
      expect(answer.status).toBe(202);
      // Until its task has ended, the worker can hold a lease.
      const run = await world.system.ended({ task_id: String(answer.body['task_id']) });
      expect(run.status).toBe('succeeded');
      const { translation } = await unitOf();
      expect(translation?.['target_text']).not.toBeNull();
      return translation?.['author'];
    },
    accept: async (token: string): Promise<Answer> => {
      const { translation } = await unitOf();
      const translation_results = [{ unit_id, source_text, translated_text: translation?.['target_text'] }];
      const body = { task_id, status: 'proofread', reviewer: token, translation_results };
      return await act(token, 'translation-proofread', body);
    },
  };
}

const REFUSED = { status: 409, body: { code: 'four_eyes_required' } };

describe('the four-eyes rule', () => {
  it('refuses a text that its author sent through the Translation Memory', async () => {
    const { write, confirm, reuse, accept } = await open('typed.json');
    await write('ann', '早上好');
    await confirm('ann');
    await write('ann', '');
    expect(await reuse('ann')).toMatchObject({ kind: 'memory', token_id: 'ann' });
    const refused = await accept('ann');
    expect(refused).toMatchObject(REFUSED);
    expect(refused.body['errors']).toMatchObject([
      { message: expect.stringContaining('only the same token has written or confirmed') },
    ]);
    expect((await accept('rin')).status).toBe(202);
  });

  it('refuses a text that the reviewer imported as trusted', async () => {
    const { world, act, reuse, accept } = await open('imported.json');
    const exchange = join(world.system.directory, 'data', 'exchange');
    await mkdir(exchange, { recursive: true });
    const pair = { source_language: 'ja', target_language: 'zh-Hans' };
    await writeFile(
      join(exchange, 'own.jsonl'),
      JSON.stringify({ ...pair, source_text: 'さようなら', target_text: '再见' }),
    );
    const args = ['file=own.jsonl', 'trusted=true', 'reviewer=ann'];
    const add = { id: 'own', group: 'i18n', action: 'memory-import', delay_seconds: 0, max_runs: 1, args };
    expect((await act('ann', 'schedule-add', add)).status).toBe(202);
    await until(async () => {
      const { matches } = await world.report('translation.memory.query', { source_text: 'さようなら' });
      return (matches as unknown[]).length > 0;
    });
    expect(await reuse('ann')).toMatchObject({ kind: 'memory', token_id: 'ann' });
    expect(await accept('ann')).toMatchObject(REFUSED);
    expect((await accept('rin')).status).toBe(202);
  });

  it('lets everyone accept a text that another token confirmed', async () => {
    const { write, confirm, reuse, accept } = await open('shared.json');
    await write('ann', '老师');
    await confirm('rin');
    await write('ann', '');
    expect(await reuse('ann')).toMatchObject({ kind: 'memory', token_id: null });
    expect((await accept('ann')).status).toBe(202);
  });

  it('leaves the own work of a reviewer who accepts many tasks, and says so', async () => {
    const ofAnn = await open('bulk-ann.json');
    const ofRin = await open('bulk-rin.json');
    await ofAnn.write('ann', '是', 'translated');
    await ofRin.write('rin', '不', 'translated');
    const { system, rin } = started();
    const service = ['--url', system.serverUrl, '--token-file', rin];
    const command = ['translations', 'accept', '--reviewer', 'Rin', '--destination', 'bulk-*'];
    const accept = async (...argv: readonly string[]) => await ctl([...service, ...command, ...argv]);
    const tried = await accept('--dry-run');
    expect([tried.code, tried.out]).toEqual([1, expect.stringContaining('1 task refused, 1 task ready')]);
    const { code, out } = await accept('--yes');
    expect([code, out]).toEqual([1, expect.stringContaining('1 task refused, 1 task accepted')]);
    expect(out).toContain('1 unit is the own work of this token, which another token must accept');
    expect((await ofAnn.world.task('bulk-ann.json')).status).toBe('proofread');
    expect((await ofRin.world.task('bulk-rin.json')).status).toBe('translated');
  });
});
