import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Caller } from '../../../src/contract/actions/control-scopes.ts';
import { AcceptedAnswer } from '../../../src/contract/schemas/answers/admin.ts';
import { byName } from '../../../src/daemon/api/api-server.ts';
import { callerOf, checkScopes } from '../../../src/engine/caller.ts';
import { createDaemonActions } from '../../../src/daemon/api/daemon-actions.ts';
import { defineAction } from '../../../src/engine/define-action.ts';
import { MEMORY_IMPORT_JOB } from '../../../src/localization/memory/memory-jobs.ts';
import { TEXT_DIFFERENCES_JOB } from '../../../src/localization/parse/parse-jobs.ts';
import { REPAIR_JOB, SYNC_JOB, VERIFY_JOB } from '../../../src/releases/jobs/release-jobs.ts';
import { callOf, implementJob } from '../../../src/engine/tasks/job.ts';
import { TaskError } from '../../../src/engine/tasks/task.ts';
import { act } from '../../support/actions.ts';
import { startTestApi, type RawAnswer, type TestApi } from '../../support/daemon-api.ts';
import { createTestSchedules } from '../../support/schedules.ts';
import {
  createTestEngine,
  scriptedHandler,
  settle,
  taskOf,
  type TestEngine,
} from '../../support/task-engine.ts';

const EVERYTHING = { tokenId: null, allow: null };

describe('the caller', () => {
  describe('the caller of a control call', () => {
    it.each([
      ['nothing', {}, EVERYTHING],
      ['an id', { 'slipway-token-id': 'mika' }, { tokenId: 'mika', allow: null }],
      [
        'an id and scopes',
        { 'slipway-token-id': 'mika', 'slipway-token-allow': 'translate,review' },
        { tokenId: 'mika', allow: ['translate', 'review'] },
      ],
      ['no scope at all', { 'slipway-token-allow': '' }, { tokenId: null, allow: [] }],
    ])('is read from %s', (_what, headers, caller) => {
      expect(callerOf(headers)).toEqual(caller);
    });

    it.each([
      ['an unknown scope', { 'slipway-token-allow': 'translate,all' }],
      ['an id with white space', { 'slipway-token-id': 'a b' }],
      ['an id that is too long', { 'slipway-token-id': 'a'.repeat(65) }],
    ])('is refused with %s', (_what, headers) => {
      expect(() => callerOf(headers)).toThrow(/is not valid/);
    });
  });

  describe('a token with limits', () => {
    const translator = { tokenId: 'mika', allow: ['translate'] } as const;

    it('calls the actions of its scopes, and no others', () => {
      expect(() => checkScopes(translator, 'translation-worker-run', {}, [])).not.toThrow();
      expect(() => checkScopes(EVERYTHING, 'release-cleanup', {}, [])).not.toThrow();
      expect(() => checkScopes(translator, 'localized-publish', {}, [])).toThrow(
        /token mika .* localized-publish needs publish, and the token has translate/,
      );
      expect(() => checkScopes({ ...translator, allow: [] }, 'sync', {}, [])).toThrow(
        /needs operate, and the token has nothing/,
      );
    });

    it('needs the scope of a reviewer for fields that are decisions', () => {
      expect(() =>
        checkScopes(translator, 'translation-task-update', { status: 'pending' }, []),
      ).not.toThrow();
      expect(() => checkScopes(translator, 'translation-task-update', { glossary_override: {} }, [])).toThrow(
        /needs review,/,
      );
    });

    it('changes and runs only schedules whose job it could run', async () => {
      const world = createTestSchedules({ started: false });
      const { schedules, engine } = world;
      const add = { id: 's', group: 'res', action: 'sync', every_seconds: 60 };
      const refused = { code: 'scope_missing' };
      await expect(act(schedules.actions, 'schedule-add', add, translator)).rejects.toMatchObject(refused);
      expect(engine.list(10)).toEqual([]);
      await world.act('schedule-add', add);
      for (const [action, body] of [
        ['schedule-update', { id: 's', enabled: false }],
        ['schedule-run', { id: 's' }],
        ['schedule-run', { group: 'res' }],
        ['schedule-remove', { id: 's' }],
      ] as const) {
        await expect(act(schedules.actions, action, body, translator)).rejects.toMatchObject(refused);
      }
      const operator = { tokenId: 'ops', allow: ['operate'] } as const;
      await act(schedules.actions, 'schedule-remove', { id: 's' }, operator);
      await expect(act(schedules.actions, 'schedule-run', { id: 's' }, translator)).rejects.toMatchObject({
        code: 'unknown_schedule',
      });
    });

    it('compares the texts of two releases without a scope, and nothing else with its schedule', async () => {
      const world = createTestSchedules({ started: false });
      const { schedules, engine } = world;
      engine.jobs.register(implementJob(TEXT_DIFFERENCES_JOB, async () => ({})));
      const reader: Caller = { tokenId: 'kai', allow: [] };
      const run = async (name: string, body: object) =>
        await act(schedules.actions, name, { ...body }, reader);
      const args = ['from=r1', 'to=r2'];
      const add = {
        id: 'd',
        group: 'parse',
        action: 'text-differences',
        max_runs: 1,
        delay_seconds: 60,
        args,
      };
      await run('schedule-add', add);
      await run('schedule-run', { id: 'd' });
      expect(engine.list(10).map(({ kind }) => kind)).toContain('text-differences');
      const other = { id: 'd', group: 'res', action: 'sync', args: [] };
      await expect(run('schedule-update', other)).rejects.toMatchObject({ code: 'scope_missing' });
      await run('schedule-remove', { id: 'd' });
    });

    it('needs the scope of a reviewer for schedules whose arguments are decisions', async () => {
      const world = createTestSchedules({ started: false });
      const { schedules, engine } = world;
      engine.jobs.register(implementJob(MEMORY_IMPORT_JOB, async () => ({})));
      const reviewer = { tokenId: 'ann', allow: ['translate', 'review'] } as const;
      const run = async (name: string, body: object, caller: Caller) =>
        await act(schedules.actions, name, { ...body }, caller);
      const add = { id: 's', group: 'i18n', action: 'memory-import', every_seconds: 60 };
      const trusted = { args: ['file=a.tmx', 'trusted=true'] };
      const refused = { code: 'scope_missing' };
      await expect(run('schedule-add', { ...add, ...trusted }, translator)).rejects.toMatchObject(refused);
      await run('schedule-add', { ...add, args: ['file=a.tmx', 'trusted=false'] }, translator);
      await expect(run('schedule-update', { id: 's', ...trusted }, translator)).rejects.toMatchObject(
        refused,
      );
      await run('schedule-update', { id: 's', ...trusted }, reviewer);
      await expect(run('schedule-run', { id: 's' }, translator)).rejects.toMatchObject(refused);
      await run('schedule-run', { id: 's' }, reviewer);
    });
  });
});

interface Fixture extends TestEngine {
  readonly api: TestApi;
  readonly restarts: boolean[];
  readonly bodies: unknown[];
  /** While it has a message, each sync and restart is refused. */
  readonly refusals: string[];
  readonly post: (action: string, body?: string, headers?: Record<string, string>) => Promise<RawAnswer>;
}

/** Sends spaces until the request ends. */
async function writeForEver(request: ClientRequest): Promise<never> {
  const piece = Buffer.alloc(64 * 1024, 0x20);
  for (;;) {
    if (request.write(piece)) await new Promise(setImmediate);
    else await once(request, 'drain');
  }
}

async function fixture(supervised = true): Promise<Fixture> {
  const test = createTestEngine();
  const restarts: boolean[] = [];
  const bodies: unknown[] = [];
  const refusals: string[] = [];
  test.engine.jobs.register(scriptedHandler('sync'));
  test.engine.start();
  const api = await startTestApi({
    actions: byName([
      ...createDaemonActions({
        engine: test.engine,
        supervised: () => supervised && refusals.length === 0,
        reload: async () => ({ changed: [] }),
        requestRestart: (drain) => restarts.push(drain),
      }),
      defineAction(test.engine, 'sync', {
        job: (body) => callOf(SYNC_JOB, { force: body.force }),
        admit: (body) => {
          if (refusals.length > 0) throw new TaskError('upstream_not_configured', refusals[0]!);
          bodies.push(body);
        },
      }),
      defineAction(test.engine, 'verify', {
        job: () => callOf(VERIFY_JOB, {}),
        admit: () => {
          throw new TaskError('unknown_release', 'no release r9 is kept');
        },
      }),
      defineAction(test.engine, 'repair', {
        job: () => callOf(REPAIR_JOB, {}),
        admit: () => {
          throw new TaskError('some_code_of_nobody', 'secret');
        },
      }),
    ]),
  });
  const post: Fixture['post'] = async (action, body, headers = { 'content-type': 'application/json' }) =>
    await api.ask(`/v1/control/${action}`, {
      method: 'POST',
      headers: body === undefined ? {} : headers,
      ...(body === undefined ? {} : { body }),
    });
  return { ...test, api, restarts, bodies, refusals, post };
}

describe('a control call', () => {
  describe('an accepted action', () => {
    it('answers with its task, and says when the task already existed', async () => {
      const { post, engine } = await fixture();
      const first = await post('sync');
      expect([first.status, first.headers['content-type']]).toEqual([202, 'application/json']);
      const accepted = AcceptedAnswer.schema.parse(first.json());
      expect(accepted).toMatchObject({
        action: 'sync',
        status: 'queued',
        deduplicated: false,
        ignored_fields: [],
      });
      expect('result' in first.json()).toBe(false);
      expect(taskOf(engine, accepted.task_id).correlation_id).toBe(first.headers['x-request-id']);
      const again = await post('sync', '{"force":false,"reviewer":"ann","concurrency":3}');
      expect(again.json()).toMatchObject({
        task_id: accepted.task_id,
        deduplicated: true,
        ignored_fields: ['concurrency'],
      });
    });

    it('takes an idempotency key', async () => {
      const { post } = await fixture();
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'key-1' };
      const first = await post('sync', '{"force":true}', headers);
      const again = await post('sync', '{"force":true}', headers);
      expect(again.json()).toMatchObject({ task_id: first.json()['task_id'], deduplicated: true });
      const other = await post('sync', '{}', headers);
      expect([other.status, other.json()['errors']]).toEqual([
        400,
        [expect.objectContaining({ pointer: 'Idempotency-Key' })],
      ]);
      const malformed = await post('sync', '{}', { ...headers, 'idempotency-key': 'a b' });
      expect([malformed.status, malformed.json()['code']]).toEqual([400, 'invalid_request']);
    });

    it('returns the task of an idempotency key where a new call would be refused, and a refused call uses no key', async () => {
      const { post, engine, refusals } = await fixture();
      const keyed = (key: string): Record<string, string> => ({
        'content-type': 'application/json',
        'idempotency-key': key,
      });
      const first = await post('sync', '{"force":true}', keyed('key-1'));
      refusals.push('no upstream is configured');
      const again = await post('sync', '{"force":true}', keyed('key-1'));
      expect([again.status, again.json()]).toMatchObject([
        202,
        { task_id: first.json()['task_id'], deduplicated: true },
      ]);
      const refused = await post('sync', '{}', keyed('key-2'));
      expect(refused.json()['code']).toBe('upstream_not_configured');
      refusals.pop();
      expect((await post('sync', '{}', keyed('key-2'))).json()).toMatchObject({ deduplicated: false });
      expect(engine.list(10)).toHaveLength(2);
    });

    it('is refused as a whole only where its key got no task', async () => {
      const { engine } = createTestEngine();
      const action = defineAction(engine, 'reload', { run: () => ({}) });
      const call = async (idempotencyKey: string, refuse?: () => void): Promise<unknown> =>
        await action.accept(
          undefined,
          { idempotencyKey, correlationId: 'c', caller: { tokenId: null, allow: null } },
          refuse,
        );
      const refuse = (): never => {
        throw new TaskError('channel_mirrored', 'the channel is a copy');
      };
      await call('key-1');
      expect(await call('key-1', refuse)).toMatchObject({ deduplicated: true });
      await expect(call('key-2', refuse)).rejects.toThrow('the channel is a copy');
      expect(engine.list(10)).toHaveLength(1);
    });
  });

  describe('a body', () => {
    it.each([
      ['{"force":true', 'application/json', 400, 'invalid_request'],
      ['{"force":true,"force":false}', 'application/json', 400, 'invalid_request'],
      ['{"__proto__":{"force":true}}', 'application/json', 400, 'invalid_request'],
      ['{"colour":"blue"}', 'application/json', 400, 'invalid_request'],
      ['[]', 'application/json', 400, 'invalid_request'],
      ['{"force":"yes"}', 'application/json', 400, 'invalid_request'],
      [`${'['.repeat(40)}${']'.repeat(40)}`, 'application/json', 400, 'invalid_request'],
      ['{}', 'text/plain', 415, 'unsupported_media_type'],
      ['force=true', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
      ['{}', 'application/json; charset=latin1', 415, 'unsupported_media_type'],
    ])('%s as %s is refused', async (body, type, status, code) => {
      const { post, bodies } = await fixture();
      const answer = await post('sync', body, { 'content-type': type });
      expect([answer.status, answer.json()['code']]).toEqual([status, code]);
      expect(bodies).toEqual([]);
    });

    it('of another coding, of bad UTF-8 or of more than a mebibyte is refused', async () => {
      const { api, post } = await fixture();
      const json = { 'content-type': 'application/json' };
      const coded = await post('sync', '{}', { ...json, 'content-encoding': 'gzip' });
      expect(coded.status).toBe(415);
      const send = async (body: Buffer, headers: Record<string, string> = json): Promise<number> =>
        (await api.ask('/v1/control/sync', { method: 'POST', headers, body })).status;
      expect(await send(Buffer.from([0x22, 0xff, 0x22]))).toBe(400);
      const large = Buffer.alloc(1024 * 1024 + 1, 0x20);
      expect(await send(large)).toBe(413);
      expect(await send(large, { ...json, 'transfer-encoding': 'chunked' })).toBe(413);
      expect((await post('sync', '{}', { 'content-type': 'Application/JSON; charset=UTF-8' })).status).toBe(
        202,
      );
    });

    it('of very many keys is refused before its fields are checked', async () => {
      const { post } = await fixture();
      const keys = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1]));
      const answer = await post('sync', JSON.stringify(keys));
      expect(answer.status).toBe(400);
      expect(answer.json()['errors']).toEqual([
        { pointer: '', message: expect.stringContaining('an object has more than 1000 keys') },
      ]);
    });

    it('that continues beyond the limit gets 413 and is not cut off', async () => {
      const { api } = await fixture();
      const { port } = api.listening;
      const request = httpRequest({
        host: '127.0.0.1',
        port,
        path: '/v1/control/sync',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
        agent: false,
      });
      onTestFinished(() => void request.destroy());
      const answered = once(request, 'response') as Promise<[IncomingMessage]>;
      const [response] = await Promise.race([answered, writeForEver(request)]);
      expect([response.statusCode, ((await json(response)) as { code: string }).code]).toEqual([
        413,
        'body_too_large',
      ]);
    });
  });

  describe('a refused action', () => {
    it('has the status and code of the refusal', async () => {
      const { post } = await fixture();
      const unknown = await post('verify');
      expect(unknown.json()).toMatchObject({
        status: 404,
        code: 'unknown_release',
        detail: 'no release r9 is kept',
      });
      expect(unknown.status).toBe(404);
      const unexpected = await post('repair');
      expect([unexpected.status, unexpected.json()['code'], unexpected.body.includes('secret')]).toEqual([
        500,
        'internal_error',
        false,
      ]);
    });
  });

  describe('task-cancel', () => {
    it('cancels, and leaves a task that records it', async () => {
      const { post, engine } = await fixture();
      const { task } = engine.submit({ kind: 'sync', args: {}, dedupe: true });
      await settle();
      const answer = await post(
        'task-cancel',
        `{"task_id":"${task.task_id}","reason":"enough","reviewer":"ann"}`,
      );
      expect(answer.json()).toMatchObject({
        action: 'task-cancel',
        status: 'succeeded',
        result: { task_id: task.task_id, status: 'cancelling' },
      });
      await settle();
      expect(taskOf(engine, task.task_id)).toMatchObject({ status: 'cancelled', cancel_reason: 'enough' });
      expect(engine.list(1)[0]).toMatchObject({
        kind: 'task-cancel',
        lane: 'admin',
        reviewer: 'ann',
        reason: 'enough',
      });
      const late = await post('task-cancel', `{"task_id":"${task.task_id}"}`);
      expect([late.status, late.json()['code']]).toEqual([409, 'task_already_terminal']);
      const unknown = await post('task-cancel', '{"task_id":"01NOPE"}');
      expect([unknown.status, unknown.json()['status'], unknown.json()['code']]).toEqual([
        404,
        404,
        'unknown_task',
      ]);
      expect(Number(unknown.headers['content-length'])).toBe(unknown.body.length);
      expect((await post('task-cancel', '{}')).status).toBe(400);
    });
  });

  describe('restart', () => {
    it('is refused where no supervisor would start the daemon again', async () => {
      const { post, restarts } = await fixture(false);
      const answer = await post('restart');
      expect([answer.status, answer.json()['code'], restarts]).toEqual([422, 'restart_unsupported', []]);
    });

    it('begins once for each request, and not again for a repeated one, also where a new one would be refused', async () => {
      const { post, restarts, refusals } = await fixture();
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
      expect((await post('restart', '{}', headers)).json()).toMatchObject({
        status: 'succeeded',
        result: { drain: true },
      });
      refusals.push('no supervisor');
      expect((await post('restart', '{}', headers)).json()).toMatchObject({
        deduplicated: true,
        result: { drain: true },
      });
      refusals.pop();
      await post('restart', '{"force":true}');
      expect(restarts).toEqual([true, false]);
    });
  });
});
