import { describe, expect, it } from 'vitest';
import {
  DAMAGE_MESSAGE_MAX,
  DAMAGE_REPORTS_MAX,
  DamageAcceptedAnswer,
  type ReportedObject,
} from '../../../../src/contract/formats/damage-report.ts';
import { startTestApi, type TestApi } from '../../../support/daemon-api.ts';
import { writeTokenFile } from '../../../support/token-file.ts';

const REPORT = {
  blake3: 'a'.repeat(64),
  destination: 'TableBundles/Excel.zip',
  kind: 'damaged',
  message: 'block 3 differs',
};

async function start(): Promise<{ api: TestApi; taken: ReportedObject[] }> {
  const taken: ReportedObject[] = [];
  const api = await startTestApi({
    damage: (reports) => {
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
    expect(DamageAcceptedAnswer.schema.parse(answer.json())).toEqual({ accepted: 1, ignored: 1 });
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
