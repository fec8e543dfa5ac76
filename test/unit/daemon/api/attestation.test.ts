import { describe, expect, it } from 'vitest';
import type { AttestationSource } from '../../../../src/daemon/api/attestation-source.ts';
import { parseConditions } from '../../../../src/contract/formats/condition-headers.ts';
import type { ConditionSource } from '../../../../src/daemon/api/condition-source.ts';
import type { DaemonCondition } from '../../../../src/domain/service-state/daemon-conditions.ts';
import { startTestApi, type RawAnswer } from '../../../support/daemon-api.ts';

const ENVELOPE = Buffer.from('{"payload" : "exactly these bytes" }\n');

interface FakeSource extends AttestationSource {
  publish(version: number): void;
  /** Resolves when a caller waits. */
  readonly waited: Promise<{ readonly timeoutMs: number; readonly signal: AbortSignal }>;
}

function fakeSource(version: number | null): FakeSource {
  let current = version;
  const waited = Promise.withResolvers<{ timeoutMs: number; signal: AbortSignal }>();
  const changed = Promise.withResolvers<void>();
  return {
    current: () => (current === null ? null : { version: current, envelope: ENVELOPE }),
    waitForChange: async (known, timeoutMs, signal) => {
      if (known !== current) return;
      waited.resolve({ timeoutMs, signal });
      signal.addEventListener('abort', () => changed.resolve());
      await changed.promise;
    },
    publish: (next) => {
      current = next;
      changed.resolve();
    },
    waited: waited.promise,
  };
}

describe('the attestation', () => {
  it('is sent byte for byte with its version as tag', async () => {
    const api = await startTestApi({ attestation: fakeSource(1042) });
    const answer = await api.ask('/v1/attestation');
    expect([answer.status, answer.headers.etag, answer.headers['content-type'], answer.body]).toEqual([
      200,
      '"1042"',
      'application/vnd.dsse.envelope.v1+json',
      ENVELOPE,
    ]);
  });

  it.each([
    ['"1042"', 304],
    ['W/"1042"', 304],
    ['"1", "1042"', 304],
    ['*', 304],
    ['"1041"', 200],
    ['1042', 200],
    ['"10421"', 200],
  ])('for If-None-Match %s is %i', async (tag, status) => {
    const api = await startTestApi({ attestation: fakeSource(1042) });
    const answer = await api.ask('/v1/attestation', { headers: { 'if-none-match': tag } });
    expect([answer.status, answer.headers.etag]).toEqual([status, '"1042"']);
    if (status === 304) expect(answer.body).toHaveLength(0);
  });

  it.each(['61', '-1', '1.5', 'x', '', '1&wait=2', '1&colour=blue'])('refuses wait=%s', async (wait) => {
    const api = await startTestApi({ attestation: fakeSource(1) });
    const answer = await api.ask(`/v1/attestation?wait=${wait}`);
    expect([answer.status, answer.json()['code']]).toEqual([400, 'invalid_request']);
  });

  it('tells the conditions with every answer, and ends a wait when they change', async () => {
    const told: DaemonCondition = { code: 'syncing', message: 'a sync runs', since: 1, next_try: null };
    const changed = Promise.withResolvers<void>();
    let tag = 'a';
    const conditions: ConditionSource = {
      current: () => ({ conditions: tag === 'a' ? [] : [told], tag }),
      waitForChange: async (known) => {
        if (known === tag) await changed.promise;
      },
    };
    const source = fakeSource(1);
    const api = await startTestApi({ attestation: source, conditions });
    const first = await api.ask('/v1/attestation');
    expect([first.headers['slipway-conditions'], first.headers['slipway-conditions-tag']]).toEqual([
      '%5B%5D',
      'a',
    ]);
    const headers = { 'if-none-match': '"1"', 'slipway-conditions-tag': 'a' };
    const poll = api.ask('/v1/attestation?wait=60', { headers });
    await source.waited;
    tag = 'b';
    changed.resolve();
    const answer = await poll;
    expect([answer.status, answer.headers['slipway-conditions-tag']]).toEqual([304, 'b']);
    expect(parseConditions(String(answer.headers['slipway-conditions']))).toEqual([told]);
  });

  it('tells the conditions also before the first attestation, and that a daemon which recovers is starting', async () => {
    const none = await startTestApi({ attestation: fakeSource(null) });
    const answer = await none.ask('/v1/attestation');
    expect([answer.status, answer.headers['slipway-conditions']]).toEqual([404, '%5B%5D']);
    const early = await startTestApi({
      readiness: () => ({ ready: false, message: 'recovery is not complete' }),
    });
    const refused = await early.ask('/v1/attestation');
    expect(refused.status).toBe(503);
    expect(parseConditions(String(refused.headers['slipway-conditions']))).toMatchObject([
      { code: 'starting' },
    ]);
  });

  it('is held back until there is a new one', async () => {
    const source = fakeSource(1);
    const api = await startTestApi({ attestation: source });
    let answered = false;
    const poll = api
      .ask('/v1/attestation?wait=60', { headers: { 'if-none-match': '"1"' } })
      .then((answer) => {
        answered = true;
        return answer;
      });
    expect((await source.waited).timeoutMs).toBe(60_000);
    expect(answered).toBe(false);
    source.publish(2);
    const answer = await poll;
    expect([answer.status, answer.headers.etag]).toEqual([200, '"2"']);
    const behind = await api.ask('/v1/attestation?wait=60', { headers: { 'if-none-match': '"1"' } });
    expect(behind.status).toBe(200);
  });

  it('is sent to waiting clients when the daemon stops', async () => {
    const source = fakeSource(1);
    const api = await startTestApi({ attestation: source });
    const poll: Promise<RawAnswer> = api.ask('/v1/attestation?wait=60', {
      headers: { 'if-none-match': '"1"' },
    });
    await source.waited;
    await api.close();
    expect((await poll).status).toBe(304);
  });
});
