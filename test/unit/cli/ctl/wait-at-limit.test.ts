import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CtlContext } from '../../../../src/cli/ctl/ctl-context.ts';
import { importGlossaryFile } from '../../../../src/cli/ctl/exchange/glossary-import.ts';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import type { AdminApi } from '../../../../src/cli/ctl/admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../../../../src/cli/ctl/ctl-exits.ts';
import { waitAtLimit } from '../../../../src/cli/ctl/wait-at-limit.ts';

function limit(retryAfterMs: number | null): CtlFailure {
  return new CtlFailure(CTL_EXITS.unavailable, 'Too many.', { code: 'too_many_requests', retryAfterMs });
}

/** Calls that fail with these errors first. */
function calls(failures: readonly Error[], stop = new AbortController().signal) {
  const left = [...failures];
  const keys: string[] = [];
  const waits: number[] = [];
  const answer = { body: Buffer.from('{}'), value: {} };
  const post: AdminApi['post'] = async (_action, _body, key) => {
    keys.push(key);
    const failure = left.shift();
    return await (failure === undefined ? Promise.resolve(answer) : Promise.reject(failure));
  };
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: async (ms: number, signal?: AbortSignal) => {
      waits.push(ms);
      await Promise.resolve(signal?.throwIfAborted());
    },
  };
  const api: AdminApi = { post, get: async () => await Promise.resolve(answer) };
  const told: number[] = [];
  return { api: waitAtLimit({ api, clock, signal: stop }, (ms) => told.push(ms)), keys, waits, told };
}

describe('a call of a token that has reached a limit', () => {
  it('waits as long as the service asks, and is sent again with the same key', async () => {
    const { api, keys, waits } = calls([limit(7000), limit(null)]);
    await api.post('x', null, 'key');
    expect([waits, keys]).toEqual([
      [7000, 1000],
      ['key', 'key', 'key'],
    ]);
  });

  it('tells each wait, waits five minutes at most, and fails when it was refused too often', async () => {
    const long = calls([limit(3_600_000)]);
    await long.api.post('x', null, 'key');
    expect([long.waits, long.told]).toEqual([[300_000], [300_000]]);
    const endless = calls(Array.from({ length: 20 }, () => limit(1)));
    await expect(endless.api.post('x', null, 'key')).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(endless.keys).toHaveLength(11);
  });

  it('ends with any other failure, and with Ctrl-C', async () => {
    const other = calls([new CtlFailure(CTL_EXITS.unavailable, 'away', { code: 'daemon_unavailable' })]);
    await expect(other.api.post('x', null, 'key')).rejects.toThrow('away');
    expect(other.waits).toEqual([]);
    await expect(
      calls([limit(1)], AbortSignal.abort(new Error('stop'))).api.post('x', null, 'key'),
    ).rejects.toThrow('stop');
  });

  it('does not end the import of a glossary', async () => {
    const file = join(await temporaryDirectory(), 'terms.csv');
    await writeFile(file, 'source_term,recommended_translation\n港,港口\n海,海洋\n');
    const query = REPORTS['translation.glossary.query'].answer.example;
    const value = { ...query, items: [], total: 0 };
    const failures = [limit(7000), null, limit(2000)];
    const waits: number[] = [];
    const [out, shown]: [string[], string[]] = [[], []];
    const context = {
      api: {
        get: async () => {
          const failure = failures.shift() ?? undefined;
          return await (failure === undefined
            ? Promise.resolve({ body: Buffer.from(''), value })
            : Promise.reject(failure));
        },
      },
      args: { values: { 'source-language': 'ja', 'target-language': 'zh-Hans', 'dry-run': true } },
      words: [file],
      output: 'text',
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => shown.push(text) },
      clock: {
        now: () => 0,
        monotonic: () => 0,
        sleep: async (ms: number) => await Promise.resolve(void waits.push(ms)),
      },
      signal: new AbortController().signal,
    };
    expect(await importGlossaryFile(context as unknown as CtlContext)).toBe(CTL_EXITS.ok);
    expect([waits, out.join('')]).toEqual([[7000, 2000], expect.stringContaining('2 added')]);
    expect(shown).toEqual([
      'wait 7 s: the token has reached a limit\n',
      'wait 2 s: the token has reached a limit\n',
    ]);
  });
});
