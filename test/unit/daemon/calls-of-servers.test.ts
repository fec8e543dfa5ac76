import { DamageAcceptedSchema } from '../../../scripts/reference/daemon-answers.ts';
import { describe, expect, it } from 'vitest';
import { parseConditions } from '../../../src/contract/formats/condition-headers.ts';
import {
  DAMAGE_MESSAGE_MAX,
  DAMAGE_REPORTS_MAX,
  type ReportedObject,
} from '../../../src/contract/formats/damage-report.ts';
import type { AttestationSource } from '../../../src/releases/attest/attestor.ts';
import type { ConditionSource } from '../../../src/daemon/api/condition-source.ts';
import type { DaemonCondition } from '../../../src/domain/service-state/daemon-conditions.ts';
import { startTestApi, type RawAnswer, type TestApi } from '../../support/daemon-api.ts';
import { writeTokenFile } from '../../support/token-file.ts';

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

const REPORT = {
  blake3: 'a'.repeat(64),
  destination: 'TableBundles/Excel.zip',
  kind: 'damaged',
  message: 'block 3 differs',
};

async function start(): Promise<{ api: TestApi; taken: ReportedObject[] }> {
  const taken: ReportedObject[] = [];
  const api = await startTestApi({
    reportDamage: (reports) => {
      taken.push(...reports);
      return { accepted: reports.length - 1, ignored: 1 };
    },
  });
  return { api, taken };
}

const post = async (api: TestApi, body: unknown, path = '/v1/damage'): ReturnType<TestApi['ask']> =>
  await api.ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('POST /v1/damage', () => {
  it('passes the reports on and answers 202 with the counts', async () => {
    const { api, taken } = await start();
    const second = { ...REPORT, blake3: 'b'.repeat(64), kind: 'missing' };
    const answer = await post(api, { reports: [REPORT, second] });
    expect([answer.status, answer.headers['cache-control']]).toEqual([202, 'no-store']);
    expect(DamageAcceptedSchema.parse(answer.json())).toEqual({ accepted: 1, ignored: 1 });
    expect(taken).toEqual([REPORT, second]);
  });

  it.each<[string, unknown, string]>([
    ['no reports', { reports: [] }, '/reports'],
    [
      'too many reports',
      { reports: Array.from({ length: DAMAGE_REPORTS_MAX + 1 }, () => REPORT) },
      '/reports',
    ],
    ['a bad digest', { reports: [{ ...REPORT, blake3: 'A'.repeat(64) }] }, '/reports/0/blake3'],
    ['another kind', { reports: [{ ...REPORT, kind: 'odd' }] }, '/reports/0/kind'],
    [
      'a long message',
      { reports: [{ ...REPORT, message: 'x'.repeat(DAMAGE_MESSAGE_MAX + 1) }] },
      '/reports/0/message',
    ],
    [
      'a long destination',
      { reports: [{ ...REPORT, destination: 'x'.repeat(1025) }] },
      '/reports/0/destination',
    ],
    ['an unknown field', { reports: [{ ...REPORT, path: '/etc' }] }, '/reports/0/path'],
  ])('refuses %s, and accepts nothing of the request', async (_what, body, pointer) => {
    const { api, taken } = await start();
    const answer = await post(api, body);
    expect([answer.status, answer.json()['code']]).toEqual([400, 'invalid_request']);
    expect((answer.json()['errors'] as { pointer: string }[]).map((error) => error.pointer)).toEqual([
      pointer,
    ]);
    expect(taken).toEqual([]);
  });

  it('refuses a query, another method, an empty body and a body over a mebibyte', async () => {
    const { api, taken } = await start();
    expect((await post(api, { reports: [REPORT] }, '/v1/damage?force=true')).status).toBe(400);
    const get = await api.ask('/v1/damage');
    expect([get.status, get.headers['allow']]).toEqual([405, 'POST']);
    expect((await api.ask('/v1/damage', { method: 'POST' })).status).toBe(400);
    expect((await post(api, { reports: [REPORT], pad: 'x'.repeat(1024 * 1024) })).status).toBe(413);
    expect(taken).toEqual([]);
  });

  it('requires the token like the other routes', async () => {
    const file = await writeTokenFile('the-shared-token');
    const api = await startTestApi({ tokenFile: () => file });
    expect((await post(api, { reports: [REPORT] })).status).toBe(401);
  });
});
